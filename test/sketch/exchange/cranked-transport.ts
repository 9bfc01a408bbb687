import { KvidxError } from '../../../src/errors.js';
import { decodeFrame } from '../../../src/sketch/frame.js';
import type { SketchTransport, SubscriptionWatch } from '../../../src/sketch/transport/transport.js';
import type { SketchFrame } from '../../../src/sketch/types.js';

export interface Listener {
  readonly channel: string;
  readonly onMessage: (bytes: Uint8Array) => void;
  readonly watch: SubscriptionWatch | undefined;
  /** In force. */
  isLive: boolean;
  /** What was sent to it last since then. */
  last: Message['bytes'] | undefined;
}

type Method = (typeof METHODS)[number];

const METHODS = ['publish', 'subscribe', 'setLatest', 'getLatest'] as const;

interface Message {
  readonly listener: Listener;
  readonly bytes: Uint8Array;
}

export const AWAY = new KvidxError('ERR_KVIDX_TRANSPORT', 'away');

/** A store without time: what is published travels until the test delivers it, to each listener by itself. */
export class CrankedTransport implements SketchTransport {
  readonly listeners = new Set<Listener>();
  readonly latest = new Map<string, { bytes: Uint8Array; ttlMs: number }>();
  /** All that was published, also to nobody. */
  readonly published: { channel: string; bytes: Uint8Array }[] = [];
  /** Messages that are neither delivered nor lost yet. */
  travelling: Message[] = [];
  /** Methods that reject. */
  readonly failing = new Set<Method>();
  /** Methods that do what they should, and reject: the answer got lost. */
  readonly unanswered = new Set<Method>();
  /** Methods that wait. */
  readonly #held = new Map<Method, Promise<void>>();
  /** Calls of `publish` under way, and the most that there were. */
  publishing = 0;
  mostPublishing = 0;

  async publish(channel: string, bytes: Uint8Array): Promise<void> {
    this.publishing += 1;
    this.mostPublishing = Math.max(this.mostPublishing, this.publishing);
    await this.#held.get('publish');
    this.publishing -= 1;
    this.#check('publish');
    const message = { channel, bytes: bytes.slice() };
    this.published.push(message);
    for (const listener of this.listeners) {
      if (listener.channel !== channel || !listener.isLive) continue;
      listener.last = message.bytes;
      this.travelling.push({ listener, bytes: bytes.slice() });
    }
    this.#answer('publish');
  }

  async subscribe(
    channel: string,
    onMessage: (bytes: Uint8Array) => void,
    watch?: SubscriptionWatch,
  ): Promise<() => Promise<void>> {
    await this.#held.get('subscribe');
    this.#check('subscribe');
    const listener: Listener = { channel, onMessage, watch, isLive: true, last: undefined };
    this.listeners.add(listener);
    return async () => {
      this.listeners.delete(listener);
      this.#loseAllTo(listener);
    };
  }

  async setLatest(key: string, bytes: Uint8Array, ttlMs: number): Promise<void> {
    await this.#held.get('setLatest');
    this.#check('setLatest');
    this.latest.set(key, { bytes: bytes.slice(), ttlMs });
    this.#answer('setLatest');
  }

  async getLatest(key: string): Promise<Uint8Array | undefined> {
    await this.#held.get('getLatest');
    this.#check('getLatest');
    return this.latest.get(key)?.bytes.slice();
  }

  async close(): Promise<void> {
    this.listeners.clear();
    this.travelling = [];
  }

  /** Calls of these methods (by default of all) wait until the answer is called. */
  hold(...methods: Method[]): () => void {
    const held = methods.length > 0 ? methods : METHODS;
    let release = () => {};
    const promise = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const method of held) this.#held.set(method, promise);
    return () => {
      for (const method of held) this.#held.delete(method);
      release();
    };
  }

  setAway(isAway: boolean): void {
    for (const method of METHODS) {
      if (isAway) this.failing.add(method);
      else this.failing.delete(method);
    }
  }

  /** The message arrives; another copy of it may travel on. */
  deliver(index: number, copies = false): void {
    const message = this.travelling[index]!;
    if (!copies) this.lose(index);
    message.listener.onMessage(message.bytes.slice());
  }

  lose(index: number): void {
    this.travelling.splice(index, 1);
  }

  deliverAll(): void {
    while (this.travelling.length > 0) this.deliver(0);
  }

  /** A message to who listens now, at once. */
  inject(channel: string, bytes: Uint8Array): void {
    for (const listener of this.listeners)
      if (listener.channel === channel) listener.onMessage(bytes.slice());
  }

  /** The connection breaks, with all that travels on it; or, with an error, the store refuses to take it up again. */
  interrupt(listener: Listener, error?: unknown): void {
    listener.isLive = false;
    listener.last = undefined;
    this.#loseAllTo(listener);
    listener.watch?.onInterrupted(error);
  }

  resume(listener: Listener): void {
    listener.isLive = true;
    listener.watch?.onResumed();
  }

  /** What was published on a channel. */
  frames(channel = 'kvidx-sketch:w'): SketchFrame[] {
    return this.published
      .filter((message) => message.channel === channel)
      .map(({ bytes }) => decodeFrame(bytes));
  }

  /** Times that this was published on. */
  count(channel: string): number {
    return this.published.filter((message) => message.channel === channel).length;
  }

  #loseAllTo(listener: Listener): void {
    this.travelling = this.travelling.filter((message) => message.listener !== listener);
  }

  #check(method: Method): void {
    if (this.failing.has(method)) throw AWAY;
  }

  #answer(method: Method): void {
    if (this.unanswered.has(method)) throw AWAY;
  }
}
