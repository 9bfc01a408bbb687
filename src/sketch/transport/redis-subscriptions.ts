import type { Redis } from 'ioredis';
import type { KvidxError } from '../../errors.js';

interface Listener {
  readonly onMessage: (bytes: Uint8Array) => void;
  readonly onInterrupted: (() => void) | undefined;
  /** Until the server has answered once. */
  waiting: { resolve: () => void; reject: (error: KvidxError) => void } | undefined;
}

interface Channel {
  readonly name: string;
  readonly listeners: Set<Listener>;
  /** The server delivers, on the present connection. */
  live: boolean;
}

/**
 * What is subscribed on one connection, asked for anew after each reconnection.
 * Cost: a SUBSCRIBE a channel and connection, however many listen.
 */
export class RedisSubscriptions {
  readonly #redis: Redis;
  readonly #channels = new Map<string, Channel>();
  readonly #refused: (what: string, cause: Error) => KvidxError;
  readonly #onError: (error: KvidxError) => void;

  /** `refused` makes the error of a server that says no; `onError` is told of one that said yes before. */
  constructor(
    redis: Redis,
    refused: (what: string, cause: Error) => KvidxError,
    onError: (error: KvidxError) => void,
  ) {
    this.#redis = redis;
    this.#refused = refused;
    this.#onError = onError;
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
    onInterrupted: (() => void) | undefined,
  ): Promise<() => Promise<void>> {
    const channel = this.#channels.get(name) ?? this.#open(name);
    const listener: Listener = { onMessage, onInterrupted, waiting: undefined };
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
    for (const { listeners } of this.#channels.values()) {
      for (const { waiting } of listeners) waiting?.reject(error);
    }
    this.#channels.clear();
  }

  #open(name: string): Channel {
    const channel: Channel = { name, listeners: new Set(), live: false };
    this.#channels.set(name, channel);
    if (this.#redis.status === 'ready') this.#ask(channel);
    return channel;
  }

  async #ask(channel: Channel): Promise<void> {
    try {
      await this.#redis.subscribe(channel.name);
    } catch (error) {
      // Without a connection it is asked again on the next one.
      if ((error as Error).name === 'ReplyError') this.#refuse(channel, error as Error);
      return;
    }
    channel.live = true;
    for (const listener of channel.listeners) {
      listener.waiting?.resolve();
      listener.waiting = undefined;
    }
  }

  #refuse(channel: Channel, cause: Error): void {
    const error = this.#refused(`subscribing to ${channel.name}`, cause);
    let told = false;
    for (const listener of channel.listeners) {
      const { waiting } = listener;
      if (!waiting) continue;
      channel.listeners.delete(listener);
      waiting.reject(error);
      told = true;
    }
    if (channel.listeners.size === 0) this.#channels.delete(channel.name);
    else if (!told) this.#onError(error);
  }

  #interrupt(): void {
    for (const channel of this.#channels.values()) {
      channel.live = false;
      for (const { onInterrupted } of [...channel.listeners]) onInterrupted?.();
    }
  }

  async #leave(channel: Channel, listener: Listener): Promise<void> {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0 || this.#channels.get(channel.name) !== channel) return;
    this.#channels.delete(channel.name);
    // A connection that breaks meanwhile has ended it, too.
    if (this.#redis.status === 'ready') await this.#redis.unsubscribe(channel.name).catch(() => {});
  }
}
