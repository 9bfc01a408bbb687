import { KvidxError } from '../../errors.js';
import { checkBytes, checkDelay, checkFunction, checkName } from '../../validate.js';
import type { SketchTransport } from './transport.js';

/** Within one process: publishers and subscribers are given the same object. Its timers do not keep the process alive. */
export function memoryTransport(): SketchTransport {
  return new MemoryTransport();
}

interface Subscription {
  readonly onMessage: (bytes: Uint8Array) => void;
}

interface Latest {
  readonly bytes: Uint8Array;
  readonly expiry: NodeJS.Timeout;
}

class MemoryTransport implements SketchTransport {
  readonly #channels = new Map<string, Set<Subscription>>();
  readonly #latest = new Map<string, Latest>();
  #closed = false;

  async publish(channel: string, bytes: Uint8Array): Promise<void> {
    this.#checkOpen();
    checkBytes(bytes);
    const subscriptions = this.#channels.get(checkName('channel', channel));
    for (const subscription of subscriptions ?? []) {
      const own = new Uint8Array(bytes);
      // Later, as from a store: who publishes is never called back before `publish` has returned.
      queueMicrotask(() => subscriptions!.has(subscription) && subscription.onMessage(own));
    }
  }

  async subscribe(channel: string, onMessage: (bytes: Uint8Array) => void): Promise<() => Promise<void>> {
    this.#checkOpen();
    checkName('channel', channel);
    const subscription = { onMessage: checkFunction('onMessage', onMessage) };
    const present = this.#channels.get(channel);
    const subscriptions = present ?? new Set();
    if (!present) this.#channels.set(channel, subscriptions);
    subscriptions.add(subscription);
    return async () => {
      subscriptions.delete(subscription);
      if (subscriptions.size === 0 && this.#channels.get(channel) === subscriptions)
        this.#channels.delete(channel);
    };
  }

  async setLatest(key: string, bytes: Uint8Array, ttlMs: number): Promise<void> {
    this.#checkOpen();
    checkName('key', key);
    const own = new Uint8Array(checkBytes(bytes));
    checkDelay('ttlMs', ttlMs, 1);
    clearTimeout(this.#latest.get(key)?.expiry);
    const expiry = setTimeout(() => this.#latest.delete(key), ttlMs).unref();
    this.#latest.set(key, { bytes: own, expiry });
  }

  async getLatest(key: string): Promise<Uint8Array | undefined> {
    this.#checkOpen();
    const latest = this.#latest.get(checkName('key', key));
    return latest && new Uint8Array(latest.bytes);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const subscriptions of this.#channels.values()) subscriptions.clear();
    this.#channels.clear();
    for (const { expiry } of this.#latest.values()) clearTimeout(expiry);
    this.#latest.clear();
  }

  #checkOpen(): void {
    if (this.#closed) throw new KvidxError('ERR_KVIDX_CLOSED', 'this transport is closed');
  }
}
