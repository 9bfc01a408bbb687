import { expect } from 'vitest';
import { EventStream } from '../../../src/events/stream/event-stream.js';
import { checkStreamOptions } from '../../../src/events/stream/settings.js';
import type { DegradedReason, StreamEffect, StreamMessage } from '../../../src/events/stream/types.js';
import type { Random } from '../../property/random.js';
import { payloadOf } from './support.js';

interface Message {
  readonly life: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
  /** It says that the engine holds nothing. */
  readonly isClear: boolean;
}

/** What a round allows. */
export interface Weather {
  readonly isReplaying: boolean;
  /** Messages that the engine's replay reaches back. */
  readonly buffered: number;
  readonly liveLoss: number;
  readonly replayLoss: number;
  readonly repeats: number;
  /** Replays may go without answers. */
  readonly isReplayFailing: boolean;
  /** Connections are seen to be lost. */
  readonly isLossSeen: boolean;
  /** Batches of one number look alike in all lives: only replays tell of a new one. */
  readonly isAlike: boolean;
  readonly maxHeldMessages: number;
}

/** An engine, what lies between, and a stream; the truth is the engine's own list of messages. */
export class World {
  readonly #random: Random;
  readonly #weather: Weather;
  readonly #stream: EventStream;
  #nowMs = 1000;
  #life = 0;
  #clock = 0;
  #sent: Message[] = [];
  /** Published and on the way. */
  #wire: Message[] = [];
  #delivered: Message | undefined;
  #isConnected = false;
  #asked: number | undefined;
  #answers: (Message | 'end')[] = [];
  #isReplayDead = false;
  #isCalm = false;
  /** What the sink holds: all since the engine began anew or cleared its cache. */
  #held: Uint8Array[] = [];
  #last = -1;
  #degraded: DegradedReason | undefined;
  /** Something in this life may be lost for good: no longer buffered, or not answered in time. */
  #isExcused = false;
  #failedBefore = 0;

  constructor(random: Random, weather: Weather) {
    this.#random = random;
    this.#weather = weather;
    const { isReplaying, maxHeldMessages } = weather;
    const sink = {
      apply: (message: StreamMessage) => this.#apply(message),
      restarted: () => {
        this.#held = [];
        this.#last = -1;
      },
      degraded: (reason: DegradedReason | undefined) => {
        expect(reason, 'told without a change').not.toBe(this.#degraded);
        this.#degraded = reason;
      },
    };
    const ask = (from: number) => {
      this.#asked = from;
      this.#answers = [];
    };
    this.#stream = new EventStream(
      sink,
      checkStreamOptions({ maxHeldMessages }),
      isReplaying ? ask : undefined,
    );
    this.#begin();
    if (random.below(2) === 0) this.#publish(random.below(30));
    this.#connect();
  }

  step(): void {
    const random = this.#random;
    const action = random.below(40);
    if (action < 12) this.#publish(1 + random.below(random.oneOf([3, 30])));
    else if (action < 20) this.#deliver(1 + random.below(20));
    else if (action < 26) this.#answer(1 + random.below(30));
    else if (action < 34) this.#pass(1 + random.below(random.oneOf([50, 3000])));
    else if (action === 34 && random.below(3) === 0) this.#publish(1100);
    else if (action === 35) this.#restart();
    else if (action === 36) this.#disconnect();
    else if (action === 37) this.#isReplayDead = this.#weather.isReplayFailing && !this.#isReplayDead;
    else if (action > 37) this.#connect();
  }

