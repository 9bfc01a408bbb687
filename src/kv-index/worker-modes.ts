import { KvidxError, outOfRange } from '../errors.js';
import { RESULT, SLOT_FIGURE, SLOT_MODE, STATUS } from '../native/seam.js';
import { checkBoolean, checkInteger, checkOptions, checkTime } from '../validate.js';
import { places } from './feed-result.js';
import type { SetCapacityOptions } from './types.js';
import { slotFigure } from './worker-stats.js';
import type { LiveWorker, WorkerHandle } from './workers.js';

/*
 * What a worker is made: plain, bounded (an LRU estimate) or reference-counted. The core decides, and a refusal changes
 * nothing; here it becomes an error that says what to do.
 */

const MAX_CAPACITY = 0xffff_ffff;

/** What is asked of a worker's mode; undefined: nothing. */
export interface ModeOptions {
  readonly capacity: number | undefined;
  readonly ttlMs: number | undefined;
  readonly referenceCounts: boolean | undefined;
}

export function checkModeOptions(options: ModeOptions): ModeOptions {
  const { capacity, ttlMs, referenceCounts } = options;
  if (capacity !== undefined) checkCapacity('capacity', capacity);
  if (ttlMs !== undefined) {
    checkTime('ttlMs', ttlMs);
    if (capacity === undefined) throw outOfRange('ttlMs', 'given together with a capacity', ttlMs);
  }
  if (referenceCounts !== undefined) checkBoolean('referenceCounts', referenceCounts);
  if (referenceCounts && capacity !== undefined) {
    throw outOfRange('referenceCounts', 'omitted with a capacity: a worker has one or the other', true);
  }
  return options;
}

export function checkSetCapacityOptions(options: SetCapacityOptions | undefined): number | undefined {
  const { ttlMs } = checkOptions(options);
  return ttlMs === undefined ? undefined : checkTime('ttlMs', ttlMs);
}

export function checkCapacity(what: string, blocks: unknown): number {
  return checkInteger(what, blocks, 1, MAX_CAPACITY);
}

/** Gives a worker the mode that `addWorker` asks for. ERR_KVIDX_CAPACITY: it has another one. */
export function applyMode(live: LiveWorker, { capacity, ttlMs, referenceCounts }: ModeOptions): void {
  if (capacity !== undefined) setCapacity(live, capacity, ttlMs);
  else if (referenceCounts) countReferences(live);
  else if (referenceCounts === false) refuseCounted(live);
}

/** Bounds a worker, or changes its bound; answers the blocks that were evicted. `ttlMs` undefined: as it is. */
export function setCapacity(live: LiveWorker, blocks: number, ttlMs: number | undefined): number {
  const { core, worker, incarnation } = live;
  const ttl = ttlMs ?? slotFigure(core, worker.slot, SLOT_FIGURE.ttlMs);
  switch (core.setCapacity(worker.slot, incarnation, blocks, ttl, places)) {
    case STATUS.notEmpty:
      throw wrongMode(worker, 'holds blocks without a capacity: clear it before it is given one');
    case STATUS.otherMode:
      throw wrongMode(worker, 'counts references and takes no capacity: remove it and add it again with one');
    case STATUS.pinned: {
      const pinned = slotFigure(core, worker.slot, SLOT_FIGURE.pinnedBlocks);
      throw wrongMode(worker, `has ${pinned} blocks pinned, more than ${blocks}: unpin some before`);
    }
  }
  return places[RESULT.evicted]!;
}

function countReferences({ core, worker, incarnation }: LiveWorker): void {
  switch (core.countReferences(worker.slot, incarnation)) {
    case STATUS.notEmpty:
      throw wrongMode(worker, 'holds blocks without reference counts: clear it before it is given them');
    case STATUS.otherMode:
      throw wrongMode(worker, 'has a capacity and counts no references: remove it and add it again without');
  }
}

function refuseCounted({ core, worker }: LiveWorker): void {
  if (slotFigure(core, worker.slot, SLOT_FIGURE.mode) === SLOT_MODE.counted) {
    throw wrongMode(worker, 'counts references: remove it and add it again without');
  }
}

function wrongMode({ name, dpRank, tier }: WorkerHandle, problem: string): KvidxError {
  return new KvidxError('ERR_KVIDX_CAPACITY', `worker "${name}" (rank ${dpRank}, ${tier}) ${problem}`);
}

/** Misuse: a chain for a bounded worker that does not begin with a first block. */
export function parentOnBounded(what: string, { name }: WorkerHandle, parent: unknown): RangeError {
  const expected =
    `omitted for "${name}": a worker with a capacity takes prompts from their first block on ` +
    '(store the whole prompt, or add the worker without a capacity)';
  return outOfRange(what, expected, parent);
}
