import { hasKvidxCode, KvidxError } from '../../errors.js';
import { MAX_DP_RANK } from '../../kv-index/workers.js';
import { checkBytes, checkInteger, checkOptions, checkTime } from '../../validate.js';
import { decodeEventBatch } from '../decode-batch.js';
import { decodeTensorRtEvents } from '../tensorrt.js';
import type { KvEvent, TensorRtEvent } from '../types.js';
import type { FeedContext } from './context.js';
import { EventReader } from './event-reader.js';
import { FeedStream } from './feed-stream.js';
import { FollowedRank } from './followed-rank.js';
import { OtherBlockSize } from './other-block-size.js';
import { Tally } from './tally.js';
import type { AppliedEvents, ApplyOptions, FollowedRankStats } from './types.js';

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
  #isFollowed = true;

  /** @internal */
  constructor(context: FeedContext, name: string) {
    this.#context = context;
    this.name = name;
  }

  /**
   * Applies one message (the last frame of what engines publish: see `decodeEventBatch` for the forms). Events that are
   * wrong are told in `bad`, and the others are applied. ERR_KVIDX_BAD_EVENT: the payload is no batch, or of a rank beyond
   * `maxRanks`; nothing was applied then. ERR_KVIDX_BLOCK_SIZE: it stores blocks of another size than the index has; all else
   * was applied, and the error has what `apply` would have answered as `applied`.
   */
  apply(payload: Uint8Array, options?: ApplyOptions): AppliedEvents {
    const { dpRank, nowMs } = readOptions(options);
    return this.#unlessRefused(this.applyMessage(payload, dpRank, nowMs, false));
  }

  /** @internal `isReplayed`: how late it is says nothing. */
  applyMessage(payload: Uint8Array, dpRank: number, nowMs: number, isReplayed: boolean): Tally {
    const reader = this.#reader;
    if (reader.read(checkBytes(payload, 'payload'))) {
      const message = new Tally(reader.dpRank ?? dpRank, reader.timestampMs);
      message.isReplayed = isReplayed;
      const rank = this.#rank(message.dpRank);
      rank.check();
      rank.carryOut(message, rank.planner.planRead(message, reader), reader.memory, nowMs);
      reader.release();
      return message;
    }
    const decoded = decodeEventBatch(payload);
    const { timestampMs, events, unknown, bad } = decoded;
    const message = new Tally(decoded.dpRank ?? dpRank, timestampMs);
    message.isReplayed = isReplayed;
    this.#applyTyped(message, nowMs, events);
    message.addUntyped(unknown, bad);
    return message;
  }

  /** Applies events that were decoded elsewhere. Errors as `apply`. */
  applyEvents(events: readonly KvEvent[], options?: ApplyOptions): AppliedEvents {
    const { dpRank, nowMs } = readOptions(options);
    const message = new Tally(dpRank, undefined);
    this.#applyTyped(message, nowMs, events);
    return this.#unlessRefused(message);
  }

  /**
   * Applies events of TensorRT-LLM's JSON (see `decodeTensorRtEvents`), those of the largest attention window. Partial
   * blocks are left out, and their removals count as `unknown`. Ids that jump mark the rank degraded, lower ones are a new
   * life of the engine, an id told twice is left out. Of an event that could be decoded but not applied, `bad` has the event
   * id. Errors as `apply`.
   */
  applyTensorRt(json: string | object, options?: ApplyOptions): AppliedEvents {
    const { dpRank, nowMs } = readOptions(options);
    const decoded = decodeTensorRtEvents(json);
    const sum = new Tally(dpRank, undefined);
    for (const event of decoded.events) this.#applyTensorRtEvent(event, dpRank, nowMs, sum);
    sum.addUntyped(decoded.unknown, decoded.bad);
    return this.#unlessRefused(sum);
  }

  #applyTensorRtEvent(event: TensorRtEvent, dpRank: number, nowMs: number, sum: Tally): void {
    const { eventId, windowSize, events } = event;
    const rank = this.#rank(event.dpRank ?? dpRank);
    const order = rank.tensorRt.meetId(eventId);
    if (order === 'repeat') return;
    if (order === 'late') rank.marks.set('tensorrt', 'late-start');
    if (order === 'gap') rank.marks.set('tensorrt', 'replay-too-short');
    if (order === 'restart') {
      sum.cleared += rank.clear();
      rank.tensorRt.forgetWindow();
      rank.marks.set('tensorrt', eventId === 0 ? undefined : 'late-start');
    }
    const window = rank.tensorRt.meetWindow(windowSize);
    if (window === 'larger') sum.cleared += rank.clear();
    if (window === 'smaller') {
      sum.otherGroups += events.length;
      return;
    }
    const message = new Tally(rank.dpRank, undefined);
    this.#applyTyped(message, nowMs, events);
    sum.add(message);
    sum.addBad(message.bad.map(({ problem }) => ({ index: eventId, problem })));
  }

  /** The engine holds nothing any more, in no tier: one rank, or all. Answers the blocks that it held. */
  clear(dpRank?: number): number {
    const ranks = dpRank === undefined ? this.#live() : [this.#rank(checkRank(dpRank))];
    let cleared = 0;
    for (const rank of ranks) {
      cleared += rank.clear();
      rank.tensorRt.forgetWindow();
      rank.marks.set('tensorrt', undefined);
    }
    return cleared;
  }

  /** @internal Can it be fed? */
  isAlive(): boolean {
    if (!this.#isFollowed) return false;
    try {
      for (const rank of this.#ranks.values()) rank.check();
      return true;
    } catch (error) {
      if (hasKvidxCode(error) && error.code === 'ERR_KVIDX_UNKNOWN_WORKER') return false;
      throw error;
    }
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

  /** @internal The rank, which joins the index if it is new; `isRestored`: without tiers yet. */
  rank(dpRank: number, isRestored = false): FollowedRank {
    return this.#rank(dpRank, isRestored);
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

  #rank(dpRank: number, isRestored = false): FollowedRank {
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
    const rank = new FollowedRank(this.#context, this.name, dpRank, isRestored);
    this.#ranks.set(dpRank, rank);
    return rank;
  }

  #applyTyped(message: Tally, nowMs: number, events: readonly KvEvent[]): void {
    const rank = this.#rank(message.dpRank);
    rank.check();
    rank.carryOut(message, rank.planner.planTyped(message, events), undefined, nowMs);
  }

  #unlessRefused(message: Tally): AppliedEvents {
    const refusal = this.refusalOf(message);
    if (refusal) throw refusal;
    return message;
  }

  /** @internal Why stores of the message were left out. */
  refusalOf(message: Tally): OtherBlockSize | undefined {
    const { otherBlockSize } = message;
    return otherBlockSize === undefined
      ? undefined
      : new OtherBlockSize(otherBlockSize, this.#context.blockSize, message);
  }
}

function readOptions(options: ApplyOptions | undefined): Required<ApplyOptions> {
  const { dpRank = 0, nowMs = Date.now() } = checkOptions(options);
  return { dpRank: checkRank(dpRank), nowMs: checkTime('nowMs', nowMs) };
}

export function checkRank(dpRank: unknown): number {
  return checkInteger('dpRank', dpRank, 0, MAX_DP_RANK);
}
