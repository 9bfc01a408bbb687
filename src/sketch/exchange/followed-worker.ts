import { hasKvidxCode } from '../../errors.js';
import { MAX_DELAY_MS } from '../../validate.js';
import { decodeFrame } from '../frame.js';
import type { SketchFrame, SubscriberStats } from '../types.js';
import { type WorkerChannels, workerChannels } from './channels.js';
import { SketchState } from './sketch-state.js';
import type { SubscriberSettings } from './subscriber-options.js';
import { WaitingFrames, type WaitingRoom } from './waiting-frames.js';

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
}

/** The share of a pause that is added by chance, so that many routers do not ask in one instant. */
const JITTER = 0.1;
const NOTHING = new Uint8Array(0);

/**
 * One worker between its channel and its state: joins, and asks for what is missing.
 *
 *   subscribe → read the latest frame, while others wait → apply it, then those → follow
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
  #latestRead = false;
  /** Undefined: frames are applied as they come. */
  #waiting: WaitingFrames | undefined;
  #trying = false;
  #timer: NodeJS.Timeout | undefined;

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
    this.#state = this.#newState();
    // A subscription that the store has yet to answer cannot be taken back: it ends then, unless there are followers again.
    if (this.#subscribing) return;
    this.#onForgotten();
    await this.#unsubscribe?.().catch(() => {});
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
    else if (frame) this.#apply(frame);
  }

  #decode(bytes: Uint8Array): SketchFrame | undefined {
    try {
      return decodeFrame(bytes, { blockSize: this.#shared.blockSize });
    } catch (error) {
      this.#state.degraded = 'bad-frame';
      this.#refused(error);
      return undefined;
    }
  }

  #apply(frame: SketchFrame): void {
    const { counts, now } = this.#shared;
    try {
      const verdict = this.#state.apply(frame, now());
      counts[verdict === 'applied' ? frame.kind : verdict === 'old' ? 'old' : 'gaps'] += 1;
      this.#tryLater(0);
    } catch (error) {
      this.#refused(error);
    }
  }

  #refused(error: unknown): void {
    if (hasKvidxCode(error) && error.code === 'ERR_KVIDX_BAD_FRAME') this.#shared.counts.badFrames += 1;
    this.#shared.tell(error, this.#worker);
    this.#tryLater(0);
  }

  // --------------------------------------------------------------------------------------------------------- store

  /** Joins, as far as that is not done, and asks for a full frame if one is needed then. */
  async #try(): Promise<void> {
    const { transport, counts, wantEveryMs } = this.#shared;
    this.#trying = true;
    try {
      if (!this.#unsubscribe) await this.#subscribe();
      if (this.isFollowed && !this.#latestRead) await this.#readLatest();
      if (this.isFollowed && this.#isWanting()) {
        await transport.publish(this.#channels.wishes, NOTHING);
        counts.wanted += 1;
      }
    } catch (error) {
      this.#failed(error);
    }
    this.#trying = false;
    this.#tryLater(wantEveryMs);
  }

  async #subscribe(): Promise<void> {
    const { transport, waitingRoom } = this.#shared;
    this.#waiting ??= new WaitingFrames(waitingRoom);
    this.#subscribing = true;
    try {
      this.#unsubscribe = await transport.subscribe(
        this.#channels.frames,
        (bytes) => this.#receive(bytes),
        () => this.#interrupted(),
      );
    } finally {
      this.#subscribing = false;
      if (!this.isFollowed) await this.abandon();
    }
  }

  /** It may fail: live frames and wishes do without. */
  async #readLatest(): Promise<void> {
    const { transport, waitingRoom } = this.#shared;
    this.#waiting ??= new WaitingFrames(waitingRoom);
    try {
      const bytes = await transport.getLatest(this.#channels.frames);
      this.#latestRead = true;
      const frame = bytes && this.isFollowed ? this.#decode(bytes) : undefined;
      if (frame) this.#apply(frame);
    } catch (error) {
      this.#failed(error);
    }
    const frames = this.#waiting.drain();
    this.#waiting = undefined;
    for (const frame of frames) this.#apply(frame);
  }

  /** Frames get lost from now on: until one proves that none was, the sketch may be wrong. */
  #interrupted(): void {
    if (!this.isFollowed) return;
    this.#state.degraded = 'transport';
    this.#latestRead = false;
    this.#tryLater(this.#shared.wantEveryMs);
  }

  #failed(error: unknown): void {
    if (!this.isFollowed) return;
    this.#shared.counts.transportErrors += 1;
    if (this.#state.degraded !== 'transport') this.#shared.tell(error, this.#worker);
    this.#state.degraded = 'transport';
  }

  #tryLater(pauseMs: number): void {
    if (!this.isFollowed || this.#trying || this.#timer || !this.#isWanting()) return;
    const jitterMs = this.#shared.wantEveryMs * JITTER * Math.random();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#isWanting()) void this.#try();
      },
      Math.min(pauseMs + jitterMs, MAX_DELAY_MS),
    ).unref();
  }

  /** A full frame that found no room would find none again. */
  #isWanting(): boolean {
    const { degraded } = this.#state;
    return degraded !== undefined && degraded !== 'capacity';
  }
}
