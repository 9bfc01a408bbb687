import { KvidxError } from '../errors.js';
import { RESULT } from '../native/seam.js';
import { counted } from '../text.js';

/** What a feeding call did, in blocks. */
export interface FeedResult {
  /** Newly resident (store), no longer resident (remove), newly owned (own). */
  readonly applied: number;
  /** Resident or owned before: nothing changed for them. */
  readonly duplicate: number;
  /** Not resident on this worker (remove). */
  readonly unknown: number;
  /** Stored without a resident path to the root: a query does not reach them until the path is there. */
  readonly orphaned: number;
  /** Not taken, the whole call: it contradicts a known predecessor or itself. */
  readonly rejected: number;
  /** Index of the first hash that was rejected or unknown; −1: none. */
  readonly firstBad: number;
}

/** A strict call whose blocks were not all taken. */
export class RejectedError extends KvidxError {
  readonly result: FeedResult;

  constructor(what: string, result: FeedResult) {
    const { rejected, unknown, firstBad } = result;
    const problem =
      rejected > 0
        ? `${counted(rejected, 'block')} rejected: seqHashes[${firstBad}] contradicts a known predecessor or repeats`
        : `${counted(unknown, 'block')} not resident on this worker, first seqHashes[${firstBad}]; the others are removed`;
    super('ERR_KVIDX_REJECTED', `${what}: ${problem}`);
    this.name = 'RejectedError';
    this.result = result;
  }
}

export function readResult(what: string, places: Float64Array, strict: boolean): FeedResult {
  const result = {
    applied: places[RESULT.applied]!,
    duplicate: places[RESULT.duplicate]!,
    unknown: places[RESULT.unknown]!,
    orphaned: places[RESULT.orphaned]!,
    rejected: places[RESULT.rejected]!,
    firstBad: places[RESULT.firstBad]!,
  };
  if (strict && (result.rejected > 0 || result.unknown > 0)) throw new RejectedError(what, result);
  return result;
}