  /** All comes through from now on, and time enough goes by. */
  calm(): void {
    this.#isReplayDead = false;
    this.#connect();
    this.#isCalm = true;
    this.#deliver(Infinity);
    // Without replays only another message tells of those that were lost.
    if (!this.#weather.isReplaying) this.#publish(1);
    for (let i = 0; i < 700; i++) {
      this.#deliver(Infinity);
      this.#answer(Infinity);
      this.#pass(100);
    }
    this.#isCalm = false;
    this.#check();
  }

  #check(): void {
    const { isReplaying } = this.#weather;
    expect(this.#stream.degraded).toBe(this.#degraded);
    if (this.#degraded === undefined) {
      const begin = this.#sent.findLastIndex(({ isClear }) => isClear);
      const truth = this.#sent.slice(Math.max(begin, 0)).map(({ payload }) => payload);
      expect(Buffer.concat(this.#held).toString('hex')).toBe(Buffer.concat(truth).toString('hex'));
    } else if (isReplaying && this.#sent.length > 0) {
      // An engine that has said nothing yet tells nobody that it began anew.
      expect(['late-start', 'replay-too-short'], 'degraded for ever').toContain(this.#degraded);
      const isExcused = this.#isExcused || this.#stream.status().failedReplays > this.#failedBefore;
      expect(isExcused, `${this.#degraded} without a reason`).toBe(true);
    }
  }

  #apply({ sequence, payload }: StreamMessage): StreamEffect {
    expect(sequence, 'out of order').toBeGreaterThan(this.#last);
    this.#last = sequence;
    const isClear = payload[15]! % 64 === 63;
    if (isClear) this.#held = [];
    this.#held.push(payload);
    return { isDamaged: false, isCleared: isClear };
  }

  #publish(count: number): void {
    const { buffered, liveLoss, isAlike } = this.#weather;
    for (let i = 0; i < count; i++) {
      const sequence = this.#sent.length;
      this.#clock += 1;
      // The last byte decides whether it clears: all lives clear at the same numbers when they are alike.
      const payload = isAlike
        ? payloadOf(1, sequence)
        : payloadOf(this.#clock, this.#life * 2 ** 20 + sequence);
      const message = { life: this.#life, sequence, payload, isClear: payload[15]! % 64 === 63 };
      this.#sent.push(message);
      if (this.#sent.length > buffered) this.#isExcused = true;
      if (this.#isConnected && (this.#isCalm || this.#random.uniform() >= liveLoss)) this.#wire.push(message);
    }
  }

  #deliver(count: number): void {
    for (let i = 0; i < count && this.#wire.length > 0; i++) {
      const message = this.#wire.shift()!;
      if (this.#isUntellable(message)) continue;
      this.#delivered = message;
      this.#stream.live(message.sequence, message.payload, this.#nowMs);
      if (this.#random.uniform() < this.#weather.repeats) {
        this.#stream.live(message.sequence, message.payload, this.#nowMs);
      }
    }
  }

  /** A message of another life that goes on exactly where the last one ended, and nobody to tell: no follower can know. */
  #isUntellable({ life, sequence }: Message): boolean {
    const { isReplaying, isReplayFailing, replayLoss, isLossSeen, isAlike } = this.#weather;
    if (isReplaying && !isReplayFailing && replayLoss === 0 && isLossSeen) return false;
    if (isAlike || this.#stream.status().next !== sequence || sequence === 0) return false;
    return this.#knownLife !== life;
  }

  /** Of the last message that the sink holds. */
  get #knownLife(): number {
    const last = this.#held.at(-1);
    if (last === undefined) return this.#life;
    return Math.floor(new DataView(last.buffer, last.byteOffset).getUint32(12) / 2 ** 20);
  }

  #answer(count: number): void {
    if (this.#asked !== undefined) {
      if (this.#isReplayDead) {
        if (this.#random.below(3) > 0) return;
        this.#asked = undefined;
        this.#stream.replayFailed(this.#nowMs);
        return;
      }
      const { buffered } = this.#weather;
      const from = Math.max(this.#asked, this.#sent.length - buffered);
      this.#answers = [...this.#sent.slice(from), 'end'];
      this.#asked = undefined;
    }
    for (let i = 0; i < count && this.#answers.length > 0; i++) {
      const answer = this.#answers.shift()!;
      if (!this.#isCalm && this.#random.uniform() < this.#weather.replayLoss) {
        this.#isExcused = true;
        continue;
      }
      if (answer === 'end') this.#stream.replayEnded(this.#nowMs);
      else this.#stream.replayed(answer.sequence, answer.payload, this.#nowMs);
    }
  }

  /** What a dead engine still had on the way comes, or does not. */
  #restart(): void {
    this.#disconnect();
    this.#begin();
    if (this.#random.below(2) === 0) this.#publish(1 + this.#random.below(20));
    if (this.#random.below(3) > 0) this.#connect();
  }

  #begin(): void {
    this.#life += 1;
    this.#clock = this.#random.below(10_000);
    this.#sent = [];
    // A life that looks like the one before may go unnoticed, and what was lost between them is gone.
    this.#isExcused = this.#weather.isAlike;
    // Where lost connections are not seen, replays that failed before are not forgiven at once.
    if (this.#weather.isLossSeen) this.#failedBefore = this.#stream.status().failedReplays;
  }

  #disconnect(): void {
    if (!this.#isConnected) return;
    if (this.#random.below(2) === 0) this.#deliver(Infinity);
    this.#wire = [];
    this.#isConnected = false;
    if (this.#weather.isLossSeen) this.#stream.interrupted(this.#nowMs);
  }

  #connect(): void {
    if (this.#isConnected) return;
    const isFirst = this.#delivered === undefined && this.#stream.status().replays === 0;
    this.#isConnected = true;
    if (this.#weather.isLossSeen || isFirst) this.#stream.resumed(this.#nowMs);
  }

  #pass(ms: number): void {
    this.#nowMs += ms;
    this.#stream.tick(this.#nowMs);
  }
}
