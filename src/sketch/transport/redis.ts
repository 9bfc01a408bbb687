import type { Redis } from 'ioredis';
import { KvidxError } from '../../errors.js';
import { guarded } from '../../guarded.js';
import { checkBytes, checkDelay, checkFunction, checkName } from '../../validate.js';
import { checkRedisOptions, type RedisSettings, type RedisTransportOptions } from './redis-options.js';
import { RedisSubscriptions } from './redis-subscriptions.js';
import type { SketchTransport, SubscriptionWatch } from './transport.js';

export type { RedisTransportOptions } from './redis-options.js';

/** A subscribed connection only listens: it would not notice that the other side is gone. */
const PING_EVERY_MS = 5000;

/**
 * Channels are those of Redis' publish and subscribe, latest frames are keys that expire; Valkey is one, too. Resolves after
 * the first try to connect, well or not: a store that is away is tried for ever, and meanwhile calls reject at once with
 * ERR_KVIDX_TRANSPORT, as they do while it refuses the database. ERR_KVIDX_TRANSPORT: the package `ioredis` is not installed. ERR_KVIDX_INVALID_ARG_TYPE,
 * ERR_KVIDX_OUT_OF_RANGE.
 */
export async function redisTransport(options?: RedisTransportOptions): Promise<SketchTransport> {
  const settings = checkRedisOptions(options);
  const transport = new RedisTransport(await loadRedis(), settings);
  await transport.connect();
  return transport;
}

async function loadRedis(): Promise<typeof Redis> {
  try {
    return (await import('ioredis')).Redis;
  } catch (cause) {
    const message = 'redisTransport uses the package ioredis, which does not load: npm install ioredis';
    throw new KvidxError('ERR_KVIDX_TRANSPORT', message, { cause });
  }
}

class RedisTransport implements SketchTransport {
  readonly #address: string;
  /** A connection that has subscribed takes hardly any other command. */
  readonly #commands: Redis;
  readonly #listening: Redis;
  readonly #subscriptions: RedisSubscriptions;
  readonly #ping: NodeJS.Timeout;
  readonly #database: number;
  readonly #commandTimeoutMs: number;
  /** On the present connection. */
  #isSelected = false;
  /** What befell the connection for commands last, since it was there. */
  #trouble: Error | undefined;
  #closed = false;

  constructor(Client: typeof Redis, settings: RedisSettings) {
    const { address, connection, database, commandTimeoutMs, onError } = settings;
    this.#address = address;
    this.#database = database;
    this.#commandTimeoutMs = commandTimeoutMs;
    const tell = guarded(onError);
    this.#commands = new Client({ ...connection, commandTimeout: commandTimeoutMs });
    // No time limit of its own for a SUBSCRIBE: given up here, it may still come into force there.
    this.#listening = new Client(connection);
    for (const client of [this.#commands, this.#listening]) {
      client.on('error', (error: Error) => this.#closed || tell(this.#failure('connection', error)));
    }
    this.#commands.on('error', (error: Error) => {
      this.#trouble = error;
    });
    this.#commands.on('ready', () => {
      this.#trouble = undefined;
      this.#select().catch((error) => this.#closed || tell(this.#failure('database', error)));
    });
    this.#commands.on('close', () => {
      this.#isSelected = false;
    });
    this.#subscriptions = new RedisSubscriptions({
      redis: this.#listening,
      refused: (what, cause) => this.#failure(what, cause),
      onError: tell,
      pauseMs: connection.retryStrategy,
    });
    this.#ping = setInterval(() => {
      if (this.#listening.status === 'ready') this.#listening.ping().catch(() => {});
    }, PING_EVERY_MS).unref();
  }

  async connect(): Promise<void> {
    await Promise.allSettled([this.#commands.connect(), this.#listening.connect()]);
  }

  async publish(channel: string, bytes: Uint8Array): Promise<void> {
    checkName('channel', channel);
    const message = asBuffer(checkBytes(bytes));
    await this.#call('publish', (redis) => redis.publish(channel, message));
  }

  async subscribe(
    channel: string,
    onMessage: (bytes: Uint8Array) => void,
    watch?: SubscriptionWatch,
  ): Promise<() => Promise<void>> {
    if (this.#closed) throw closedError();
    checkName('channel', channel);
    checkFunction('onMessage', onMessage);
    return this.#subscriptions.subscribe(channel, onMessage, watch);
  }

  async setLatest(key: string, bytes: Uint8Array, ttlMs: number): Promise<void> {
    checkName('key', key);
    const value = asBuffer(checkBytes(bytes));
    const ms = Math.ceil(checkDelay('ttlMs', ttlMs, 1));
    await this.#call('set', (redis) => redis.set(key, value, 'PX', ms));
  }

  async getLatest(key: string): Promise<Uint8Array | undefined> {
    checkName('key', key);
    const value = await this.#call('get', (redis) => redis.getBuffer(key));
    return value === null ? undefined : new Uint8Array(value);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#ping);
    this.#subscriptions.close(closedError());
    this.#commands.disconnect();
    this.#listening.disconnect();
  }

  async #call<T>(what: string, command: (redis: Redis) => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError();
    if (this.#commands.status !== 'ready') throw this.#callFailure(what);
    try {
      await this.#select();
      return await command(this.#commands);
    } catch (error) {
      throw this.#closed ? closedError() : this.#callFailure(what, error as Error);
    }
  }

  /**
   * Before any command on a connection. In capitals: of a `select` ioredis takes note, and repeats it by itself on the next
   * connection, where commands would go to database 0 if it is refused.
   */
  async #select(): Promise<void> {
    if (this.#isSelected) return;
    if (this.#database !== 0) await this.#commands.call('SELECT', this.#database);
    this.#isSelected = true;
  }

  /** What ioredis rejects with speaks of its own options; what befell the connection is the reason. */
  #callFailure(what: string, error?: Error): KvidxError {
    if (error?.name === 'ReplyError') return this.#failure(what, error);
    if (error?.message === 'Command timed out')
      return this.#failure(what, error, `no answer within ${this.#commandTimeoutMs} ms`);
    const trouble = this.#trouble;
    const problem = trouble ? `not connected: ${messageOf(trouble)}` : 'not connected';
    return this.#failure(what, trouble ?? error, problem);
  }

  #failure(what: string, cause?: Error, problem = cause && messageOf(cause)): KvidxError {
    const message = `Redis at ${this.#address}: ${what}: ${problem}`;
    return new KvidxError('ERR_KVIDX_TRANSPORT', message, { cause });
  }
}

/** That of several addresses tried has none of its own. */
function messageOf(error: NodeJS.ErrnoException): string {
  return error.message || `${error.code}`;
}

function closedError(): KvidxError {
  return new KvidxError('ERR_KVIDX_CLOSED', 'this transport is closed');
}

/** Aliased; ioredis copies it while it is called. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
