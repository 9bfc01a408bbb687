import type { Dealer } from 'zeromq';
import type { ZeroMq } from '../zeromq.js';
import { readReplay, replayRequest } from './frames.js';
import { receiveAll } from './receive.js';
import { type SocketBounds, socketOptions } from './socket-options.js';

export interface ReplayListener {
  /** `sequence`: no safe integer where none could be read. */
  onMessage(sequence: number, payload: Uint8Array): void;
  onEnd(): void;
  /** No more messages will come than those that have. */
  onDisconnect(): void;
  onFailure(error: Error): void;
}

/**
 * One request for a replay, over a socket of its own, where no answer to another one can come. It waits for the engine for as
 * long as it is not closed. The listener is never called before the constructor returns, nor after `close`.
 */
export class ReplayRequest {
  /** Resolves when all is closed. */
  readonly done: Promise<void>;
  readonly #listener: ReplayListener;
  #dealer: Dealer | undefined;
  #closed = false;

  constructor(
    zeromq: ZeroMq,
    endpoint: string,
    from: number,
    bounds: SocketBounds,
    listener: ReplayListener,
  ) {
    this.#listener = listener;
    this.done = Promise.resolve()
      .then(() => this.#run(zeromq, endpoint, from, bounds))
      .catch((error) => this.#finish(() => listener.onFailure(error as Error)));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#dealer?.close();
  }

  async #run(zeromq: ZeroMq, endpoint: string, from: number, bounds: SocketBounds): Promise<void> {
    if (this.#closed) return;
    const dealer = new zeromq.Dealer(socketOptions(endpoint, bounds));
    this.#dealer = dealer;
    this.#observe(dealer, endpoint);
    dealer.connect(endpoint);
    await dealer.send(replayRequest(from));
    await receiveAll(dealer, (frames) => this.#receive(frames));
  }

  /** An end is not made of it: what has come may still wait in the socket. */
  #observe(dealer: Dealer, endpoint: string): void {
    if (endpoint.startsWith('inproc:')) return;
    dealer.events.on('disconnect', () => {
      if (!this.#closed) this.#listener.onDisconnect();
    });
  }

  #receive(frames: Buffer[]): void {
    const read = readReplay(frames);
    if (read === 'end') this.#finish(() => this.#listener.onEnd());
    else this.#listener.onMessage(read?.sequence ?? Number.NaN, read?.payload ?? frames[0]!);
  }

  #finish(tell: () => void): void {
    if (this.#closed) return;
    this.close();
    tell();
  }
}
