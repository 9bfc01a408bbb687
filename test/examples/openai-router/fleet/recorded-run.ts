import type OpenAI from 'openai';
import type { ChatBody, Session } from '../../../../examples/openai-router/load/sessions.js';
import { type Outcome, officialClient, streamTurn } from './official-client.js';
import type { QuietFleet } from './quiet-fleet.js';

export const MODEL = 'kvidx-fake';

/** A request that has ended, with what was so just before it was sent. */
export interface Sent extends Outcome {
  readonly session: string;
  /** From 1 on. */
  readonly turn: number;
  /** The router said that all workers were. */
  readonly wereUp: boolean;
  /** The longest prefix of its prompt that any worker held which was alive. */
  readonly heldTokens: number;
}

/** A turn that fails is asked again; so many failures end the run. */
const MOST_ATTEMPTS = 5;

/** Sessions that talk to a fleet, and what becomes of each of their requests. */
export class RecordedRun {
  readonly sent: Sent[] = [];
  readonly #quiet: QuietFleet;
  readonly #client: OpenAI;
  readonly #plans = new Map<number, () => Promise<void>>();
  #carriedOut = Promise.resolve();

  constructor(quiet: QuietFleet) {
    this.#quiet = quiet;
    this.#client = officialClient(quiet.fleet.routerUrl);
  }

  /** When so many requests have ended, something befalls the fleet: one thing after the other. */
  plan(ended: number, what: () => Promise<void>): void {
    this.#plans.set(ended, what);
  }

  /** All at once, each turn by turn. Their last turn waits until what was planned is over. */
  async converse(sessions: readonly Session[], lastTurn: number): Promise<void> {
    await Promise.all(sessions.map((session) => this.#converse(session, lastTurn)));
  }

  async #converse(session: Session, lastTurn: number): Promise<void> {
    let failures = 0;
    while (!session.isOver) {
      if (session.turn === lastTurn) await this.#carriedOut;
      const { text, error } = await this.#send(session);
      if (error === undefined) {
        session.answered(text);
        failures = 0;
      } else if (++failures === MOST_ATTEMPTS) {
        throw new Error(`turn ${session.turn} of ${session.name} failed ${failures} times`, { cause: error });
      }
    }
  }

  async #send(session: Session): Promise<Outcome> {
    const { name, turn } = session;
    const body = session.body(MODEL);
    const [{ workers }, heldTokens] = await Promise.all([this.#quiet.state(), this.#held(body)]);
    const wereUp = workers.every(({ status }) => status === 'up');
    const outcome = await streamTurn(this.#client, name, body);
    this.sent.push({ session: name, turn, wereUp, heldTokens, ...outcome });
    const planned = this.#plans.get(this.sent.length);
    if (planned) this.#carriedOut = this.#carriedOut.then(planned);
    return outcome;
  }

  async #held(body: ChatBody): Promise<number> {
    const alive = this.#quiet.fleet.workers.filter(({ isRunning }) => isRunning);
    return Math.max(0, ...(await Promise.all(alive.map(({ url }) => heldAt(url, body)))));
  }
}

/** Nothing, where the worker dies meanwhile. */
async function heldAt(url: string, body: ChatBody): Promise<number> {
  try {
    const answer = await fetch(`${url}/fake/held`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { heldTokens: number }).heldTokens;
  } catch {
    return 0;
  }
}
