import { invalidArgType } from '../../errors.js';

/** Is told what becomes of a subscription, by a transport that notices. */
export interface SubscriptionWatch {
  /**
   * Messages get lost from now on: the connection broke, or cannot be made. With an error: the store refuses to take the
   * subscription up again, and is asked anew after a while. Of messages from before none comes any more.
   */
  onInterrupted(error?: unknown): void;
  /**
   * It is in force again after an interruption; always told then, as soon as that is so. Of the first time the promise of
   * `subscribe` tells.
   */
  onResumed(): void;
}

/**
 * What carries frames: a channel that may lose, repeat and reorder messages, and a place for the latest one. Small enough
 * for Redis, NATS (subjects and a key-value bucket) and ZeroMQ (topics and a request to the publisher). Nothing here waits
 * for a store that is away: calls reject, or resolve late. One that is not answered within 5 s is taken for failed, except
 * `subscribe`.
 */
export interface SketchTransport {
  /** Gives the message to who is subscribed. Rejects when the store cannot be reached. */
  publish(channel: string, bytes: Uint8Array): Promise<void>;
  /**
   * `onMessage` is told of messages from when the promise resolves, through reconnections; the bytes are its own. While the
   * store cannot be reached it does not resolve; it rejects when the store refuses at first. The answer ends the
   * subscription.
   */
  subscribe(
    channel: string,
    onMessage: (bytes: Uint8Array) => void,
    watch?: SubscriptionWatch,
  ): Promise<() => Promise<void>>;
  /** Keeps the bytes for `ttlMs`. Rejects when the store cannot be reached. */
  setLatest(key: string, bytes: Uint8Array, ttlMs: number): Promise<void>;
  /** Undefined: there is none. Rejects when the store cannot be reached. */
  getLatest(key: string): Promise<Uint8Array | undefined>;
  /** Ends all subscriptions; afterwards calls reject with ERR_KVIDX_CLOSED, also those that wait. */
  close(): Promise<void>;
}

const METHODS = ['publish', 'subscribe', 'setLatest', 'getLatest', 'close'] as const;

/** Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkTransport(transport: SketchTransport): SketchTransport {
  for (const method of METHODS) {
    if (typeof transport?.[method] !== 'function')
      throw invalidArgType('transport', 'a SketchTransport', transport);
  }
  return transport;
}
