import { type CoreIndex, RESULT_LENGTH } from '../src/native/seam.js';
import type { Prompts } from './prompts.js';
import { Random } from './random.js';

/**
 * Stores prompts in `runs` runs each, held by `slotOf(session)`: the first is what all sessions share, the others are
 * equally long. After each piece another answer came first (a block of its own, which the piece's run takes up in place),
 * so that what the prompt goes on with branches off and starts a run. Sessions take turns, in a new order each time, so
 * that the runs of a prompt lie far apart.
 */
export function storeInShortRuns(
  index: CoreIndex,
  { sessions, shared }: Prompts,
  runs: number,
  slotOf: (session: number) => number,
): void {
  const result = new Float64Array(RESULT_LENGTH);
  const random = new Random(23);
  const store = (slot: number, seq: BigUint64Array, parent?: bigint) =>
    void index.store(slot, index.incarnation(slot), seq, parent, 0, result);
  for (const [session, seq] of sessions.entries()) store(slotOf(session), seq.subarray(0, shared));
  for (let piece = 1; piece < runs; piece++) {
    for (const session of random.permutation(sessions.length)) {
      const seq = sessions[session]!;
      const end = (k: number) => shared + Math.round(((seq.length - shared) * k) / (runs - 1));
      const [from, to] = [end(piece - 1), end(piece)];
      store(slotOf(session), random.hashes(1), seq[from - 1]);
      store(slotOf(session), seq.subarray(from, to), seq[from - 1]);
    }
  }
}
