import type { EngineFeed } from '../../kv-index/engine-feeds.js';
import { openIndex } from '../../kv-index/kv-index.js';
import { TIERS, type Tier, type WorkerHandle } from '../../kv-index/workers.js';
import { type EventMemory, PLACE } from '../../native/event-memory.js';
import { type CoreEngineNames, type FlatExtraKeys, STATUS, TIER_COUNT } from '../../native/seam.js';
import { counted } from '../../text.js';
import type { DegradedReason } from '../stream/types.js';
import { AttentionGroups } from './attention-groups.js';
import type { FeedContext } from './context.js';
import { DegradedMarks } from './degraded-marks.js';
import { Planner, type TypedSteps } from './plan.js';
import { Tally } from './tally.js';
import { TensorRtState } from './tensorrt-state.js';
import { clearStep } from './typed-step.js';
import type { FollowedRankStats } from './types.js';

/** How many media without a tier are remembered, for people to see. */
const REFUSED_MEDIUMS = 8;
const MEDIUM_LENGTH = 32;

/** One rank of a worker in the index: a slot for each tier, and what the engine calls its blocks. */
export class FollowedRank implements EngineFeed {
  readonly worker: string;
  readonly dpRank: number;
  readonly groups = new AttentionGroups();
  readonly planner: Planner;
  readonly names: CoreEngineNames;
  lastEventMs: number | undefined;
  readonly marks = new DegradedMarks();
  readonly tensorRt = new TensorRtState();
  refusedBlockSize: number | undefined;
  readonly #context: FeedContext;
  readonly #handles: WorkerHandle[] = [];
  readonly #slots = new Uint32Array(2 * TIER_COUNT);
  /** A bit for each tier that has a slot. */
  #tiers = 0;
  readonly #refusedMediums = new Set<string>();
  readonly #sums: Tally;
  #lagMs: number | undefined;
  /** Of the index, when all handles were alive. */
  #membership = -1;
  #messages = 0;
  #badEvents = 0;

  /**
   * ERR_KVIDX_CAPACITY: the index has the worker with blocks that are not counted, or with a capacity. `isRestored`: its
   * tiers come with `restoreTiers`.
   */
  constructor(context: FeedContext, worker: string, dpRank: number, isRestored = false) {
    this.#context = context;
    this.worker = worker;
    this.dpRank = dpRank;
    this.#sums = new Tally(dpRank, undefined);
    const { blockSize, tiers, namespaces, loraNames } = context;
    this.planner = new Planner({
      blockSize,
      groups: this.groups,
      tiers,
      rootOf: (lora, salt) => namespaces.root(lora, salt),
      loraNames,
      refuseMedium: (medium) => this.#refuse(medium),
    });
    this.names = openIndex(context.index).core.createEngineNames(context.countsCopies);
    if (isRestored) return;
    this.#addTier(TIERS.indexOf('gpu'));
    for (const handle of context.index.workers()) {
      if (handle.name === worker && handle.dpRank === dpRank) this.#addTier(TIERS.indexOf(handle.tier));
    }
  }

  get degraded(): DegradedReason | undefined {
    return this.marks.worst;
  }

