import { hasKvidxCode } from '../../errors.js';
import { counted } from '../../text.js';
import { MAX_DELAY_MS } from '../../validate.js';
import { badFrame, decodeFrame } from '../frame.js';
import type { Degraded, SketchFrame, SubscriberStats } from '../types.js';
import { type WorkerChannels, workerChannels } from './channels.js';
import { SketchState } from './sketch-state.js';
import type { SubscriberSettings } from './subscriber-options.js';
import { WaitingFrames, type WaitingRoom } from './waiting-frames.js';
import { encodeWish } from './wish.js';

/** What happened, of all workers together. */
export type SubscriberCounts = {
  -readonly [K in Exclude<keyof SubscriberStats, 'workers' | 'degraded' | 'bytes'>]: number;
};

/** What the workers of a subscriber share. */
export interface Shared extends SubscriberSettings {
  readonly counts: SubscriberCounts;
  readonly waitingRoom: WaitingRoom;
  /** May the filters grow by so many bytes together? */
  readonly hasRoom: (bytes: number) => boolean;
  /** Filters take less than before. */
  readonly onRoom: () => void;
}

/** The share of a pause that is added by chance, so that many routers do not ask in one instant. */
const JITTER = 0.1;

/**
 * One worker between its channel and its state: joins, and asks for what is missing.
 *
 *   subscribe → read the latest frame, while others wait → apply it, then those → follow
 *                 ▲                                                                  │
 *                 └──── resumed ──── only waits, whatever comes is not live ◄── interrupted
 *
 * Whatever fails is tried again while the sketch is degraded, one try at a time, `wantEveryMs` apart. Nobody waits for that,
 * and its timers do not keep the process alive.
 */
export class FollowedWorker {
  readonly #shared: Shared;
  readonly #worker: string;
  readonly #channels: WorkerChannels;
  readonly #onForgotten: () => void;
  /** Who follows it. */
  #followers = 0;
  #state: SketchState;
  #subscribing = false;
  #unsubscribe: (() => Promise<void>) | undefined;
  /** Of the subscription: how often, and is it now? */
  #interruptions = 0;
  #isInterrupted = false;
  #latestRead = false;
  /** Undefined: frames are applied as they come. */
  #waiting: WaitingFrames | undefined;
  #trying = false;
  #timer: NodeJS.Timeout | undefined;
  /** The timer is one that only waits for a live frame: nothing was asked for. */
  #isPatient = false;
  /** Of trouble with the transport, since all was well. */
  #isTold = false;

  /** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE: no worker has that name. */
  constructor(shared: Shared, worker: string, onForgotten: () => void) {
    this.#channels = workerChannels(shared.prefix, worker);
    this.#shared = shared;
    this.#worker = worker;
    this.#onForgotten = onForgotten;
    this.#state = this.#newState();
  }

  get state(): SketchState {
    return this.#state;
  }

  get degraded(): Degraded | undefined {
    return this.#isInterrupted ? 'transport' : this.#state.degraded;
  }

  get isFollowed(): boolean {
    return this.#followers > 0;
  }

