import type { Rival } from './race.js';
import { Random } from './random.js';

/**
 * The prompts of an agentic fleet: sessions that share their first blocks and go on alone. Session s is served by
 * slot s mod `slots`, so that every slot holds the shared blocks.
 */
export interface Prompts {
  readonly slots: number;
  readonly shared: number;
  /** Seq hashes of each session's prompt. */
  readonly sessions: readonly BigUint64Array[];
  /** Different blocks. */
  readonly blocks: number;
}

/** Blocks that a turn appends to a prompt (the median of the agentic-48 trace). */
export const TURN_BLOCKS = 36;

export function makePrompts(options: {
  slots: number;
  sessions: number;
  blocks: number;
  shared: number;
}): Prompts {
  const { slots, shared } = options;
  const random = new Random(7);
  const head = random.hashes(shared);
  const sessions = Array.from({ length: options.sessions }, () => {
    const seq = random.hashes(options.blocks);
    seq.set(head);
    return seq;
  });
  return { slots, shared, sessions, blocks: shared + options.sessions * (options.blocks - shared) };
}

/** One call of `store`, in the order in which an engine would report it. */
export interface StoreCall {
  readonly session: number;
  readonly from: number;
  readonly to: number;
}

/** Each session's prompt in one piece. */
export function wholePrompts({ sessions }: Prompts): StoreCall[] {
  return sessions.map((seq, session) => ({ session, from: 0, to: seq.length }));
}

/** The shared blocks and a first turn, then a turn of every session after another, in a new order each time. */
export function turnByTurn({ sessions, shared }: Prompts): StoreCall[] {
  const random = new Random(11);
  const calls: StoreCall[] = [];
  const stored = sessions.map(() => 0);
  for (let left = sessions.length; left > 0; ) {
    left = 0;
    for (const session of random.permutation(sessions.length)) {
      const from = stored[session]!;
      const to = Math.min(sessions[session]!.length, (from || shared) + TURN_BLOCKS);
      if (from === to) continue;
      calls.push({ session, from, to });
      stored[session] = to;
      left++;
    }
  }
  return calls;
}

/** What a call stores where. */
export function storeArguments(prompts: Prompts, { session, from, to }: StoreCall) {
  const seq = prompts.sessions[session]!;
  return {
    slot: session % prompts.slots,
    seq: seq.subarray(from, to),
    parent: from === 0 ? undefined : seq[from - 1],
  };
}

/** Queries in one sample: one alone is too short for the clock and for what the harness leaves in the caches. */
const BURST = 8;

/**
 * Bursts of queries, each for another session, in an order in which neighbours are far apart: what is stored is cold,
 * as in real life. The requests' hashes are copied to arrays of their own first: a router has just hashed them.
 */
export function rotating(prompts: Prompts, query: (request: BigUint64Array, session: number) => void): Rival {
  const order = new Random(17).permutation(prompts.sessions.length);
  const requests = Array.from({ length: BURST }, () => prompts.sessions[0]!.slice());
  const sessions = new Uint32Array(BURST);
  let at = 0;
  return {
    operations: BURST,
    prepare() {
      for (const [k, request] of requests.entries()) {
        at = at + 1 === order.length ? 0 : at + 1;
        sessions[k] = order[at]!;
        request.set(prompts.sessions[order[at]!]!);
      }
    },
    run() {
      for (let k = 0; k < BURST; k++) query(requests[k]!, sessions[k]!);
    },
  };
}
