import { HeldMessages } from './held-messages.js';
import { Knowledge } from './knowledge.js';
import { MessageOrder } from './message-order.js';
import { ReplaySchedule } from './replay-schedule.js';
import type { StreamSettings } from './settings.js';
import { newCounts, type StreamCounts, type StreamState } from './state.js';
import type { DegradedReason, StreamPosition, StreamSink } from './types.js';

/** A replay that is under way. */
interface Replay {
  readonly from: number;
  /** The number awaited when it was asked for. */
  readonly next: number;
  /** The highest number seen then: all up to it had been sent, and what of it does not come is gone. */
  readonly known: number;
  /** Asked for because the one before had holes: what it does not bring either is gone at once. */
  readonly isLast: boolean;
  /** The highest number that came. */
  top: number;
  heardMs: number;
}

const NOTHING = -1;

/**
 * The messages of one rank of a worker, brought into order: gaps are filled from replays, repeats dropped, new beginnings of
 * the engine noticed. It knows neither sockets nor timers: whoever holds it tells it what happens, and when.
 *
 *   live ───► next ────────────────────────► sink.apply ◄─── what was held behind it
 *             above, or unconfirmed: held, until  ▲
 *             a replay has brought those before   └────────── replayed
 *             below: a repeat, or the engine began anew
 *
 * I1  Between two calls of `restarted` the sink sees rising numbers, and while not degraded all from 0 on.
 * I2  While messages are missing a replay is under way, or the last one failed and another will be asked for.
 * I3  A replay is asked for from the last message applied, whose payload tells whether the engine is still the same.
 *
 * Without replays nothing tells a new life whose first message heard has just the number awaited from the life before.
 *
 * Payloads are aliased while they are held. A message in order costs one hash of its payload.
 */
export class EventStream {
  readonly #sink: StreamSink;
  readonly #settings: StreamSettings;
  readonly #requestReplay: ((from: number) => void) | undefined;
  readonly #knowledge: Knowledge;
  readonly #order: MessageOrder;
  readonly #schedule: ReplaySchedule;
  readonly #counts: StreamCounts = newCounts();
  #replay: Replay | undefined;
  /** Nothing is held for replays until one ends well. */
  #isReplayDead = false;
  #isConnected = false;
  #isMissing = false;
  /** Since when messages are missing and no replay has told anything. */
  #waitsSinceMs = 0;
  #lastMessageMs: number | undefined;
  #told: DegradedReason | undefined;

  /**
   * `requestReplay` asks for all messages from a number on; what comes is told by `replayed`, `replayEnded`, `replayFailed`,
   * never before it returns. It supersedes the request before, of which nothing may be told any more. Undefined: the engine
   * replays nothing.
   */
  constructor(
    sink: StreamSink,
    settings: StreamSettings,
    requestReplay: ((from: number) => void) | undefined,
    resume?: StreamPosition,
  ) {
    this.#sink = sink;
    this.#settings = settings;
    this.#requestReplay = requestReplay;
    this.#knowledge = new Knowledge(resume?.degraded);
    const held = new HeldMessages(settings.maxHeldMessages, settings.maxHeldBytes);
    this.#order = new MessageOrder(sink, this.#knowledge, held, resume);
    this.#schedule = new ReplaySchedule(settings.idleProbeMs);
    this.#settle(0);
  }

  get degraded(): DegradedReason | undefined {
    return this.#told;
  }

  /** Would an answer be listened to? */
  get isReplaying(): boolean {
    return this.#replay !== undefined;
  }

  status(): StreamState {
    const { next, heldMessages, heldBytes, dropped } = this.#order;
    return {
      ...this.#counts,
      next,
      degraded: this.#told,
      lastMessageMs: this.#lastMessageMs,
      heldMessages,
      heldBytes,
      dropped,
    };
  }

