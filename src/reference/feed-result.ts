import { RESULT } from '../native/seam.js';

export function clearResult(result: Float64Array): void {
  result.fill(0);
  result[RESULT.firstBad] = -1;
}

/** Hash by hash; counts where `apply` finds what it needs (applied) and where not (unknown). */
export function applyEach(seq: BigUint64Array, result: Float64Array, apply: (hash: bigint) => boolean): void {
  let applied = 0;
  for (const [i, hash] of seq.entries()) {
    if (apply(hash)) applied++;
    else noteBad(result, i);
  }
  result[RESULT.applied] = applied;
  result[RESULT.unknown] = seq.length - applied;
}

/** `at` may be the first bad place. */
export function noteBad(result: Float64Array, at: number): void {
  const first = result[RESULT.firstBad]!;
  if (first === -1 || at < first) result[RESULT.firstBad] = at;
}
