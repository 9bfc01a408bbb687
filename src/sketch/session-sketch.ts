import { invalidArgType } from '../errors.js';
import { KvIndex, type WorkerHandle } from '../kv-index/index.js';
import { checkOptions, checkTime } from '../validate.js';
import { BloomFilter } from './bloom-filter.js';
import { encodeFrame } from './frame.js';
import { checkTargetFpp, DEFAULT_TARGET_FPP } from './sizing.js';

export interface SessionSketchOptions {
  /** Target rate of false positives, 10^−6 … 0.5. Default 0.01. */
  readonly targetFpp?: number;
  /** When this is, in ms since 1970. Default `Date.now()`. */
  readonly nowMs?: number;
  /** Default `nowMs`: a later sketch of a session replaces an earlier one. An integer. */
  readonly epoch?: number;
}

/**
 * A full frame of what a worker holds of one session: the blocks that are resident on it and whose one owner is this
 * session. To go with the answer of an admission.
 *
 * A worker's index knows only the sessions that came to that worker: blocks that others share elsewhere look exclusive here.
 * A router that wants exclusivity across the fleet intersects with what it knows of ownership.
 *
 * Throws what `KvIndex.enumerateExclusive` and `encodeFrame` do; ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
 */
export function sessionSketch(
  index: KvIndex,
  worker: WorkerHandle,
  session: string,
  options?: SessionSketchOptions,
): Uint8Array {
  const { targetFpp = DEFAULT_TARGET_FPP, nowMs = Date.now(), epoch } = checkOptions(options);
  checkTargetFpp(targetFpp);
  const timestampMs = Math.floor(checkTime('nowMs', nowMs));
  if (!(index instanceof KvIndex)) throw invalidArgType('index', 'a KvIndex', index);
  const hashes = index.enumerateExclusive(worker, session);
  return encodeFrame({
    kind: 'full',
    worker: worker.name,
    session,
    epoch: epoch ?? timestampMs,
    sequence: 0,
    timestampMs,
    keys: hashes.length,
    targetFpp,
    blockSize: index.blockSize,
    filter: BloomFilter.of(hashes, targetFpp),
  });
}
