import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { streamChat } from './client.js';
import { makeSessions, type Shape } from './sessions.js';

const STREAMS = 6;
const SHAPE: Shape = { boilerplate: 1_500, task: 400, turn: 300, turns: 10, answer: 48 };
const LEAST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 2_500;

/** A few sessions at a time, with pauses between their turns, without end: for looking at a router. */
export class DemoTraffic {
  readonly #agent = new Agent();
  readonly #abort = new AbortController();
  readonly #streams: readonly Promise<void>[];
  #sessions = 0;

  constructor(url: string, model: string) {
    this.#streams = Array.from({ length: STREAMS }, () => this.#stream(url, model));
  }

  /** Requests under way are given up. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#agent.destroy();
    await Promise.all(this.#streams);
  }

  async #stream(url: string, model: string): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const number = this.#sessions++;
      const [session] = makeSessions(1, `demo-${number}`, number, SHAPE);
      let isFailed = false;
      while (!session!.isOver && !isFailed && !signal.aborted) {
        const pause = LEAST_PAUSE_MS + Math.random() * (MOST_PAUSE_MS - LEAST_PAUSE_MS);
        await sleep(pause, undefined, { signal }).catch(() => {});
        const options = { session: session!.name, dispatcher: this.#agent };
        const { text, error } = await streamChat(url, session!.body(model), options);
        isFailed = error !== undefined;
        session!.answered(text);
      }
    }
  }
}