  get leftOut(): string | undefined {
    const { otherGroups } = this.#sums;
    const parts: string[] = [];
    if (this.#refusedMediums.size > 0)
      parts.push(`media without a tier: ${[...this.#refusedMediums].join(', ')}`);
    if (otherGroups > 0)
      parts.push(`${counted(otherGroups, 'event')} of other layers than the main attention`);
    return parts.length === 0 ? undefined : parts.join('; ');
  }

  /** ERR_KVIDX_CLOSED, ERR_KVIDX_UNKNOWN_WORKER: the worker was removed from the index, or the index restored. */
  check(): void {
    const { membership } = this.#context.index;
    if (membership === this.#membership) return;
    const open = openIndex(this.#context.index);
    for (const handle of this.#handles) open.incarnationOf(handle);
    this.#membership = membership;
  }

  /** Applies what was planned, of a rank that `check` has found alive; `memory` undefined: all events are typed. */
  carryOut(message: Tally, steps: TypedSteps, memory: EventMemory | undefined, nowMs: number): void {
    const { tiers } = this.planner;
    if ((tiers & ~this.#tiers) !== 0) this.#addTiers(tiers);
    const { plain } = this.#context.namespaces;
    let first = 0;
    if (steps.size > 0) {
      for (const [index, step] of steps) {
        if (memory && first < index) this.#apply(memory, first, index, plain, undefined, message, nowMs);
        if (step) this.#apply(step.memory, 0, 1, step.root, step.extra, message, nowMs);
        first = index + 1;
      }
    }
    const { events } = message;
    if (memory && first < events) this.#apply(memory, first, events, plain, undefined, message, nowMs);
    this.#note(message, nowMs);
    if (message.otherBlockSize !== undefined) this.refusedBlockSize = message.otherBlockSize;
    else if (message.stored + message.duplicate > 0) this.refusedBlockSize = undefined;
  }

  /** The engine begins anew. Answers the blocks that were there. */
  clear(): number {
    this.check();
    const tally = new Tally(this.dpRank, undefined);
    const { memory, root } = clearStep();
    this.#apply(memory, 0, 1, root, undefined, tally, 0);
    this.refusedBlockSize = undefined;
    this.groups.forget();
    return tally.cleared;
  }

  #note(message: Tally, nowMs: number): void {
    this.#sums.add(message);
    this.#messages++;
    this.#badEvents += message.bad.length;
    this.lastEventMs = nowMs;
    if (message.timestampMs !== undefined && !message.isReplayed) this.#lagMs = nowMs - message.timestampMs;
  }

  stats(): FollowedRankStats {
    const { index } = this.#context;
    const {
      timestampMs: _time,
      bad: _bad,
      isCleared: _isCleared,
      isReplayed: _isReplayed,
      otherBlockSize: _size,
      ...counts
    } = this.#sums;
    this.check();
    const residentBlocks: Partial<Record<Tier, number>> = {};
    for (const handle of this.#handles) residentBlocks[handle.tier] = index.residentBlocks(handle);
    return {
      worker: this.worker,
      residentBlocks,
      messages: this.#messages,
      badEvents: this.#badEvents,
      ...counts,
      names: this.names.size(),
      usedBytes: this.names.usedBytes(),
      lastEventMs: this.lastEventMs,
      lagMs: this.#lagMs,
      degraded: this.degraded,
      refusedBlockSize: this.refusedBlockSize,
      refusedMediums: [...this.#refusedMediums],
    };
  }

  /** Its workers leave the index, but those that somebody removed before. */
  leave(): void {
    const { index } = this.#context;
    const live = new Set(index.workers());
    for (const handle of this.#handles) if (live.has(handle)) index.removeWorker(handle);
  }

  /** A tier that a saved rank had. */
  restoreTiers(tiers: readonly Tier[]): void {
    for (const tier of tiers) this.#addTier(TIERS.indexOf(tier), true);
  }

  get tiers(): Tier[] {
    return this.#handles.map(({ tier }) => tier);
  }

  #apply(
    memory: EventMemory,
    first: number,
    end: number,
    root: bigint,
    extra: FlatExtraKeys | undefined,
    tally: Tally,
    nowMs: number,
  ): void {
    memory.integers[PLACE.first] = first;
    memory.integers[PLACE.end] = end;
    memory.integers[PLACE.blockSize] = this.#context.blockSize;
    memory.root = root;
    memory.nowMs = nowMs;
    for (let i = 0; i < this.#slots.length; i++) memory.slots[i] = this.#slots[i]!;
    if (this.names.apply(memory.bytes, extra) !== STATUS.ok) {
      this.#membership = -1;
      this.check(); // throws: nothing else can be wrong with a slot
    }
    tally.addApplied(memory.applied);
  }

  #addTiers(tiers: number): void {
    for (let tier = 0; tier < TIER_COUNT; tier++) if (tiers & (1 << tier)) this.#addTier(tier);
  }

  /** Blocks that were there before have no names here, and no event would ever take them away: unless `keeps`, they go. */
  #addTier(place: number, keeps = false): void {
    if (this.#tiers & (1 << place)) return;
    const { index } = this.#context;
    const handle = index.addWorker(this.worker, {
      dpRank: this.dpRank,
      tier: TIERS[place]!,
      referenceCounts: true, // two hashes of an engine may mean one block here
    });
    if (!keeps) index.clear(handle);
    const open = openIndex(index);
    open.feeds.set(handle, this);
    this.#handles.push(handle);
    this.#tiers |= 1 << place;
    this.#slots[2 * place] = handle.slot;
    this.#slots[2 * place + 1] = open.incarnationOf(handle);
  }

  #refuse(medium: string): void {
    if (this.#refusedMediums.size < REFUSED_MEDIUMS) this.#refusedMediums.add(medium.slice(0, MEDIUM_LENGTH));
  }
}