  /** A message as it was published. One whose number is beyond 2^53 − 1 is refused. */
  live(sequence: number, payload: Uint8Array, nowMs: number): void {
    if (!Number.isSafeInteger(sequence)) {
      this.damaged();
      return;
    }
    this.#lastMessageMs = nowMs;
    this.#isConnected = true;
    this.#counts.messages += 1;
    if (sequence < this.#order.next) this.#below(sequence, payload, nowMs);
    else this.#fromNextOn(sequence, payload, nowMs);
    this.#settle(nowMs);
  }

  /** A message that has no readable number. If it was one of the stream, its number will be missing. */
  damaged(): void {
    this.#counts.damaged += 1;
  }

  /** A message of the replay that was asked for last. */
  replayed(sequence: number, payload: Uint8Array, nowMs: number): void {
    const replay = this.#replay;
    if (replay === undefined) return;
    replay.heardMs = nowMs;
    this.#waitsSinceMs = nowMs;
    if (!Number.isSafeInteger(sequence)) {
      this.damaged();
      return;
    }
    const isFirst = replay.top === NOTHING;
    replay.top = Math.max(replay.top, sequence);
    const order = this.#order;
    // Without the last message applied nothing tells that the engine is the same.
    if (isFirst && sequence >= order.next && order.next > 0) this.#knowledge.lose(true);
    // An engine keeps its newest messages: before the first that it gives there are none.
    if (sequence > order.next && (isFirst || replay.isLast)) order.passOver(sequence);
    if (sequence < order.next) this.#replayedBelow(replay, isFirst, sequence, payload, nowMs);
    else this.#replayedFromNextOn(sequence, payload, nowMs);
    this.#settle(nowMs);
  }

  /** All of the replay that was asked for last has come. */
  replayEnded(nowMs: number): void {
    const replay = this.#replay;
    if (replay === undefined) return;
    this.#replay = undefined;
    this.#isReplayDead = false;
    this.#waitsSinceMs = nowMs;
    this.#schedule.ended(nowMs, this.#order.next > replay.next);
    if (replay.top === NOTHING) this.#replayWasEmpty(replay, nowMs);
    else if (replay.top < replay.next - 1) this.#beginAnew(nowMs);
    else this.#replayWasRead(replay, nowMs);
    this.#settle(nowMs);
  }

  /** The replay that was asked for last will not go on. */
  replayFailed(nowMs: number): void {
    const replay = this.#replay;
    if (replay === undefined) return;
    this.#replay = undefined;
    this.#schedule.failed(nowMs);
    this.#counts.failedReplays += 1;
    // There was more to come.
    if (replay.top !== NOTHING) this.#knowledge.isUnconfirmed = true;
    this.#settle(nowMs);
  }

  /** Time goes by: to be told several times within `replayTimeoutMs` and `idleProbeMs`. */
  tick(nowMs: number): void {
    const { replayTimeoutMs, maxHoldMs } = this.#settings;
    if (this.#replay && nowMs - this.#replay.heardMs >= replayTimeoutMs) this.replayFailed(nowMs);
    if (this.#isMissing && nowMs - this.#waitsSinceMs >= maxHoldMs) this.#giveUpHolding(nowMs);
    if (this.#isConnected && this.#replay === undefined && this.#schedule.isDue(nowMs)) this.#ask(nowMs);
    this.#settle(nowMs);
  }

  /** The connection is lost, or given up: live messages may be, too, and the engine may have begun anew. */
  interrupted(nowMs: number): void {
    this.#isConnected = false;
    this.#knowledge.isUnconfirmed = true;
    this.#settle(nowMs);
  }

  /** The connection is there, for the first time or again. */
  resumed(nowMs: number): void {
    this.#isConnected = true;
    this.#trustReplays();
    this.#ask(nowMs);
    this.#settle(nowMs);
  }

  /** May an answer be hoped for? */
  get #isReplayable(): boolean {
    return this.#requestReplay !== undefined && !this.#isReplayDead;
  }

  // ---------------------------------------------------------------------------------------------------------- live

  #fromNextOn(sequence: number, payload: Uint8Array, nowMs: number): void {
    const order = this.#order;
    // By chance the first number that is heard of a new life may be the one awaited of the old one.
    const isToBeProven = sequence > order.next || (this.#knowledge.isUnconfirmed && order.next > 0);
    if (isToBeProven && this.#isReplayable) {
      this.#wait(sequence, payload, nowMs);
      return;
    }
    if (sequence > order.next) this.#counts.gaps += 1;
    order.passOver(sequence);
    if (sequence === order.next) this.#apply(sequence, payload, nowMs);
    this.#knowledge.isUnconfirmed = false;
  }

  #wait(sequence: number, payload: Uint8Array, nowMs: number): void {
    const order = this.#order;
    const isHeld = order.isHeld(sequence, payload);
    if (isHeld === true) {
      this.#counts.repeats += 1;
      return;
    }
    if (isHeld === false) this.#restart();
    const isFailing = this.#schedule.isFailing && (this.#replay?.top ?? NOTHING) === NOTHING;
    if (isFailing && !order.hasRoomFor(payload)) {
      this.#giveUpHolding(nowMs);
      this.#fromNextOn(sequence, payload, nowMs);
      return;
    }
    if (sequence > order.next && !order.isBehind) this.#counts.gaps += 1;
    order.hold(sequence, payload, nowMs);
    if (this.#replay === undefined && !this.#schedule.isFailing) this.#ask(nowMs);
  }

  /** A number that was passed: the message again, or another one under its number. */
  #below(sequence: number, payload: Uint8Array, nowMs: number): void {
    // Where no replay can decide either it is a new life: as a repeat it might stay one for ever.
    if (this.#order.isOfNewLife(sequence, payload) ?? !this.#isReplayable) {
      this.#restart();
      this.#fromNextOn(sequence, payload, nowMs);
      return;
    }
    this.#counts.repeats += 1;
    if (this.#order.isRecent(sequence)) return;
    // There may be no clock, or one that was set back: the next replay shows whether the last message is still the same.
    this.#knowledge.isUnconfirmed = true;
    this.#schedule.hasten(nowMs);
  }

  // -------------------------------------------------------------------------------------------------------- replay

  #ask(nowMs: number, from = Math.max(this.#order.next - 1, 0), isLast = false): void {
    if (this.#requestReplay === undefined) return;
    const { next, highest } = this.#order;
    this.#replay = { from, next, known: highest, isLast, top: NOTHING, heardMs: nowMs };
    this.#counts.replays += 1;
    this.#requestReplay(from);
  }

  #replayedBelow(
    replay: Replay,
    isFirst: boolean,
    sequence: number,
    payload: Uint8Array,
    nowMs: number,
  ): void {
    if (!this.#order.isOfNewLife(sequence, payload)) return;
    if (replay.from > 0 || !(isFirst || sequence === 0)) {
      this.#beginAnew(nowMs);
      return;
    }
    // All that there is of the new life comes with this very replay.
    this.#restart();
    this.#knowledge.isUnconfirmed = true;
    this.#replay = { ...replay, next: 0, known: NOTHING };
    this.#order.passOver(sequence);
    this.#applyReplayed(sequence, payload, nowMs);
  }

  /** Engines drop messages of a replay that are not taken off fast enough: behind a hole they wait for another one. */
  #replayedFromNextOn(sequence: number, payload: Uint8Array, nowMs: number): void {
    const isHeld = this.#order.isHeld(sequence, payload);
    if (isHeld === false) this.#beginAnew(nowMs);
    else if (sequence === this.#order.next) this.#applyReplayed(sequence, payload, nowMs);
    else if (isHeld === undefined) this.#order.hold(sequence, payload, nowMs);
  }

  #replayWasRead(replay: Replay, nowMs: number): void {
    this.#knowledge.isUnconfirmed = false;
    this.#order.applyHeld();
    const { next, isBehind } = this.#order;
    const isGone = isBehind && replay.known >= next;
    if (isGone && replay.isLast) this.#order.passOver(replay.known + 1);
    if (this.#order.isBehind) this.#ask(nowMs, undefined, isGone && !replay.isLast);
  }

  #replayWasEmpty(replay: Replay, nowMs: number): void {
    const order = this.#order;
    if (replay.from > 0) {
      // The engine does not know the last message that was heard: what does it know?
      this.#ask(nowMs, 0);
    } else if (order.isBehind && replay.known >= order.next) {
      // It has sent messages, and replays none of them.
      if (order.next > 0) this.#knowledge.lose(true);
      this.#knowledge.isUnconfirmed = false;
      order.passOver(replay.known + 1);
      if (order.isBehind) this.#ask(nowMs);
    } else if (order.isBehind) {
      this.#ask(nowMs);
    } else if (order.next === replay.next) {
      this.#knowledge.isUnconfirmed = order.next > 0;
    }
  }

  // --------------------------------------------------------------------------------------------------------- order

  #apply(sequence: number, payload: Uint8Array, nowMs: number, isReplayed = false): void {
    this.#lastMessageMs = nowMs;
    this.#schedule.news(nowMs);
    this.#order.apply(sequence, payload, nowMs, isReplayed);
  }

  #applyReplayed(sequence: number, payload: Uint8Array, nowMs: number): void {
    this.#counts.replayedMessages += 1;
    this.#apply(sequence, payload, nowMs, true);
  }

  /** One dead replay endpoint must not freeze what is known of the engine. */
  #giveUpHolding(nowMs: number): void {
    this.replayFailed(nowMs);
    this.#isReplayDead = true;
    this.#order.passOver(this.#order.highest + 1);
  }

  /** A replay tells of another life than the one that is known. */
  #beginAnew(nowMs: number): void {
    this.#restart();
    this.#knowledge.isUnconfirmed = true;
    this.#ask(nowMs);
  }

  /** Answers of the engine's former life are not listened to. */
  #restart(): void {
    this.#counts.restarts += 1;
    this.#replay = undefined;
    this.#trustReplays();
    this.#isMissing = false;
    this.#order.restart();
  }

  /** Former failures say nothing of another connection or life. */
  #trustReplays(): void {
    this.#isReplayDead = false;
    this.#schedule.forgive();
  }

  #settle(nowMs: number): void {
    const { isBehind } = this.#order;
    if (isBehind && !this.#isMissing) this.#waitsSinceMs = nowMs;
    this.#isMissing = isBehind;
    const reason = this.#knowledge.reason(isBehind, this.#schedule.isFailing);
    if (reason === this.#told) return;
    this.#told = reason;
    this.#sink.degraded(reason);
  }
}
