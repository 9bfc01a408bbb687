import type { ExtraKeys } from '../hash/extra-keys.js';
import type { Namespace } from '../hash/namespace.js';
import type { CoreStats } from '../native/seam.js';
import type { WorkerHandle } from './workers.js';

/** What one block counts in `fairOverlap`: overlaps are whole multiples of 1 / FAIR_UNIT block. */
export const FAIR_UNIT = 2 ** 20;

export interface KvIndexOptions {
  /** Tokens a block, 1 … 4,096. Default 24. Must be that of the hashes fed. */
  readonly blockSize?: number;
  /** Default namespace of `lookupTokens` and `explain`. Default: the empty one. */
  readonly namespace?: Namespace;
  /**
   * Sessions that may own blocks at once, 1 … 2^32 − 1; beyond it the least recently owning one ends. Default 65,536.
   */
  readonly maxSessions?: number;
  /** `endIdleSessions` ends sessions whose last `own` is this old, in ms. Default 3,600,000 (an hour). */
  readonly sessionIdleMs?: number;
  /**
   * Blocks that the whole index knows (resident anywhere or owned by anybody), 1 … 2^32 − 1. Beyond it those that were
   * named longest ago leave every worker and every session; pinned ones stay. Default: no bound.
   */
  readonly maxBlocks?: number | undefined;
  /** Evictions that `explain` remembers, the latest ones: 0 … 1,000,000. Default 0: none. */
  readonly evictedHistory?: number;
}

/** The block before a chain's first: a hash, or `'unknown'`. Omitted: the chain begins with a first block. */
export type Parent = bigint | number | 'unknown' | undefined;

export interface StrictOptions {
  /**
   * Throw ERR_KVIDX_REJECTED instead of answering a result with `rejected` or `unknown` > 0. What the call did, it
   * did: only a call that contradicts changes nothing, one that finds no room or names unknown blocks does the rest, and a
   * full report with a contradicting chain is taken without that chain.
   */
  readonly strict?: boolean;
}

export interface FeedOptions extends StrictOptions {
  /** Time of the call in ms, for ages and for the worker's `ttlMs`. Default `Date.now()`. */
  readonly nowMs?: number;
}

export interface StoreOptions extends FeedOptions {
  /** A bounded worker takes none: it is fed prompts from their first block on. */
  readonly parent?: Parent;
}

export type OwnOptions = FeedOptions;
export type RemoveOptions = StrictOptions;

/** Consecutive blocks of a full report (`BigUint64Array[n]`) and the block before them. */
export interface ReportedChain {
  readonly seq: BigUint64Array;
  /** As in `store`. */
  readonly parent?: Parent;
}

export interface SetCapacityOptions {
  /** As in `addWorker`; 0: none. Omitted: the present one stays. */
  readonly ttlMs?: number | undefined;
}

export interface OverlapOptions {
  /** `prefix`: leading blocks, up to the worker's first gap. `set`: any of the blocks. Default `prefix`. */
  readonly mode?: 'prefix' | 'set';
  /** Filled and answered instead of a new array; `slotCount` long. */
  readonly out?: Uint32Array;
}

export interface OverlapManyOptions {
  /** As in `overlap`. Default `prefix`. */
  readonly mode?: 'prefix' | 'set';
  /** Filled and answered instead of a new array; requests × `slotCount` long. */
  readonly out?: Uint32Array;
}

export interface ExclusiveOverlapOptions extends OverlapOptions {
  /** 1: blocks that only this session owns. m > 1: blocks with 1 … m owners. Default 1. */
  readonly maxOwners?: number;
}

export interface FairOverlapOptions {
  /** Filled and answered instead of a new array; `slotCount` long. */
  readonly out?: Float64Array;
}

export interface ExclusiveWithinOptions {
  /** As in `exclusiveOverlap`. Default 1. */
  readonly maxOwners?: number;
  /** Filled and answered instead of a new array; as long as `lengths`. */
  readonly out?: Uint32Array;
}

export interface EnumerateOptions {
  /** Default true. false: in any order, in a tenth of the time. */
  readonly sorted?: boolean;
}

export interface FairWithinOptions {
  /** Filled and answered instead of a new array; as long as `lengths`. */
  readonly out?: Float64Array;
}

export interface LookupOptions {
  /** Default: the namespace of the index. */
  readonly namespace?: Namespace;
  readonly extraKeys?: ExtraKeys;
  /** Count exclusive overlap for this session. */
  readonly session?: string;
  /** As in `exclusiveOverlap`; needs `session`. Default 1. */
  readonly maxOwners?: number;
  /** Count fair overlap. Default false. */
  readonly fair?: boolean;
}

/** Outputs are new arrays; those indexed by slot have `slotCount` elements. */
export interface LookupResult {
  /** `BigUint64Array[⌊tokens / blockSize⌋]`, for the `store` and `own` that follow. */
  readonly seqHashes: BigUint64Array;
  /** Leading blocks on each slot. */
  readonly overlap: Uint32Array;
  /** With `session`: of those, the exclusive ones. */
  readonly exclusive: Uint32Array | undefined;
  /** With `fair`: units of 1 / FAIR_UNIT block. */
  readonly fair: Float64Array | undefined;
}

/**
 * How a worker keeps its blocks. `plain`: exactly what was stored and not removed. `bounded`: an estimate, the `capacity`
 * blocks named last. `counted`: as plain, with a count of each block's copies.
 */
export type WorkerMode = 'plain' | 'bounded' | 'counted';

export interface WorkerStats {
  readonly worker: WorkerHandle;
  readonly mode: WorkerMode;
  /** In blocks; undefined: the worker is not bounded. */
  readonly capacity: number | undefined;
  /** undefined: blocks do not expire. */
  readonly ttlMs: number | undefined;
  readonly residentBlocks: number;
  /** Resident blocks with at least one pin. */
  readonly pinnedBlocks: number;
  /** `nowMs` of the last accepted store or full report; undefined: none. */
  readonly lastStoreMs: number | undefined;
  /** Blocks that the worker's capacity evicted, in its present life. */
  readonly evictedByCapacity: number;
  /** Blocks that `maxBlocks` took from this worker. */
  readonly evictedByBound: number;
  /** Blocks that outlived `ttlMs`. */
  readonly expired: number;
  /**
   * The worker is fed by its engine, and `maxBlocks` took blocks from it or refused it some: it holds more than the
   * index knows. Ends with a full report (`replace`) or `clear`.
   */
  readonly degraded: boolean;
}

export interface IndexStats extends CoreStats {
  /** By slot, ascending. */
  readonly workers: readonly WorkerStats[];
}
