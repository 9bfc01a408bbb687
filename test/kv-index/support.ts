import type { KvIndex, WorkerHandle, WorkerStats } from '../../src/index.js';

/** `BigUint64Array` of small integers or bigints. */
export function hashes(...values: (number | bigint)[]): BigUint64Array {
  return BigUint64Array.from(values, BigInt);
}

/** `count` hashes from `first` on. */
export function range(first: number, count: number): BigUint64Array {
  return BigUint64Array.from({ length: count }, (_, i) => BigInt(first + i));
}

/** Token ids `first`, `first` + 1, … */
export function tokensFrom(first: number, count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, i) => first + i);
}

/** Overlaps by worker name, of workers with a GPU tier of rank 0. */
export function byName(index: KvIndex, overlaps: Uint32Array | Float64Array): Record<string, number> {
  return Object.fromEntries(index.workers().map((worker) => [worker.name, overlaps[worker.slot]!]));
}

export function filled(index: KvIndex): { a: WorkerHandle; b: WorkerHandle } {
  const a = index.addWorker('a');
  const b = index.addWorker('b', { dpRank: 1, tier: 'cpu' });
  index.store(a, hashes(1, 2, 3), { nowMs: 10 });
  index.store(b, hashes(1, 2, 4), { nowMs: 20 });
  index.store(b, hashes(70, 71), { parent: 'unknown', nowMs: 21 });
  index.own('s', hashes(1, 2, 3), { nowMs: 10 });
  index.own('t', hashes(1, 2, 4, 5), { nowMs: 20 });
  return { a, b };
}

/** The `code` of what `call` throws. */
export function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (!(error instanceof Error) || error.message === '') throw new Error('not a described error');
    return String((error as Error & { code?: string }).code);
  }
  return 'nothing thrown';
}

/** What `stats` tells of one worker. */
export function statsOf(index: KvIndex, worker: WorkerHandle): WorkerStats {
  return index.stats().workers.find((each) => each.worker === worker)!;
}

/** What `stats` tells that does not depend on how the backend lays it out; workers by name. */
export function countsOf(index: KvIndex) {
  const { workers, usedBytes, reservedBytes, ownershipBytes, runs, runHolders, ...counts } = index.stats();
  return { ...counts, workers: workers.map(({ worker, ...figures }) => ({ name: worker.name, ...figures })) };
}
