import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { median } from './statistics.js';

/** Batches before the first that counts: code that is not optimised yet takes more. */
const WARM_UP = 32;

const gc = exposedCollector();

/** What one batch runs; `prepare` runs before each, and is not counted. */
export interface Allocating {
  readonly prepare?: () => void;
  readonly run: (i: number) => void;
}

export interface AllocationOptions {
  readonly batches: number;
  /** Operations a batch: so few that there is room for what they take before the next collection. */
  readonly operations: number;
}

/**
 * Bytes that an operation takes from the JavaScript heap and for array buffers, garbage or not. Batches start right after a
 * collection, and one in which another falls is thrown away, so that nothing is given back between two readings; the median
 * leaves out those in which the compiler took memory. What native code takes for itself is not seen.
 */
export function bytesAnOperation(work: Allocating, { batches, operations }: AllocationOptions): number {
  for (let batch = 0; batch < WARM_UP; batch++) growth(work, operations);
  const nothing = growth({ run: () => {} }, operations) ?? 0;
  const readings: number[] = [];
  for (let tries = 0; readings.length < batches; tries++) {
    if (tries === 4 * batches) throw new Error(`${operations} operations do not fit between two collections`);
    const bytes = growth(work, operations);
    if (bytes !== undefined) readings.push((bytes - nothing) / operations);
  }
  return median(readings);
}

/** Undefined: there was a collection. */
function growth({ prepare, run }: Allocating, operations: number): number | undefined {
  prepare?.();
  // The second one waits for buffers that the first found unused, which would be given back at any time later.
  collect();
  collect();
  const profiler = new GCProfiler();
  profiler.start();
  const before = allocatedBytes();
  for (let i = 0; i < operations; i++) run(i);
  const after = allocatedBytes();
  return profiler.stop().statistics.length === 0 ? after - before : undefined;
}

/** Bytes of the JavaScript heap and of array buffers that are still there when everything unused is given back. */
export function settledHeapBytes(): number {
  gc();
  gc();
  return allocatedBytes();
}

/** Collects what is new, which does not touch optimised code. */
function collect(): void {
  gc({ type: 'minor' });
}

function allocatedBytes(): number {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}

function exposedCollector(): (options?: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as (options?: { type: 'minor' }) => void;
}
