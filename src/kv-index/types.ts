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
}

export interface StoreOptions {
  /** The block before the first: a hash, or `'unknown'`. Omitted: the first of `seqHashes` is a first block. */
  readonly parent?: bigint | number | 'unknown' | undefined;
  /** Time of the store in ms, for `stats` and `explain`. Default `Date.now()`. */
  readonly nowMs?: number;
  /** Throw ERR_KVIDX_REJECTED instead of answering a result with `rejected` > 0. */
  readonly strict?: boolean;
}

export interface RemoveOptions {
  /** Throw ERR_KVIDX_REJECTED when some hashes were unknown; the others are removed nevertheless. */
  readonly strict?: boolean;
}

export interface OwnOptions {
  /** Time of the request in ms. Default `Date.now()`. */
  readonly nowMs?: number;
  /** Throw ERR_KVIDX_REJECTED instead of answering a result with `rejected` > 0. */
  readonly strict?: boolean;
}

export interface OverlapOptions {
  /** `prefix`: leading blocks, up to the worker's first gap. `set`: any of the blocks. Default `prefix`. */
  readonly mode?: 'prefix' | 'set';
  /** Filled and answered instead of a new array; `slotCount` long. */
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

export interface WorkerStats {
  readonly worker: WorkerHandle;
  readonly residentBlocks: number;
  /** `nowMs` of the last accepted store; undefined: none. */
  readonly lastStoreMs: number | undefined;
}

export interface IndexStats extends CoreStats {
  /** By slot, ascending. */
  readonly workers: readonly WorkerStats[];
}
