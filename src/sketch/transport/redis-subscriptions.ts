import type { Redis } from 'ioredis';
import type { KvidxError } from '../../errors.js';
import type { SubscriptionWatch } from './transport.js';

interface Listener {
  readonly onMessage: (bytes: Uint8Array) => void;
  readonly watch: SubscriptionWatch | undefined;
  /** Until the server has answered once. */
  waiting: { resolve: () => void; reject: (error: KvidxError) => void } | undefined;
}

interface Channel {
  readonly name: string;
  readonly listeners: Set<Listener>;
  /** The server delivers, on the present connection. */
  live: boolean;
  /** How often the server refused since, and when it is asked again. */
  refusals: number;
  again: NodeJS.Timeout | undefined;
}

export interface RedisSubscriptionsOptions {
  readonly redis: Redis;
  /** Makes the error of a server that says no. */
  readonly refused: (what: string, cause: Error) => KvidxError;
  /** Told of a server that said yes before, and now no. */
  readonly onError: (error: KvidxError) => void;
  /** How long to wait before it is asked again, by how often it was. */
  readonly pauseMs: (attempt: number) => number;
}

/**
 * What is subscribed on one connection, asked for anew after each reconnection, and after a refusal when a pause is over.
 * Cost: a SUBSCRIBE a channel and connection, however many listen.
 */
export class RedisSubscriptions {
  readonly #redis: Redis;
  readonly #channels = new Map<string, Channel>();
  readonly #options: RedisSubscriptionsOptions;

  constructor(options: RedisSubscriptionsOptions) {
    const { redis } = options;
    this.#redis = redis;
    this.#options = options;
    redis.on('ready', () => {
      for (const channel of this.#channels.values()) this.#ask(channel);
    });
    redis.on('close', () => this.#interrupt());
    redis.on('messageBuffer', (name: Buffer, message: Buffer) => {
      const listeners = this.#channels.get(name.toString())?.listeners ?? [];
      // Copied: it may be a slice of all that the socket gave.
      for (const { onMessage } of [...listeners]) onMessage(new Uint8Array(message));
    });
  }

  /** As `SketchTransport.subscribe`. */
  async subscribe(
    name: string,
    onMessage: (bytes: Uint8Array) => void,
    watch: SubscriptionWatch | undefined,
  ): Promise<() => Promise<void>> {
    const channel = this.#channels.get(name) ?? this.#open(name);
    const listener: Listener = { onMessage, watch, waiting: undefined };
    channel.listeners.add(listener);
    if (!channel.live) {
      await new Promise<void>((resolve, reject) => {
        listener.waiting = { resolve, reject };
      });
    }
    return () => this.#leave(channel, listener);
  }

  /** Rejects who waits with ERR_KVIDX_CLOSED. */
  close(error: KvidxError): void {
    for (const { listeners, again } of this.#channels.values()) {
      clearTimeout(again);
      for (const { waiting } of listeners) waiting?.reject(error);
      listeners.clear();
    }
    this.#channels.clear();
  }

  #open(name: string): Channel {
    const channel: Channel = { name, listeners: new Set(), live: false, refusals: 0, again: undefined };
    this.#channels.set(name, channel);
    if (this.#redis.status === 'ready') this.#ask(channel);
    return channel;
  }

  async #ask(channel: Channel): Promise<void> {
    clearTimeout(channel.again);
    channel.again = undefined;
    try {
      await this.#redis.subscribe(channel.name);
    } catch (error) {
      // Without a connection it is asked again on the next one.
      if ((error as Error).name === 'ReplyError') this.#refuse(channel, error as Error);
      return;
    }
    channel.live = true;
    channel.refusals = 0;
    for (const listener of [...channel.listeners]) {
      const { waiting, watch } = listener;
      listener.waiting = undefined;
      if (waiting) waiting.resolve();
      else watch?.onResumed();
    }
  }

  #refuse(channel: Channel, cause: Error): void {
    const { refused, onError, pauseMs } = this.#options;
    const error = refused(`subscribing to ${channel.name}`, cause);
    for (const listener of [...channel.listeners]) {
      const { waiting, watch } = listener;
      if (waiting) channel.listeners.delete(listener);
      if (waiting) waiting.reject(error);
      else watch?.onInterrupted(error);
    }
    if (channel.listeners.size === 0) {
      this.#forget(channel);
      return;
    }
    if (channel.refusals === 0) onError(error);
    channel.refusals += 1;
    channel.again = setTimeout(() => this.#ask(channel), pauseMs(channel.refusals)).unref();
  }

  #forget(channel: Channel): void {
    clearTimeout(channel.again);
    if (this.#channels.get(channel.name) === channel) this.#channels.delete(channel.name);
  }

  #interrupt(): void {
    for (const channel of this.#channels.values()) {
      channel.live = false;
      // The next connection is asked at once.
      clearTimeout(channel.again);
      for (const { watch } of [...channel.listeners]) watch?.onInterrupted();
    }
  }

  async #leave(channel: Channel, listener: Listener): Promise<void> {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0 || this.#channels.get(channel.name) !== channel) return;
    this.#forget(channel);
    // A connection that breaks meanwhile has ended it, too.
    if (this.#redis.status === 'ready') await this.#redis.unsubscribe(channel.name).catch(() => {});
  }
}
