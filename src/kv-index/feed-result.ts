import { KvidxError } from '../errors.js';
import { RESULT, RESULT_LENGTH } from '../native/seam.js';
import { counted } from '../text.js';

/** Where the core leaves what a feeding call did: filled and read within one call, which runs no other code. */
export const places = new Float64Array(RESULT_LENGTH);

/** What a feeding call did, in blocks. */
export interface FeedResult {
  /**
   * Newly resident, and still there after the call (store, replace); copies taken away (remove); newly owned, and still
   * so after the call (own); made recent (refresh); pinned, unpinned.
   */
  readonly applied: number;
  /** Resident (store) or owned (own) before. On a worker with reference counts each became one copy more. */
  readonly duplicate: number;
  /** Not resident on this worker (remove, refresh, pin), or without a pin there (unpin). */
  readonly unknown: number;
  /** Stored without a resident path to the root: a query does not reach them until the path is there. */
  readonly orphaned: number;
  /**
   * Not taken. Either the whole call contradicts a known predecessor or itself (of a full report the whole chain), or
   * new blocks found no room within the worker's capacity or `maxBlocks`: a prompt's tail, or all of it where pins
   * leave nothing else to evict.
   */
  readonly rejected: number;
  /**
   * Index of the first hash that was rejected or unknown; of a full report, index of the first chain that contradicts.
   * −1: none.
   */
  readonly firstBad: number;
  /** Blocks of before that this call's blocks pushed out: over the worker's capacity, or anywhere over `maxBlocks`. */
  readonly evicted: number;
}

export type FeedCall = 'store' | 'replace' | 'refresh' | 'pin' | 'unpin' | 'remove' | 'own';

/** A strict call whose blocks were not all taken. The message says why, and what became of the others. */
export class RejectedError extends KvidxError {
  readonly result: FeedResult;

  /** @internal */
  constructor(call: FeedCall, result: FeedResult, pinsFill: boolean) {
    super('ERR_KVIDX_REJECTED', `${call}: ${problemOf(call, result, pinsFill)}`);
    this.name = 'RejectedError';
    this.result = result;
  }
}

/** What stands in `places`. */
export function readResult(): FeedResult {
  return {
    applied: places[RESULT.applied]!,
    duplicate: places[RESULT.duplicate]!,
    unknown: places[RESULT.unknown]!,
    orphaned: places[RESULT.orphaned]!,
    rejected: places[RESULT.rejected]!,
    firstBad: places[RESULT.firstBad]!,
    evicted: places[RESULT.evicted]!,
  };
}

/** Were all blocks taken? */
export function isComplete({ rejected, unknown }: FeedResult): boolean {
  return rejected === 0 && unknown === 0;
}

const UNKNOWN: Partial<Record<FeedCall, readonly [not: string, done: string]>> = {
  remove: ['not resident', 'removed'],
  refresh: ['not resident', 'refreshed'],
  pin: ['not resident', 'pinned'],
  unpin: ['not pinned', 'unpinned'],
};

function problemOf(call: FeedCall, result: FeedResult, pinsFill: boolean): string {
  const { firstBad } = result;
  const words = UNKNOWN[call];
  if (words) {
    const [not, done] = words;
    return `${counted(result.unknown, 'block')} ${not} on this worker, first seqHashes[${firstBad}]; the others are ${done}`;
  }
  const rejected = `${counted(result.rejected, 'block')} rejected`;
  const bound = call === 'own' ? 'maxBlocks' : "the worker's capacity or maxBlocks";
  if (call === 'replace') {
    const why =
      firstBad < 0
        ? `no room within ${bound}`
        : `chains[${firstBad}] contradicts a known predecessor or repeats a block`;
    return `${rejected}: ${why}; the rest of the report is taken, as far as there is room`;
  }
  // A call that contradicts is rejected as a whole, one that finds no room only where pinned blocks fill a bound.
  if (result.applied + result.duplicate > 0) {
    return `${rejected}, first seqHashes[${firstBad}]: no room within ${bound}; the others are taken`;
  }
  const contradicts = `seqHashes[${firstBad}] contradicts a known predecessor or repeats`;
  return firstBad === 0 && pinsFill
    ? `${rejected}: pinned blocks leave no room within ${bound}, or ${contradicts}`
    : `${rejected}: ${contradicts}`;
}