  follow(): void {
    this.#followers += 1;
    if (this.#followers === 1 && !this.#trying) void this.#try();
  }

  /** One follower less; with the last one all that is known is forgotten. */
  async release(): Promise<void> {
    if (this.#followers === 1) await this.abandon();
    else if (this.isFollowed) this.#followers -= 1;
  }

  /** No followers any more. */
  async abandon(): Promise<void> {
    this.#followers = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting?.drain();
    const { bytes } = this.#state;
    this.#state = this.#newState();
    if (bytes > 0) this.#shared.onRoom();
    // A subscription that the store has yet to answer cannot be taken back: it ends then, unless there are followers again.
    if (this.#subscribing) return;
    this.#onForgotten();
    await this.#unsubscribe?.();
  }

  /** A full frame that found no room may find some now. */
  askForRoom(): void {
    if (this.#state.degraded === 'capacity') this.#tryLater(0);
  }

  #newState(): SketchState {
    const { yieldAfterMs, hasRoom } = this.#shared;
    return new SketchState({ worker: this.#worker, yieldAfterMs, hasRoom });
  }

  // -------------------------------------------------------------------------------------------------------- frames

  #receive(bytes: Uint8Array): void {
    if (!this.isFollowed) return;
    const frame = this.#decode(bytes);
    if (frame && this.#waiting) this.#waiting.push(frame, bytes.length);
    else if (frame) this.#apply(frame, !this.#isInterrupted);
  }

  #decode(bytes: Uint8Array): SketchFrame | undefined {
    const { blockSize } = this.#shared;
    let reason: 'bad-frame' | 'block-size' = 'bad-frame';
    try {
      const frame = decodeFrame(bytes);
      if (frame.blockSize === blockSize) return frame;
      reason = 'block-size';
      throw badFrame(`its blocks have ${counted(frame.blockSize, 'token')}, here they have ${blockSize}`);
    } catch (error) {
      const isKnown = reason === 'block-size' && this.#state.degraded === reason;
      this.#state.refuse(reason);
      this.#refused(error, isKnown);
      return undefined;
    }
  }

  #apply(frame: SketchFrame, isLive: boolean): void {
    const { counts, now, onRoom } = this.#shared;
    const { bytes } = this.#state;
    try {
      const verdict = this.#state.apply(frame, now(), isLive);
      counts[verdict === 'applied' ? frame.kind : verdict === 'old' ? 'old' : 'gaps'] += 1;
      if (verdict === 'applied') this.#isTold = false;
      if (this.#state.bytes < bytes) onRoom();
      this.#tryLater(0);
    } catch (error) {
      this.#refused(error);
    }
  }

  /** `isKnown`: it was told before, and every frame says the same. */
  #refused(error: unknown, isKnown = false): void {
    if (hasKvidxCode(error) && error.code === 'ERR_KVIDX_BAD_FRAME') this.#shared.counts.badFrames += 1;
    if (!isKnown) this.#shared.tell(error, this.#worker);
    this.#tryLater(0);
  }

  // --------------------------------------------------------------------------------------------------------- store

  /** Joins, as far as that is not done, and asks for a full frame if one is needed then. */
  async #try(): Promise<void> {
    const { transport, counts, wantEveryMs } = this.#shared;
    const hadRead = this.#latestRead;
    this.#trying = true;
    try {
      if (!this.#unsubscribe) await this.#subscribe();
      if (this.#isInForce() && !this.#latestRead) await this.#readLatest();
      // What was just read has a while to be confirmed: publishers send frames by themselves.
      this.#isPatient = !hadRead && this.degraded === 'unconfirmed';
      if (this.#isInForce() && this.#isWanting() && !this.#isPatient) {
        await transport.publish(this.#channels.wishes, encodeWish(this.#state.sketch?.epoch));
        counts.wanted += 1;
      }
    } catch (error) {
      this.#failed(error);
    }
    this.#trying = false;
    this.#tryLater(this.#waiting ? 0 : wantEveryMs);
  }

  async #subscribe(): Promise<void> {
    const { transport } = this.#shared;
    this.#wait();
    this.#subscribing = true;
    try {
      this.#unsubscribe = await transport.subscribe(this.#channels.frames, (bytes) => this.#receive(bytes), {
        onInterrupted: (error) => this.#interrupted(error),
        onResumed: () => this.#resumed(),
      });
      this.#inForce();
    } finally {
      this.#subscribing = false;
      if (!this.isFollowed) await this.abandon();
    }
  }

  /** It may fail: live frames and wishes do without. */
  async #readLatest(): Promise<void> {
    const { transport } = this.#shared;
    const interruptions = this.#interruptions;
    this.#wait();
    try {
      const bytes = await transport.getLatest(this.#channels.frames);
      this.#latestRead = interruptions === this.#interruptions;
      const frame = bytes && this.isFollowed ? this.#decode(bytes) : undefined;
      if (frame) this.#apply(frame, false);
    } catch (error) {
      this.#failed(error);
    }
    // Of another subscription than was read for: what comes on the present one waits for another read.
    if (interruptions !== this.#interruptions) return;
    const frames = this.#waiting!.drain();
    this.#waiting = undefined;
    for (const frame of frames) this.#apply(frame, true);
  }

  #wait(): void {
    this.#waiting ??= new WaitingFrames(this.#shared.waitingRoom);
  }

  /** Frames get lost from now on. */
  #interrupted(error: unknown): void {
    this.#interruptions += 1;
    this.#isInterrupted = true;
    this.#latestRead = false;
    this.#state.unconfirm();
    const frames = this.#waiting?.drain() ?? [];
    this.#waiting = undefined;
    if (!this.isFollowed) return;
    for (const frame of frames) this.#apply(frame, false);
    if (error !== undefined) this.#report(error);
  }

  /** As at the join: what was missed may be in the store. */
  #resumed(): void {
    this.#inForce();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tryLater(0);
  }

  /** What comes from now on is live, and waits for the latest frame to be read. */
  #inForce(): void {
    this.#isInterrupted = false;
    this.#isTold = false;
    this.#state.unconfirm();
    this.#wait();
  }

  #failed(error: unknown): void {
    if (!this.isFollowed) return;
    this.#report(error);
    this.#state.degraded = 'transport';
  }

  #report(error: unknown): void {
    this.#shared.counts.transportErrors += 1;
    if (!this.#isTold) this.#shared.tell(error, this.#worker);
    this.#isTold = true;
  }

  #tryLater(pauseMs: number): void {
    if (!this.isFollowed || this.#trying || !this.#isWanting()) return;
    const isUrgent = this.#isPatient && this.#state.degraded !== 'unconfirmed';
    if (this.#timer && !isUrgent) return;
    clearTimeout(this.#timer);
    if (isUrgent) this.#isPatient = false;
    const jitterMs = this.#shared.wantEveryMs * JITTER * Math.random();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#isWanting()) void this.#try();
      },
      Math.min(pauseMs + jitterMs, MAX_DELAY_MS),
    ).unref();
  }

  #isInForce(): boolean {
    return this.isFollowed && this.#unsubscribe !== undefined && !this.#isInterrupted;
  }

  /** A full frame that found no room is asked for when there is some. An interruption is the transport's to end. */
  #isWanting(): boolean {
    if (this.#isInterrupted && this.#unsubscribe) return false;
    const { degraded, wouldFit } = this.#state;
    if (this.#waiting || degraded === 'capacity') return this.#waiting !== undefined || wouldFit;
    return degraded !== undefined && degraded !== 'block-size';
  }
}
