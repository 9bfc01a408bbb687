import { CAUSE, type CoreIndex, MODE } from '../native/seam.js';
import type { EngineFeeds } from './engine-feeds.js';
import { readWorkerStats } from './worker-stats.js';
import type { WorkerHandle } from './workers.js';

/** Why one worker holds nothing of the prompt's head. */
export type WorkerReason =
  | 'hit'
  | 'no-stores-yet'
  | 'evicted'
  | 'nothing-resident'
  | 'head-missing'
  | 'first-block-elsewhere'
  | 'first-block-unknown';

/** What evicted a block: the worker's capacity, the bound of the whole index, or the worker's ttl. */
export type EvictionCause = 'capacity' | 'maxBlocks' | 'ttl';

export interface WorkerExplanation {
  readonly worker: WorkerHandle;
  /** Leading blocks of the query on this worker. */
  readonly overlapBlocks: number;
  readonly residentBlocks: number;
  /** Age of the last accepted store or full report, in ms; undefined: none. */
  readonly lastStoreAgeMs: number | undefined;
  /** Age of the last message of the engine's events, in ms; undefined: none came, or no `EventFeed` feeds the worker. */
  readonly lastEventAgeMs: number | undefined;
  /** As in `stats`: `maxBlocks` took blocks from this worker or refused it some: it may hold more than the index knows. */
  readonly degraded: boolean;
  /** Why the engine may hold something else than its events told: a `DegradedReason`; undefined: it does not. */
  readonly eventsDegraded: string | undefined;
  /** Tokens a block that the engine stores, where the index has another size and refuses them. */
  readonly refusedBlockSize: number | undefined;
  /** What kinds of its events are left out, in words; undefined: none, as far as is known. */
  readonly eventsLeftOut: string | undefined;
  /**
   * Where the overlap ends (an index into the query's hashes) if that block was here and was evicted; undefined: it was
   * not, or the `evictedHistory` does not know.
   */
  readonly evictedAt: number | undefined;
  readonly evictedBy: EvictionCause | undefined;
  readonly reason: WorkerReason;
}

const CAUSE_NAMES: Readonly<Record<number, EvictionCause>> = {
  [CAUSE.capacity]: 'capacity',
  [CAUSE.bound]: 'maxBlocks',
  [CAUSE.ttl]: 'ttl',
};

interface Asked {
  readonly core: CoreIndex;
  readonly workers: readonly WorkerHandle[];
  readonly feeds: EngineFeeds;
  readonly nowMs: number;
}

export function explainWorkers(
  { core, workers, feeds, nowMs }: Asked,
  seq: BigUint64Array,
): WorkerExplanation[] {
  const leading = new Uint32Array(core.slotCount());
  const anywhere = new Uint32Array(core.slotCount());
  core.overlap(seq, MODE.prefix, leading);
  core.overlap(seq, MODE.set, anywhere);
  const headIsSomewhere = leading.some((blocks) => blocks > 0);
  return workers.map((worker) => {
    const { residentBlocks, lastStoreMs, degraded } = readWorkerStats(core, worker);
    const feed = feeds.get(worker);
    const overlapBlocks = leading[worker.slot]!;
    const missing = seq[overlapBlocks];
    const evictedBy = missing === undefined ? undefined : CAUSE_NAMES[core.evictedBy(worker.slot, missing)];
    let reason: WorkerReason = 'first-block-unknown';
    if (overlapBlocks > 0) reason = 'hit';
    else if (lastStoreMs === undefined) reason = 'no-stores-yet';
    else if (evictedBy) reason = 'evicted';
    else if (residentBlocks === 0) reason = 'nothing-resident';
    else if (anywhere[worker.slot]! > 0) reason = 'head-missing';
    else if (headIsSomewhere) reason = 'first-block-elsewhere';
    return {
      worker,
      overlapBlocks,
      residentBlocks,
      lastStoreAgeMs: ageAt(nowMs, lastStoreMs),
      lastEventAgeMs: ageAt(nowMs, feed?.lastEventMs),
      degraded,
      eventsDegraded: feed?.degraded,
      refusedBlockSize: feed?.refusedBlockSize,
      eventsLeftOut: feed?.leftOut,
      evictedAt: evictedBy && overlapBlocks,
      evictedBy,
      reason,
    };
  });
}

function ageAt(nowMs: number, timeMs: number | undefined): number | undefined {
  return timeMs === undefined ? undefined : nowMs - timeMs;
}
