import type { ApcRow } from '../../src/analysis/request-log.js';

/** A request of a hand-made trace, of blocks of 10 tokens. */
export type Request = readonly [inputLength: number, ids: readonly number[], session?: string];

export function rowsOf(requests: readonly Request[]): ApcRow[] {
  return requests.map(([inputLength, ids, sessionId], i) => {
    return { line: i + 1, inputLength, sessionId, hashIds: BigUint64Array.from(ids, BigInt) };
  });
}
