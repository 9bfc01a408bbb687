import { invalidArgType, KvidxError, outOfRange } from '../errors.js';
import type { CoreIndex } from '../native/seam.js';
import { checkInteger, checkName } from '../validate.js';
import { checkModeOptions, type ModeOptions } from './worker-modes.js';

/** Where a worker keeps blocks. A closed list: a tier of another name is refused, never taken for `gpu`. */
export const TIERS = ['gpu', 'cpu', 'disk', 'external'] as const;
export type Tier = (typeof TIERS)[number];

export const MAX_DP_RANK = 65_535;

export interface WorkerOptions {
  /** Data-parallel rank within the worker: 0 … 65,535. Default 0. */
  readonly dpRank?: number;
  /** Default `gpu`. */
  readonly tier?: Tier;
  /**
   * For a worker whose engine reports nothing: the worker is an LRU estimate of this many blocks, 1 … 2^32 − 1. It takes
   * prompts from their first block on, and what was named longest ago goes first, a prompt's tail before its head.
   */
  readonly capacity?: number | undefined;
  /** With `capacity`: `expire` removes blocks that were not named for so long, in ms. Default 0: none. */
  readonly ttlMs?: number | undefined;
  /**
   * For an engine that may hold two copies of one block: count them. A block stored twice takes two removes to go. Not
   * with `capacity`. Default false.
   */
  readonly referenceCounts?: boolean | undefined;
}

/**
 * One life of one (name, dpRank, tier) in one index. Every call that feeds or asks about a worker takes it; it is
 * stale once the worker was removed or the index restored. Only `KvIndex.addWorker` makes handles.
 */
export class WorkerHandle {
  readonly name: string;
  readonly dpRank: number;
  readonly tier: Tier;
  /** The worker's place in every output that is indexed by slot; free for others after removal. */
  readonly slot: number;

  /** @internal */
  constructor(name: string, dpRank: number, tier: Tier, slot: number) {
    this.name = name;
    this.dpRank = dpRank;
    this.tier = tier;
    this.slot = slot;
    Object.freeze(this);
  }
}

/** A live worker of an open index, as the core knows it. */
export interface LiveWorker {
  readonly core: CoreIndex;
  readonly worker: WorkerHandle;
  readonly incarnation: number;
}

/** Live workers by name and by slot; `incarnation` is what the core knows a life of a slot by. */
export class WorkerTable {
  readonly #byKey = new Map<string, WorkerHandle>();
  readonly #byName = new Map<string, Set<WorkerHandle>>();
  readonly #bySlot: ({ handle: WorkerHandle; incarnation: number } | undefined)[] = [];

  find(name: string, dpRank: number, tier: Tier): WorkerHandle | undefined {
    return this.#byKey.get(keyOf(name, dpRank, tier));
  }

  add(handle: WorkerHandle, incarnation: number): void {
    this.#byKey.set(keyOf(handle.name, handle.dpRank, handle.tier), handle);
    this.#bySlot[handle.slot] = { handle, incarnation };
    const namesakes = this.#byName.get(handle.name);
    if (namesakes) namesakes.add(handle);
    else this.#byName.set(handle.name, new Set([handle]));
  }

  delete(handle: WorkerHandle): void {
    this.#byKey.delete(keyOf(handle.name, handle.dpRank, handle.tier));
    this.#bySlot[handle.slot] = undefined;
    const namesakes = this.#byName.get(handle.name)!;
    namesakes.delete(handle);
    if (namesakes.size === 0) this.#byName.delete(handle.name);
  }

  /** The incarnation of a live handle; ERR_KVIDX_UNKNOWN_WORKER for one of a former life or of another index. */
  incarnationOf(handle: unknown): number {
    if (!(handle instanceof WorkerHandle)) {
      throw invalidArgType('worker', 'a handle that addWorker gave', handle);
    }
    const entry = this.#bySlot[handle.slot];
    if (entry?.handle !== handle)
      throw unknownWorker(`the handle of "${handle.name}" (slot ${handle.slot}) is stale`);
    return entry.incarnation;
  }

  /** The worker of a live handle, or all ranks and tiers of a name; ERR_KVIDX_UNKNOWN_WORKER where there is none. */
  resolve(worker: unknown): WorkerHandle[] {
    if (typeof worker === 'string') {
      const handles = this.#byName.get(worker);
      if (!handles) throw unknownWorker(`no worker is named ${JSON.stringify(worker)}`);
      return [...handles];
    }
    this.incarnationOf(worker);
    return [worker as WorkerHandle];
  }

  /** By slot, ascending. */
  handles(): WorkerHandle[] {
    return this.#bySlot.flatMap((entry) => (entry ? [entry.handle] : []));
  }
}

function unknownWorker(what: string): KvidxError {
  return new KvidxError(
    'ERR_KVIDX_UNKNOWN_WORKER',
    `${what}: call addWorker for a handle of its present life`,
  );
}

export interface CheckedWorkerOptions {
  readonly dpRank: number;
  readonly tier: Tier;
  readonly mode: ModeOptions;
}

export function checkWorkerOptions(options: WorkerOptions): CheckedWorkerOptions {
  const { dpRank = 0, tier = 'gpu', capacity, ttlMs, referenceCounts } = options;
  checkInteger('dpRank', dpRank, 0, MAX_DP_RANK);
  if (typeof tier !== 'string') throw invalidArgType('tier', 'a string', tier);
  if (!TIERS.includes(tier)) throw outOfRange('tier', `one of ${TIERS.join(', ')}`, tier);
  return { dpRank, tier, mode: checkModeOptions({ capacity, ttlMs, referenceCounts }) };
}

export const checkWorkerName = (name: unknown): string => checkName('worker name', name);

/** The name stands last, so that no name can imitate another key. */
function keyOf(name: string, dpRank: number, tier: Tier): string {
  return `${tier} ${dpRank} ${name}`;
}
