import { KvidxError } from '../errors.js';
import { checkBoolean, checkHashes, checkInteger, checkOptions } from '../validate.js';
import { FrameSeries, firstEpoch } from './exchange/frame-series.js';
import { OneAtATime } from './exchange/one-at-a-time.js';
import { checkPublisherOptions, type PublisherSettings } from './exchange/publisher-options.js';
import { Wishes } from './exchange/wishes.js';
import { decodeFrame, encodeFrame } from './frame.js';
import type {
  Published,
  PublisherStats,
  PublishOptions,
  SketchFrame,
  SketchPublisherOptions,
} from './types.js';

export interface ClosePublisherOptions {
  /** A last frame says that nothing is resident any more: the worker leaves. Default false. */
  readonly clear?: boolean;
}

/** What became of a frame. */
type Outcome = { readonly published: Published } | { readonly error: unknown; readonly isTold: boolean };

/**
 * Tells of what one worker holds, in frames: by itself after `start`, or when `publish` is called. One frame at a time is
 * under way. The transport stays its owner's to close. A worker has one publisher at a time: two
 * take its sketch from each other again and again, which subscribers mark; but two that begin in the same millisecond and find
 * no frame in the store take the same epoch, and their frames are mixed up without notice.
 */
export class SketchPublisher {
  readonly #settings: PublisherSettings;
  readonly #attempts = new OneAtATime(() => this.#attempt());
  readonly #wishes: Wishes;
  #series: FrameSeries | undefined;
  #isFullWanted = false;
  #timer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  /** The last frame of a worker that leaves. */
  #leaving: Promise<void> | undefined;
  /** The last frame, and counts of those that went out. */
  #stats = { epoch: 0, sequence: 0, keys: 0, full: 0, delta: 0, clear: 0, bytes: 0, failed: 0 };

  /** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
  constructor(options: SketchPublisherOptions) {
    this.#settings = checkPublisherOptions(options);
    this.#wishes = new Wishes(
      this.#settings,
      (epoch = 0) => {
        this.#isFullWanted = true;
        this.#series?.riseAbove(epoch);
      },
      () => this.#isFullWanted && this.#publishInBackground(),
    );
  }

  /**
   * Sends a frame of what is resident now. While one is under way this waits, and all who wait share the next one. Rejects with
   * what `resident.hashes` throws (nothing is sent then) or the transport rejects with; ERR_KVIDX_CLOSED,
   * ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE (more blocks than the largest filter is for).
   */
  async publish(options?: PublishOptions): Promise<Published> {
    const { full = false } = checkOptions(options);
    if (checkBoolean('full', full)) this.#isFullWanted = true;
    const outcome = await this.#attempts.run();
    if ('error' in outcome) throw outcome.error;
    return outcome.published;
  }

  /** Sends a frame now and then every `everyMs`, but none while another is under way. Its timer does not keep the process alive. */
  start(): void {
    if (this.#closing) throw closedError();
    if (this.#timer) return;
    this.#wishes.resume();
    this.#publishInBackground();
    this.#timer = setInterval(() => {
      if (!this.#attempts.isRunning) this.#publishInBackground();
    }, this.#settings.everyMs).unref();
  }

  /** Nothing is sent by itself any more, until `start`; after a wish the next frame is a full one. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#wishes.pause();
  }

  stats(): PublisherStats {
    return { ...this.#stats, wanted: this.#wishes.count };
  }

  /** Stops for good; resolves when nothing is under way. Rejects when the frame that `clear` asks for did not go out. */
  async close(options?: ClosePublisherOptions): Promise<void> {
    const { clear = false } = checkOptions(options);
    checkBoolean('clear', clear);
    this.#closing ??= this.#end();
    if (clear) this.#leaving ??= this.#closing.then(() => this.#leave());
    await (this.#leaving ?? this.#closing);
  }

  async #end(): Promise<void> {
    this.stop();
    await this.#attempts.idle();
    await this.#wishes.close();
  }

  #publishInBackground(): void {
    void this.#attempts.run().then((outcome) => {
      if ('error' in outcome && !outcome.isTold && !this.#closing) this.#settings.tell(outcome.error);
    });
  }

  async #attempt(): Promise<Outcome> {
    let frame: SketchFrame;
    try {
      frame = await this.#build();
    } catch (error) {
      return { error, isTold: false };
    }
    try {
      return { published: await this.#send(frame) };
    } catch (error) {
      return { error, isTold: true };
    }
  }

  async #build(): Promise<SketchFrame> {
    if (this.#closing) throw closedError();
    this.#wishes.listen();
    // Who asks for a full frame from now on, while this one is begun, means the next.
    const wantsFull = this.#isFullWanted;
    this.#isFullWanted = false;
    try {
      const series = this.#series ?? (await this.#begin());
      const { resident } = this.#settings;
      const nowMs = this.#now();
      const hashes = checkHashes(resident.hashes(), 'resident.hashes()');
      return series.next(hashes, nowMs, wantsFull);
    } catch (error) {
      this.#isFullWanted ||= wantsFull;
      throw error;
    }
  }

  async #leave(): Promise<void> {
    const series = this.#series ?? (await this.#begin());
    await this.#send(series.last(this.#now()));
  }

  /** In an epoch above that of the latest frame in the store. Without one, or without the store, the clock alone decides. */
  async #begin(): Promise<FrameSeries> {
    const { transport, channels, series } = this.#settings;
    const startMs = this.#now();
    let latestEpoch: number | undefined;
    try {
      const bytes = await transport.getLatest(channels.frames);
      if (bytes) latestEpoch = decodeFrame(bytes).epoch;
    } catch {
      // Subscribers that know a higher epoch yield after a while.
    }
    this.#series = new FrameSeries(series, firstEpoch(startMs, latestEpoch));
    return this.#series;
  }

  /** Stored before it is published: who joins in between has subscribed first, and hears it. */
  async #send(frame: SketchFrame): Promise<Published> {
    const { transport, channels, latestTtlMs } = this.#settings;
    const { kind, epoch, sequence, keys } = frame;
    Object.assign(this.#stats, { epoch, sequence, keys });
    let hasFailed = false;
    const failed = (error: unknown) => {
      if (!hasFailed) this.#stats.failed += 1;
      hasFailed = true;
      this.#settings.tell(error);
    };
    let bytes: Uint8Array;
    try {
      bytes = encodeFrame(frame);
      if (kind !== 'delta') await transport.setLatest(channels.frames, bytes, latestTtlMs).catch(failed);
      await transport.publish(channels.frames, bytes);
    } catch (error) {
      this.#series!.lost();
      failed(error);
      throw error;
    }
    this.#stats[kind] += 1;
    this.#stats.bytes += bytes.length;
    const z = kind === 'full' ? frame.filter.z : frame.z;
    const sentBlocks = kind === 'full' ? z : kind === 'delta' ? frame.indices.length : 0;
    return { kind, epoch, sequence, keys, z, sentBlocks, bytes: bytes.length };
  }

  #now(): number {
    return checkInteger('now()', Math.floor(this.#settings.now()), 0, Number.MAX_SAFE_INTEGER);
  }
}

function closedError(): KvidxError {
  return new KvidxError('ERR_KVIDX_CLOSED', 'this SketchPublisher is closed');
}
