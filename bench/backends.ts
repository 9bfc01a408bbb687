import { KvidxError } from '../src/errors.js';
import { seam } from '../src/native/index.js';
import { findAddon } from '../src/native/load.js';
import type { CoreIndex, Seam } from '../src/native/seam.js';
import { createReferenceSeam } from '../src/reference/index.js';

/** The flat hash table of `native/bench`: seq hash → bitmap of 64 slots. */
export interface FlatTable {
  insert(slot: number, seq: BigUint64Array): void;
  /** Prefix mode. out: `Uint32Array[64]`. */
  overlap(seq: BigUint64Array, out: Uint32Array): void;
  size(): number;
  bytes(): number;
}

/** Copies of prompts, each somewhere else in memory: what a query cannot do without is one of these `compare`. */
export interface ColdCopies {
  /** Copies it; the first one is number 0. */
  add(seq: BigUint64Array): void;
  /** out: `Uint32Array[1]`, the number of a copy; then the request's blocks where the copy equals it, else 0. */
  compare(request: BigUint64Array, out: Uint32Array): void;
}

export interface BenchAddon {
  /** Does nothing. */
  emptyCall(): void;
  /** Converts its arguments as a query does, and does nothing with them. */
  twoArrays(seq: BigUint64Array, out: Uint32Array): void;
  /** A copy of `seq` in memory of its own. */
  freshArray(seq: BigUint64Array): BigUint64Array;
  createFlatTable(): FlatTable;
  createColdCopies(): ColdCopies;
  /** An index of the addon's own copy of the core, whose memory `allocatedBytes` counts. */
  createIndex: Seam['createIndex'];
  /** Bytes that the addon has from the allocator (with its headers) and from the system. Absent except on Linux. */
  allocatedBytes?(): number;
  /** The most that `allocatedBytes` has been since `restartPeak`, at any moment. Absent with it, like the rest. */
  peakBytes?(): number;
  restartPeak?(): void;
  /** How often the addon has asked for memory, ever. */
  allocations?(): number;
}

/** The native backend. Throws ERR_KVIDX_NATIVE_LOAD when there is none: nothing could be compared. */
export function nativeSeam(): Seam {
  return load('kvidx');
}

export function benchAddon(): BenchAddon {
  return load('kvidx_bench') as unknown as BenchAddon;
}

/** The native backend compiled without bounds, pins and reference counts; undefined where it was not built. */
export function unboundedSeam(): Pick<Seam, 'createIndex'> | undefined {
  const search = findAddon('kvidx_unbounded');
  return 'addon' in search ? search.addon : undefined;
}

export { createReferenceSeam as referenceSeam };

/** Every `KvIndex` that this process makes from now on lies in the bench addon's own copy of the core, whose memory is counted. */
export function countKvIndexes(): void {
  Object.assign(seam, { createIndex: benchAddon().createIndex });
}

/** An empty index with slots 0 … slots − 1. */
export function openIndex(seam: Pick<Seam, 'createIndex'>, slots: number): CoreIndex {
  const index = seam.createIndex({ maxSessions: 0, maxBlocks: 0, evictedHistory: 0 });
  for (let slot = 0; slot < slots; slot++) index.addSlot();
  return index;
}

function load(name: string): Seam {
  const search = findAddon(name);
  if ('addon' in search) return search.addon;
  throw new KvidxError(
    'ERR_KVIDX_NATIVE_LOAD',
    `the benches need the addon ${name}.node. Build it with "npm run build:native" in a checkout, "npm rebuild kvidx" ` +
      `where kvidx is installed. Tried: ${search.refused.join('; ')}`,
  );
}
