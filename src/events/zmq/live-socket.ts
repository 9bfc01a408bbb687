import type { Event, Observer, Subscriber } from 'zeromq';
import type { ZeroMq } from '../zeromq.js';
import { receiveAll } from './receive.js';
import { type SocketBounds, socketOptions } from './socket-options.js';
import { transportFailure } from './transport-failure.js';
import type { StreamPlace } from './types.js';

export interface LiveListener {
  onMessage(frames: Buffer[]): void;
  onEvent(event: Event): void;
  /** The socket is of no use any more. */
  onFailure(error: Error): void;
}

/** Where the live messages of one rank come in. Nothing is told before `listen`, nor from `close` on. */
export class LiveSocket {
  readonly #subscriber: Subscriber;
  readonly #observer: Observer | undefined;
  #loops: Promise<unknown> | undefined;
  #closed = false;

  /** ERR_KVIDX_TRANSPORT: the endpoint cannot be had. */
  constructor(zeromq: ZeroMq, { endpoint, topic, isBound }: StreamPlace, bounds: SocketBounds) {
    this.#subscriber = new zeromq.Subscriber(socketOptions(endpoint, bounds));
    try {
      this.#subscriber.subscribe(topic);
      // Within a process nothing happens to connections, and what observes a socket would outlive it: until its peer does something.
      if (!endpoint.startsWith('inproc:')) this.#observer = this.#subscriber.events;
      if (isBound) this.#subscriber.bindSync(endpoint);
      else this.#subscriber.connect(endpoint);
    } catch (error) {
      this.#subscriber.close();
      throw transportFailure(endpoint, error as Error);
    }
  }

  /** Are events told? Else the connection is simply there. */
  get isObserved(): boolean {
    return this.#observer !== undefined;
  }

  listen(listener: LiveListener): void {
    const unlessClosed =
      <T>(tell: (told: T) => void) =>
      (told: T) => {
        if (!this.#closed) tell(told);
      };
    const onFailure = unlessClosed((error: Error) => listener.onFailure(error));
    const messages = receiveAll(
      this.#subscriber,
      unlessClosed((frames) => listener.onMessage(frames)),
    );
    const events =
      this.#observer &&
      receiveAll(
        this.#observer,
        unlessClosed((event) => listener.onEvent(event)),
      );
    this.#loops = Promise.all([messages.catch(onFailure), events?.catch(onFailure)]);
  }

  /** Resolves when nothing waits for it any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#subscriber.close();
    await this.#loops;
  }
}
