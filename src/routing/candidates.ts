import { invalidArgType, outOfRange } from '../errors.js';
import { DEFAULT_BLOCK_SIZE, MAX_BLOCK_SIZE } from '../hash/block-hasher.js';
import { checkBoolean, checkInteger, checkOptions } from '../validate.js';

/*
 * What a policy sees of one request: a place for each worker that may take it, in the order in which they joined.
 * Columns, not rows: a decision over W workers reads some W numbers of each key and allocates nothing.
 */

/** The columns of `Candidates`, one number a place. */
export const FEATURES = [
  'overlapBlocks',
  'counted',
  'cacheHitTokens',
  'inflight',
  'assigned',
  'work',
  'rejects',
  'pendingPrefillTokens',
  'numRequests',
  'ongoingDecodeTokens',
] as const;

export type Feature = (typeof FEATURES)[number];

/** What is known of one worker for one request; what is left out is 0. */
export interface WorkerFeatures {
  /** Leading blocks of the prompt that the worker holds. */
  readonly overlapBlocks?: number;
  /**
   * What the policy asks for in `counts`: blocks, or units of 1 / FAIR_UNIT block where it counts fair overlap.
   * Default: `overlapBlocks`, which is right for `prefix` only.
   */
  readonly counted?: number;
  /** Prompt tokens that need no prefill here. Default: min(overlapBlocks × blockSize, inputLength). */
  readonly cacheHitTokens?: number;
  /** Requests that this router has under way here. */
  readonly inflight?: number;
  /** Requests that went here so far. */
  readonly assigned?: number;
  /** New tokens that went here so far; with a half-life, older ones count less. */
  readonly work?: number;
  /** Recent refusals of this session here. */
  readonly rejects?: number;
  /** Tokens that wait for their prefill or are in it. */
  readonly pendingPrefillTokens?: number;
  /** Requests waiting or running. */
  readonly numRequests?: number;
  /** Prompt tokens of the requests that are past their prefill. */
  readonly ongoingDecodeTokens?: number;
}

export class Candidates {
  /** Places in use. At least 1 when a policy is asked. */
  count = 0;
  /** Tokens of the prompt. */
  inputLength = 0;
  /** The place of the session's home; −1: it has none, or its home is no candidate. */
  home = -1;
  /** Has the session a home, be it a candidate or not? */
  hasHome = false;

  overlapBlocks!: Float64Array;
  counted!: Float64Array;
  cacheHitTokens!: Float64Array;
  inflight!: Float64Array;
  assigned!: Float64Array;
  work!: Float64Array;
  rejects!: Float64Array;
  pendingPrefillTokens!: Float64Array;
  numRequests!: Float64Array;
  ongoingDecodeTokens!: Float64Array;

  constructor(places: number) {
    this.reserve(places);
  }

  /** Room for that many places; what stands in the columns is lost when they grow. */
  reserve(places: number): void {
    if (this.overlapBlocks !== undefined && places <= this.overlapBlocks.length) return;
    for (const feature of FEATURES) this[feature] = new Float64Array(places);
  }
}

export interface CandidatesOptions {
  /** Tokens of the prompt. */
  readonly inputLength: number;
  /** Tokens a block, 1 … 4,096. Default 24. */
  readonly blockSize?: number;
  /** Index of the session's home among the workers. Default: it is none of them. */
  readonly home?: number;
  /** Has the session a home, be it among the workers or not? Default: whether `home` is given. */
  readonly hasHome?: boolean;
}

/**
 * Candidates from a list, for a router that keeps its own books and takes only the policies from here. Throws
 * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE (a feature outside 0 … 2^53 − 1: no score of such overflows).
 */
export function candidatesFrom(workers: readonly WorkerFeatures[], options: CandidatesOptions): Candidates {
  if (!Array.isArray(workers)) throw invalidArgType('workers', 'an array of features', workers);
  const { inputLength, blockSize = DEFAULT_BLOCK_SIZE, home, hasHome } = checkOptions(options);
  checkInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE);
  const count = workers.length;
  const candidates = new Candidates(count);
  candidates.count = count;
  candidates.inputLength = checkInteger('inputLength', inputLength, 0, Number.MAX_SAFE_INTEGER);
  if (home !== undefined) {
    if (count === 0) throw outOfRange('home', 'absent where there are no workers', home);
    candidates.home = checkInteger('home', home, 0, count - 1);
  }
  if (hasHome !== undefined) checkBoolean('hasHome', hasHome);
  candidates.hasHome = home !== undefined || hasHome === true;
  for (let place = 0; place < count; place++) fill(candidates, place, workers[place], blockSize);
  return candidates;
}

function fill(candidates: Candidates, place: number, worker: unknown, blockSize: number): void {
  if (typeof worker !== 'object' || worker === null)
    throw invalidArgType(`workers[${place}]`, 'an object', worker);
  for (const feature of FEATURES) {
    const given: unknown = (worker as WorkerFeatures)[feature];
    candidates[feature][place] =
      given === undefined
        ? fallback(candidates, place, feature, blockSize)
        : checkFeature(given, place, feature);
  }
}

function checkFeature(value: unknown, place: number, feature: Feature): number {
  if (typeof value !== 'number') throw invalidArgType(`workers[${place}].${feature}`, 'a number', value);
  if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER))
    throw outOfRange(`workers[${place}].${feature}`, 'a number from 0 to 2^53 − 1', value);
  return value;
}

/** `overlapBlocks` is the first of the features: it is filled in when others follow from it. */
function fallback(candidates: Candidates, place: number, feature: Feature, blockSize: number): number {
  const overlapBlocks = candidates.overlapBlocks[place]!;
  if (feature === 'counted') return overlapBlocks;
  if (feature === 'cacheHitTokens') return Math.min(overlapBlocks * blockSize, candidates.inputLength);
  return 0;
}
