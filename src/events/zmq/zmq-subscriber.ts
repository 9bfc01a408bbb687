import { KvidxError, outOfRange } from '../../errors.js';
import { loadZeroMq, type ZeroMq } from '../zeromq.js';
import { FollowedStream } from './followed-stream.js';
import { LiveSocket } from './live-socket.js';
import {
  checkFollowOptions,
  checkSinks,
  checkSubscriberOptions,
  type SubscriberSettings,
} from './options.js';
import type { FollowOptions, StreamSinks, StreamStatus, ZmqSubscriberOptions } from './types.js';

export type { FollowOptions, StreamSinks, StreamStatus, ZmqSubscriberOptions } from './types.js';

/** How many ticks fit into the shortest time that a stream waits for. */
const TICKS = 4;
const [SHORTEST_TICK_MS, LONGEST_TICK_MS] = [1, 250];

/**
 * Follows the event streams of engines over ZeroMQ: in order, healed from replays where they have gaps, each rank by itself.
 * Connections are made again for ever. An open one keeps the process alive.
 */
export class ZmqSubscriber {
  readonly #zeromq: ZeroMq;
  readonly #sinks: StreamSinks;
  readonly #settings: SubscriberSettings;
  readonly #workers = new Map<string, FollowedStream[]>();
  /** Those no longer followed that have yet to close. */
  readonly #closing = new Set<Promise<unknown>>();
  readonly #ticks: NodeJS.Timeout;
  #closed = false;

  private constructor(zeromq: ZeroMq, sinks: StreamSinks, settings: SubscriberSettings) {
    this.#zeromq = zeromq;
    this.#sinks = sinks;
    this.#settings = settings;
    const { idleProbeMs, replayTimeoutMs, maxHoldMs } = settings.stream;
    const tickMs = Math.min(idleProbeMs, replayTimeoutMs, maxHoldMs) / TICKS;
    const everyMs = Math.max(SHORTEST_TICK_MS, Math.min(tickMs, LONGEST_TICK_MS));
    this.#ticks = setInterval(() => this.#tick(), everyMs).unref();
  }

  /**
   * A subscriber that follows nobody yet. Rejects with ERR_KVIDX_TRANSPORT (the package `zeromq` is not installed),
   * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
   */
  static async open(sinks: StreamSinks, options?: ZmqSubscriberOptions): Promise<ZmqSubscriber> {
    const settings = checkSubscriberOptions(options);
    checkSinks(sinks);
    return new ZmqSubscriber(await loadZeroMq('ZmqSubscriber'), sinks, settings);
  }

  /**
   * Follows all ranks of a worker, or none. Engines need not be there yet. Throws ERR_KVIDX_CLOSED, ERR_KVIDX_INVALID_ARG_TYPE,
   * ERR_KVIDX_OUT_OF_RANGE (it is followed already, too), ERR_KVIDX_TRANSPORT (an endpoint cannot be had), or what the sinks
   * throw; they are asked when all endpoints are there.
   */
  follow(worker: string, options: FollowOptions): void {
    if (this.#closed) throw new KvidxError('ERR_KVIDX_CLOSED', 'this ZmqSubscriber is closed');
    const places = checkFollowOptions(worker, options);
    if (this.#workers.has(worker)) throw outOfRange('worker', 'one that is not followed yet', worker);
    const sockets: LiveSocket[] = [];
    try {
      for (const place of places) sockets.push(new LiveSocket(this.#zeromq, place, this.#settings));
      const sinks = places.map(({ dpRank }) => this.#sinks.sink(worker, dpRank));
      const streams = places.map(
        (place, i) => new FollowedStream(this.#zeromq, this.#settings, place, sockets[i]!, sinks[i]!),
      );
      this.#workers.set(worker, streams);
    } catch (error) {
      this.#close(sockets);
      throw error;
    }
    for (const stream of this.#workers.get(worker)!) stream.start();
  }

  /**
   * What is known of the worker stays with the sinks; they are told that it is unconfirmed (unless it is degraded for good), and
   * nothing more. A stream that goes on from there is confirmed by its first replay. False: it was not followed.
   */
  unfollow(worker: string): boolean {
    const streams = this.#workers.get(worker);
    if (streams === undefined) return false;
    this.#workers.delete(worker);
    this.#close(streams);
    return true;
  }

  /** Each rank that is followed. */
  status(): readonly StreamStatus[] {
    return [...this.#workers.values()].flat().map((stream) => stream.status());
  }

  /**
   * Unfollows all. Resolves when all sockets are closed; the sinks are told what `unfollow` tells before it returns its promise,
   * and nothing more.
   */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#ticks);
    for (const worker of [...this.#workers.keys()]) this.unfollow(worker);
    await Promise.all(this.#closing);
  }

  #tick(): void {
    for (const streams of this.#workers.values()) {
      for (const stream of streams) stream.tick();
    }
  }

  #close(all: readonly { close(): Promise<void> }[]): void {
    const closing = Promise.all(all.map((each) => each.close())).finally(() => {
      this.#closing.delete(closing);
    });
    this.#closing.add(closing);
  }
}
