import { KvidxError } from '../../errors.js';
import { checkBytes, checkInteger, checkOptions, checkTime } from '../../validate.js';
import { decodeEventBatch } from '../decode-batch.js';
import { decodeTensorRtEvents } from '../tensorrt.js';
import type { KvEvent } from '../types.js';
import { AttentionWindows } from './attention-windows.js';
import type { FeedContext } from './context.js';
import { EventReader } from './event-reader.js';
import { FeedStream } from './feed-stream.js';
import { FollowedRank } from './followed-rank.js';
import { OtherBlockSize } from './other-block-size.js';
import type { TypedSteps } from './plan.js';
import { Tally } from './tally.js';
import type { AppliedEvents, ApplyOptions, FollowedRankStats } from './types.js';

const MAX_DP_RANK = 65_535;

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
  applyMessage(payload: Uint8Array, { dpRank, nowMs }: Required<ApplyOptions>): Tally {
    const reader = this.#reader;
    if (reader.read(checkBytes(payload, 'payload'))) {
      const message = new Tally(reader.dpRank ?? dpRank, reader.timestampMs);
      const rank = this.#rank(message.dpRank);
      rank.carryOut(message, this.#plan(rank, message, undefined), reader.memory, nowMs);
      return message;
    }
    const decoded = decodeEventBatch(payload);
    const { timestampMs, events, unknown, bad } = decoded;
    const message = this.#applyTyped(decoded.dpRank ?? dpRank, nowMs, timestampMs, events);
    message.addUntyped(unknown, bad);
    return message;
  }

  /** Applies events that were decoded elsewhere. Errors as `apply`. */
  applyEvents(events: readonly KvEvent[], options?: ApplyOptions): AppliedEvents {
    const { dpRank, nowMs } = readOptions(options);
    return this.#applyTyped(dpRank, nowMs, undefined, events);
  }

  /**
   * Applies events of TensorRT-LLM's JSON (see `decodeTensorRtEvents`), those of the largest attention window. Partial
   * blocks are left out, and their removals count as `unknown`. Of an event that could be decoded but not applied, `bad` has
   * the event id. Errors as `apply`; events before a block of another size are applied.
   */
  applyTensorRt(json: string | object, options?: ApplyOptions): AppliedEvents {
    const { dpRank, nowMs } = readOptions(options);
    const decoded = decodeTensorRtEvents(json);
    const sum = new Tally(dpRank, undefined);
    for (const { eventId, dpRank: told, windowSize, events } of decoded.events) {
      const rank = told ?? dpRank;
      const window = this.#windows.meet(rank, windowSize);
      if (window === 'larger') this.#rank(rank).clear();
      if (window === 'smaller') sum.otherGroups += events.length;
      else {
        const message = this.#applyTyped(rank, nowMs, undefined, events);
        sum.add(message);
        sum.addBad(message.bad.map(({ problem }) => ({ index: eventId, problem })));
      }
    }
    sum.addUntyped(decoded.unknown, decoded.bad);
    return sum;
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
  ): Tally {
    const message = new Tally(dpRank, timestampMs);
    const rank = this.#rank(dpRank);
    rank.carryOut(message, this.#plan(rank, message, events), undefined, nowMs);
    return message;
  }

  /** `events` undefined: those that the reader has. */
  #plan(rank: FollowedRank, message: Tally, events: readonly KvEvent[] | undefined): TypedSteps {
    rank.check();
    try {
      return events ? rank.planner.planTyped(message, events) : rank.planner.planRead(message, this.#reader);
    } catch (error) {
      if (error instanceof OtherBlockSize) rank.refusedBlockSize = error.blockSize;
      throw error;
    }
  }
}

function readOptions(options: ApplyOptions | undefined): Required<ApplyOptions> {
  const { dpRank = 0, nowMs = Date.now() } = checkOptions(options);
  return { dpRank: checkRank(dpRank), nowMs: checkTime('nowMs', nowMs) };
}

export function checkRank(dpRank: unknown): number {
  return checkInteger('dpRank', dpRank, 0, MAX_DP_RANK);
}
