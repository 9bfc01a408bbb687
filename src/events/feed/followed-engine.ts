import { KvidxError } from '../../errors.js';
import { checkBytes, checkInteger, checkOptions, checkTime } from '../../validate.js';
import { decodeEventBatch } from '../decode-batch.js';
import { decodeTensorRtEvents } from '../tensorrt.js';
import type { BadEvent, KvEvent } from '../types.js';
import { AttentionWindows } from './attention-windows.js';
import type { FeedContext } from './context.js';
import { EventReader } from './event-reader.js';
import { FeedStream } from './feed-stream.js';
import { FollowedRank } from './followed-rank.js';
import { OtherBlockSize } from './other-block-size.js';
import type { Plan, Planner } from './plan.js';
import { addTally, emptyTally } from './tally.js';
import type { AppliedEvents, ApplyOptions, FollowedRankStats } from './types.js';

const MAX_DP_RANK = 65_535;

/** What a message said, for who hands messages on. */
export interface AppliedMessage extends AppliedEvents {
  readonly dpRank: number;
  readonly isCleared: boolean;
}

/**
 * One worker whose engine tells what it holds. `EventFeed.follow` makes it. Every method throws ERR_KVIDX_UNKNOWN_WORKER
 * once the worker was removed from the index, the feed no longer follows it, or the index was restored: follow it anew.
 */
export class FollowedEngine {
  readonly name: string;
  readonly #context: FeedContext;
  readonly #reader = new EventReader();
  readonly #ranks = new Map<number, FollowedRank>();
  readonly #streams = new Map<number, FeedStream>();
  readonly #windows = new AttentionWindows();
  #isFollowed = true;

  /** @internal */
  constructor(context: FeedContext, name: string) {
    this.#context = context;
    this.name = name;
  }

  /**
   * Applies one message (the last frame of what engines publish: see `decodeEventBatch` for the forms). Events that are
   * wrong are told in `bad`, and the others are applied. ERR_KVIDX_BAD_EVENT: the payload is no batch, or of a rank beyond
   * `maxRanks`; ERR_KVIDX_BLOCK_SIZE: a store of another block size than the index has; nothing was applied then.
   */
  apply(payload: Uint8Array, options?: ApplyOptions): AppliedEvents {
    return this.applyMessage(payload, readOptions(options));
  }

  /** @internal */
  applyMessage(payload: Uint8Array, { dpRank, nowMs }: Required<ApplyOptions>): AppliedMessage {
    const batch = this.#reader.read(checkBytes(payload, 'payload'));
    if (batch) {
      const rank = batch.dpRank ?? dpRank;
      return this.#carryOut(rank, nowMs, batch.timestampMs, (planner) =>
        planner.planColumns(this.#reader, batch),
      );
    }
    const decoded = decodeEventBatch(payload);
    const { timestampMs, events, unknown, bad } = decoded;
    const applied = this.#applyTyped(decoded.dpRank ?? dpRank, nowMs, timestampMs, events);
    return withUntyped(applied, unknown, bad);
  }

  /** Applies events that were decoded elsewhere. Errors as `apply`. */
  applyEvents(events: readonly KvEvent[], options?: ApplyOptions): AppliedEvents {
    const { dpRank, nowMs } = readOptions(options);
    return this.#applyTyped(dpRank, nowMs, undefined, events);
  }

