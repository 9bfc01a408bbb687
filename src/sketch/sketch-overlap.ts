import { invalidArgType } from '../errors.js';
import { BloomFilter } from './bloom-filter.js';
import { expectedInflation } from './sizing.js';

export interface SketchOverlap {
  /** Leading blocks that test positive: never fewer than are in the filter. */
  readonly overlapBlocks: number;
  /**
   * How many of them at most are to be expected past the true end, on average: p / (1 − p), where p is the rate of false
   * positives of this very filter, and no more than `overlapBlocks`. An upper bound where the whole request tests positive:
   * what is past its end cannot be counted.
   */
  readonly expectedInflation: number;
}

/**
 * Leading blocks of a request (`BigUint64Array[n]`) that a sketch says are resident. For the inflation it reads the whole
 * filter: who asks often takes `filter.leadingBlocks`. Throws ERR_KVIDX_INVALID_ARG_TYPE.
 */
export function sketchOverlap(filter: BloomFilter, seqHashes: BigUint64Array): SketchOverlap {
  if (!(filter instanceof BloomFilter)) throw invalidArgType('filter', 'a BloomFilter', filter);
  const overlapBlocks = filter.leadingBlocks(seqHashes);
  const inflation = expectedInflation(filter.falsePositiveRate());
  return { overlapBlocks, expectedInflation: Math.min(inflation, overlapBlocks) };
}
