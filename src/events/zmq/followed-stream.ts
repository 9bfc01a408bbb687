import type { Event, Observer, Subscriber } from 'zeromq';
import { KvidxError } from '../../errors.js';
import { EventStream } from '../stream/event-stream.js';
import type { DegradedReason } from '../stream/types.js';
import type { ZeroMq } from '../zeromq.js';
import { readLive } from './frames.js';
import type { SubscriberSettings } from './options.js';
import { receiveAll } from './receive.js';
import { ReplayRequest } from './replay-request.js';
import { socketOptions } from './socket-options.js';
import type { StreamSinks, StreamStatus } from './types.js';

/** Which stream, and how it is reached. */
export interface StreamPlace {
  readonly worker: string;
  readonly dpRank: number;
  readonly endpoint: string;
  readonly replayEndpoint: string | undefined;
  readonly topic: string;
  readonly isBound: boolean;
}

/** The sockets of one rank of a worker, and its stream. */
export class FollowedStream {
  readonly #zeromq: ZeroMq;
  readonly #settings: SubscriberSettings;
  readonly #place: StreamPlace;
  readonly #stream: EventStream;
  readonly #subscriber: Subscriber;
  readonly #loops: (Promise<void> | undefined)[];
  #replay: ReplayRequest | undefined;
  #isConnected = false;
  #isTroubleTold = false;
  #closed = false;
  #toldConnected = false;
  #toldDegraded: DegradedReason | undefined;

  /** ERR_KVIDX_TRANSPORT: the endpoint cannot be had. Else as the sink throws. */
  constructor(zeromq: ZeroMq, settings: SubscriberSettings, place: StreamPlace, sinks: StreamSinks) {
    this.#zeromq = zeromq;
    this.#settings = settings;
    this.#place = place;
    const { worker, dpRank, endpoint, replayEndpoint, topic, isBound } = place;
    const subscriber = new zeromq.Subscriber(socketOptions(endpoint, settings.receiveHighWaterMark));
    this.#subscriber = subscriber;
    const isInProcess = endpoint.startsWith('inproc:');
    // Within a process nothing happens to connections, and what observes a socket would outlive it: until its peer does something.
    let observer: Observer | undefined;
    try {
      subscriber.subscribe(topic);
      if (!isInProcess) observer = subscriber.events;
      if (isBound) subscriber.bindSync(endpoint);
      else subscriber.connect(endpoint);
      const sink = sinks.sink(worker, dpRank);
      const ask =
        replayEndpoint === undefined ? undefined : (from: number) => this.#ask(replayEndpoint, from);
      this.#stream = new EventStream(sink, settings.stream, ask, sink.position);
    } catch (error) {
      subscriber.close();
      throw error instanceof Error && 'errno' in error ? this.#failure(error) : error;
    }
    this.#toldDegraded = this.#stream.degraded;
    this.#loops = [
      receiveAll(subscriber, (frames) => this.#receive(frames)),
      observer && receiveAll(observer, (event) => this.#observe(event)),
    ].map((loop) => loop?.catch((error) => this.#end(error as Error)));
    if (isInProcess) this.#connected();
  }

  status(): StreamStatus {
    const { worker, dpRank, endpoint } = this.#place;
    const state = this.#stream.status();
    const { lastMessageMs } = state;
    const ageMs = lastMessageMs === undefined ? undefined : this.#settings.now() - lastMessageMs;
    return { worker, dpRank, endpoint, connected: this.#isConnected, ageMs, ...state };
  }

  tick(): void {
    this.#input((nowMs) => this.#stream.tick(nowMs));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#subscriber.close();
    this.#replay?.close();
    await Promise.all([...this.#loops, this.#replay?.done]);
  }

  #receive(frames: Buffer[]): void {
    if (!this.#isConnected) this.#connected();
    const live = readLive(frames);
    this.#input((nowMs) => {
      if (live === undefined) this.#stream.damaged();
      else this.#stream.live(live.sequence, live.payload, nowMs);
    });
  }

  // ---------------------------------------------------------------------------------------------------- connection

  #observe(event: Event): void {
    if (event.type === 'handshake') this.#connected();
    else if (event.type === 'disconnect') this.#disconnected();
    else if ('error' in event && !this.#isTroubleTold) {
      // It is tried again all the time, and may fail for ever in the same way.
      this.#isTroubleTold = true;
      this.#tell(this.#failure(event.error));
    }
  }

  #connected(): void {
    if (this.#closed) return;
    this.#isConnected = true;
    this.#isTroubleTold = false;
    this.#input((nowMs) => this.#stream.resumed(nowMs));
  }

  #disconnected(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#input((nowMs) => this.#stream.interrupted(nowMs));
  }

  /** A socket is of no use any more; replays may still be. */
  #end(error: Error): void {
    if (this.#closed) return;
    this.#tell(this.#failure(error));
    this.#disconnected();
  }

  // -------------------------------------------------------------------------------------------------------- replay

  #ask(endpoint: string, from: number): void {
    this.#replay?.close();
    const options = socketOptions(endpoint, this.#settings.receiveHighWaterMark);
    this.#replay = new ReplayRequest(this.#zeromq, endpoint, from, options, {
      onMessage: (sequence, payload) =>
        this.#input((nowMs) => this.#stream.replayed(sequence, payload, nowMs)),
      onEnd: () => this.#input((nowMs) => this.#stream.replayEnded(nowMs)),
      onFailure: (error) => {
        this.#tell(this.#failure(error, endpoint));
        this.#input((nowMs) => this.#stream.replayFailed(nowMs));
      },
    });
  }

  // -------------------------------------------------------------------------------------------------------- stream

  #input(tellStream: (nowMs: number) => void): void {
    if (this.#closed) return;
    try {
      tellStream(this.#settings.now());
    } catch (error) {
      this.#tell(error as Error);
    }
    if (!this.#stream.isReplaying) this.#replay?.close();
    const { degraded } = this.#stream;
    if (this.#toldConnected === this.#isConnected && this.#toldDegraded === degraded) return;
    this.#toldConnected = this.#isConnected;
    this.#toldDegraded = degraded;
    this.#settings.onChange(this.status());
  }

  #tell(error: Error): void {
    this.#settings.onError(error, this.#place.worker, this.#place.dpRank);
  }

  #failure(cause: Error, endpoint = this.#place.endpoint): KvidxError {
    const message = `${endpoint}: ${cause.message}`;
    return new KvidxError('ERR_KVIDX_TRANSPORT', message, { cause });
  }
}