  /**
   * Applies events of TensorRT-LLM's JSON (see `decodeTensorRtEvents`), those of the largest attention window. Partial
   * blocks are left out, and their removals count as `unknown`. Errors as `apply`; events of one rank before a block of
   * another size are applied.
   */
  applyTensorRt(json: string | object, options?: ApplyOptions): AppliedEvents {
    const { dpRank, nowMs } = readOptions(options);
    const decoded = decodeTensorRtEvents(json);
    let sum: AppliedEvents = { ...emptyTally(), timestampMs: undefined, bad: [] };
    for (const { dpRank: told, windowSize, events } of decoded.events) {
      const rank = told ?? dpRank;
      const window = this.#windows.meet(rank, windowSize);
      if (window === 'larger') this.#rank(rank).clear();
      if (window === 'smaller') sum = { ...sum, otherGroups: sum.otherGroups + events.length };
      else sum = joined(sum, this.#applyTyped(rank, nowMs, undefined, events));
    }
    return withUntyped(sum, decoded.unknown, decoded.bad);
  }

  /** The engine holds nothing any more, in no tier: one rank, or all. Answers the blocks that it held. */
  clear(dpRank?: number): number {
    if (dpRank === undefined) return [...this.#live()].reduce((sum, rank) => sum + rank.clear(), 0);
    return this.#rank(checkRank(dpRank)).clear();
  }

  /** Ranks that events told of, in the order of their first ones. */
  stats(): FollowedRankStats[] {
    return this.#live().map((rank) => rank.stats());
  }

  /** @internal The stream of a rank, which joins the index if it is new. */
  stream(dpRank: number): FeedStream {
    const present = this.#streams.get(dpRank);
    if (present) return present;
    const stream = new FeedStream(this, dpRank, this.#context.onError);
    this.#streams.set(dpRank, stream);
    return stream;
  }

  /** @internal */
  streams(): FeedStream[] {
    return [...this.#streams.values()];
  }

  /** @internal */
  ranks(): FollowedRank[] {
    return [...this.#ranks.values()];
  }

  /** @internal The rank, which joins the index if it is new. */
  rank(dpRank: number): FollowedRank {
    return this.#rank(dpRank);
  }

  /** @internal */
  leave(): void {
    this.#isFollowed = false;
    for (const rank of this.#ranks.values()) rank.leave();
  }

  /** @internal The index was replaced. */
  abandon(): void {
    this.#isFollowed = false;
  }

  #live(): FollowedRank[] {
    this.#check();
    return [...this.#ranks.values()];
  }

  #check(): void {
    if (this.#isFollowed) return;
    throw new KvidxError(
      'ERR_KVIDX_UNKNOWN_WORKER',
      `"${this.name}" is not followed any more: call EventFeed.follow for its present life`,
    );
  }

  #rank(dpRank: number): FollowedRank {
    this.#check();
    const present = this.#ranks.get(dpRank);
    if (present) return present;
    const { maxRanks } = this.#context;
    if (dpRank > MAX_DP_RANK || this.#ranks.size >= maxRanks) {
      throw new KvidxError(
        'ERR_KVIDX_BAD_EVENT',
        `"${this.name}" tells of rank ${dpRank}, and has ${this.#ranks.size} of at most ${maxRanks} ranks (maxRanks), 0 to ${MAX_DP_RANK}`,
      );
    }
    const rank = new FollowedRank(this.#context, this.name, dpRank);
    this.#ranks.set(dpRank, rank);
    return rank;
  }

  #applyTyped(
    dpRank: number,
    nowMs: number,
    timestampMs: number | undefined,
    events: readonly KvEvent[],
  ): AppliedMessage {
    return this.#carryOut(dpRank, nowMs, timestampMs, (planner) => planner.planTyped(events));
  }

  #carryOut(
    dpRank: number,
    nowMs: number,
    timestampMs: number | undefined,
    plan: (planner: Planner) => Plan,
  ): AppliedMessage {
    const rank = this.#rank(dpRank);
    rank.open();
    const tally = emptyTally();
    let planned: Plan;
    try {
      planned = plan(rank.planner(tally));
    } catch (error) {
      if (error instanceof OtherBlockSize) rank.refusedBlockSize = error.blockSize;
      throw error;
    }
    const { events, bad, isCleared } = planned;
    tally.events = events;
    rank.carryOut(planned, tally, nowMs);
    rank.note(tally, bad.length, nowMs, timestampMs);
    return { ...tally, timestampMs, bad, dpRank, isCleared };
  }
}

function readOptions(options: ApplyOptions | undefined): Required<ApplyOptions> {
  const { dpRank = 0, nowMs = Date.now() } = checkOptions(options);
  return { dpRank: checkRank(dpRank), nowMs: checkTime('nowMs', nowMs) };
}

export function checkRank(dpRank: unknown): number {
  return checkInteger('dpRank', dpRank, 0, MAX_DP_RANK);
}

/** With what the decoder left out. */
function withUntyped<T extends AppliedEvents>(applied: T, unknown: number, bad: readonly BadEvent[]): T {
  return {
    ...applied,
    events: applied.events + unknown + bad.length,
    unknownTags: applied.unknownTags + unknown,
    bad: [...applied.bad, ...bad],
  };
}

function joined(sum: AppliedEvents, more: AppliedEvents): AppliedEvents {
  const tally = { ...emptyTally() };
  addTally(tally, sum);
  addTally(tally, more);
  return { ...tally, timestampMs: undefined, bad: [...sum.bad, ...more.bad] };
}
