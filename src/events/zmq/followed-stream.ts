import type { Event } from 'zeromq';
import { EventStream } from '../stream/event-stream.js';
import type { DegradedReason } from '../stream/types.js';
import type { ZeroMq } from '../zeromq.js';
import { readLive } from './frames.js';
import { LiveSocket } from './live-socket.js';
import type { SubscriberSettings } from './options.js';
import { ReplayRequest } from './replay-request.js';
import { transportFailure } from './transport-failure.js';
import type { StreamPlace, StreamStatus, SunkStream } from './types.js';

/** A socket that is of no use is opened again after so long. */
const REOPEN_MS = 1000;

/** The sockets of one rank of a worker, and its stream. */
export class FollowedStream {
  readonly #zeromq: ZeroMq;
  readonly #settings: SubscriberSettings;
  readonly #place: StreamPlace;
  readonly #stream: EventStream;
  #live: LiveSocket;
  /** Sockets before this one. */
  #former: Promise<unknown> | undefined;
  /** When the socket is opened again, unless it connects again by itself. */
  #reopenMs: number | undefined;
  #replay: ReplayRequest | undefined;
  #isConnected = false;
  #isTroubleTold = false;
  #closed = false;
  #toldConnected = false;
  #toldDegraded: DegradedReason | undefined;

  /** Nothing comes in before `start`. Throws as the sink does. */
  constructor(
    zeromq: ZeroMq,
    settings: SubscriberSettings,
    place: StreamPlace,
    live: LiveSocket,
    sink: SunkStream,
  ) {
    this.#zeromq = zeromq;
    this.#settings = settings;
    this.#place = place;
    this.#live = live;
    const { replayEndpoint } = place;
    const ask = replayEndpoint === undefined ? undefined : (from: number) => this.#ask(replayEndpoint, from);
    this.#stream = new EventStream(sink, settings.stream, ask, sink.position);
    this.#toldDegraded = this.#stream.degraded;
  }

  start(): void {
    this.#live.listen({
      onMessage: (frames) => this.#receive(frames),
      onEvent: (event) => this.#observe(event),
      onFailure: (error) => this.#fail(error),
    });
    if (!this.#live.isObserved) this.#connected();
  }

  status(): StreamStatus {
    const { worker, dpRank, endpoint } = this.#place;
    const state = this.#stream.status();
    const { lastMessageMs } = state;
    const ageMs = lastMessageMs === undefined ? undefined : this.#settings.now() - lastMessageMs;
    return { worker, dpRank, endpoint, connected: this.#isConnected, ageMs, ...state };
  }

  tick(): void {
    const nowMs = this.#settings.now();
    if (this.#reopenMs !== undefined && nowMs >= this.#reopenMs) this.#reopen(nowMs);
    this.#input((nowMs) => this.#stream.tick(nowMs));
  }

  /** The sink is told that nothing is certain any more, and then nothing. Resolves when all sockets are closed. */
  async close(): Promise<void> {
    this.#isConnected = false;
    this.#input((nowMs) => this.#stream.interrupted(nowMs));
    this.#closed = true;
    this.#replay?.close();
    await Promise.all([this.#former, this.#live.close(), this.#replay?.done]);
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
    else if (event.type === 'connect:retry') this.#reopenMs = undefined;
    else if (event.type === 'disconnect' || event.type.startsWith('handshake:error')) {
      // libzmq tells at once that it tries again. Where it does not, it never will: the peer broke the protocol, or a bound.
      if (!this.#place.isBound) this.#reopenMs ??= this.#settings.now() + REOPEN_MS;
      this.#disconnected();
    }
    if ('error' in event) this.#trouble(event.error);
  }

  #connected(): void {
    if (this.#closed) return;
    this.#isConnected = true;
    this.#isTroubleTold = false;
    this.#reopenMs = undefined;
    this.#input((nowMs) => this.#stream.resumed(nowMs));
  }

  #disconnected(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#input((nowMs) => this.#stream.interrupted(nowMs));
  }

  #fail(error: Error): void {
    this.#trouble(error);
    // What else the socket tells, a connection above all, is worth nothing.
    this.#shut();
    this.#reopenMs = this.#settings.now() + REOPEN_MS;
    this.#disconnected();
  }

  #reopen(nowMs: number): void {
    this.#trouble(new Error(`the connection was given up, and is made anew (${this.#suspicion})`));
    this.#shut();
    try {
      this.#live = new LiveSocket(this.#zeromq, this.#place, this.#settings);
      this.#reopenMs = undefined;
      this.start();
    } catch (error) {
      this.#trouble(error as Error);
      this.#reopenMs = nowMs + REOPEN_MS;
    }
  }

  #shut(): void {
    this.#former = Promise.all([this.#former, this.#live.close()]);
  }

  /** It is tried again all the time, and may fail for ever in the same way. */
  #trouble(error: Error): void {
    if (this.#isTroubleTold) return;
    this.#isTroubleTold = true;
    this.#tell(transportFailure(this.#place.endpoint, error));
  }

  get #suspicion(): string {
    return `a message above maxMessageBytes, ${this.#settings.maxMessageBytes}, or no ZeroMQ at the other end`;
  }

  // -------------------------------------------------------------------------------------------------------- replay

  #ask(endpoint: string, from: number): void {
    this.#replay?.close();
    this.#replay = new ReplayRequest(this.#zeromq, endpoint, from, this.#settings, {
      onMessage: (sequence, payload) =>
        this.#input((nowMs) => this.#stream.replayed(sequence, payload, nowMs)),
      onEnd: () => this.#input((nowMs) => this.#stream.replayEnded(nowMs)),
      onDisconnect: () => {
        const message = `the connection was lost during a replay (the engine went away, or ${this.#suspicion})`;
        this.#tell(transportFailure(endpoint, new Error(message)));
      },
      onFailure: (error) => {
        this.#tell(transportFailure(endpoint, error));
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
}
