import { type CoreIndex, SLOT_FIGURE, SLOT_FIGURES_LENGTH, SLOT_MODE } from '../native/seam.js';
import type { WorkerMode, WorkerStats } from './types.js';
import type { WorkerHandle } from './workers.js';

/** Filled and read within one call, which runs no other code. */
const figures = new Float64Array(SLOT_FIGURES_LENGTH);

const MODE_NAMES: Readonly<Record<number, WorkerMode>> = {
  [SLOT_MODE.plain]: 'plain',
  [SLOT_MODE.bounded]: 'bounded',
  [SLOT_MODE.counted]: 'counted',
};

/** One of SLOT_FIGURE. */
export function slotFigure(core: CoreIndex, slot: number, place: number): number {
  core.slotFigures(slot, figures);
  return figures[place]!;
}

export function readWorkerStats(core: CoreIndex, worker: WorkerHandle): WorkerStats {
  core.slotFigures(worker.slot, figures);
  const figure = (place: keyof typeof SLOT_FIGURE) => figures[SLOT_FIGURE[place]]!;
  return {
    worker,
    mode: MODE_NAMES[figure('mode')]!,
    capacity: figure('capacity') || undefined,
    ttlMs: figure('ttlMs') || undefined,
    residentBlocks: figure('residentBlocks'),
    pinnedBlocks: figure('pinnedBlocks'),
    lastStoreMs: figure('lastStoreMs') < 0 ? undefined : figure('lastStoreMs'),
    evictedByCapacity: figure('evictedByCapacity'),
    evictedByBound: figure('evictedByBound'),
    expired: figure('expired'),
    degraded: figure('degraded') !== 0,
  };
}

/**
 * Do pins fill the worker's capacity, or `maxBlocks` (0: none), so that a new block finds no room? Of `maxBlocks` this is
 * not certain: a block pinned on two workers counts twice.
 */
export function pinsFillABound(
  core: CoreIndex,
  worker: WorkerHandle | undefined,
  maxBlocks: number,
): boolean {
  if (worker) {
    const { capacity = Number.POSITIVE_INFINITY, pinnedBlocks } = readWorkerStats(core, worker);
    if (pinnedBlocks >= capacity) return true;
  }
  let pinned = 0;
  for (const slot of core.slotNumbers()) pinned += slotFigure(core, slot, SLOT_FIGURE.pinnedBlocks);
  return maxBlocks > 0 && pinned >= maxBlocks;
}
