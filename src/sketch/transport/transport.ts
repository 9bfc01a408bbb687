import { invalidArgType } from '../../errors.js';

/**
 * What carries frames: a channel that may lose, repeat and reorder messages, and a place for the latest one. Small enough
 * for Redis, NATS (subjects and a key-value bucket) and ZeroMQ (topics and a request to the publisher). Nothing here waits
 * for a store that is away: calls reject, or resolve late.
 */
export interface SketchTransport {
  /** Gives the message to who is subscribed. Rejects when the store cannot be reached. */
  publish(channel: string, bytes: Uint8Array): Promise<void>;
  /**
   * `onMessage` is told of messages from when the promise resolves, through reconnections; the bytes are its own. While the
   * store cannot be reached it does not resolve; it rejects when the store refuses. `onInterrupted` is told whenever the
   * connection breaks or cannot be made, by a transport that notices: until the next message some may be lost. The answer
   * ends the subscription.
   */
  subscribe(
    channel: string,
    onMessage: (bytes: Uint8Array) => void,
    onInterrupted?: () => void,
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
