import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type RedisTransportOptions, redisTransport } from '../../../src/sketch/transport/redis.js';
import type { SketchTransport } from '../../../src/sketch/transport/transport.js';
import { hasNoRedis, RedisServer } from './redis-server.js';
import { until } from './support.js';

const CLOSED = { name: 'KvidxError', code: 'ERR_KVIDX_CLOSED' };
const FAILED = { name: 'KvidxError', code: 'ERR_KVIDX_TRANSPORT' };
/** Every byte, what is no UTF-8 included. */
const BYTES = Uint8Array.from({ length: 256 }, (_, i) => i);
const PATIENCE = { timeout: 20_000 };
/** Found again soon, but patient with a machine that is busy. */
const QUICK = { commandTimeoutMs: 10_000, reconnectMs: 5, maxReconnectMs: 20 };

/** Of one test. */
async function newServer(): Promise<RedisServer> {
  const server = await RedisServer.start();
  onTestFinished(() => server.stop());
  return server;
}

describe.skipIf(hasNoRedis)('through a Redis', () => {
  let server: RedisServer;
  const open: SketchTransport[] = [];

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((transport) => transport.close()));
  });
  afterAll(() => server.stop());

  async function connect(options?: RedisTransportOptions): Promise<SketchTransport> {
    const transport = await redisTransport({ url: server.url, ...QUICK, ...options });
    open.push(transport);
    return transport;
  }

  /** Publishes until the message has arrived: one that is sent while the other side reconnects is lost. */
  async function arrives(from: SketchTransport, channel: string, got: unknown[]): Promise<void> {
    const before = got.length;
    await until('a message arrives', () => {
      from.publish(channel, BYTES).catch(() => {});
      return got.length > before;
    });
  }

  it('messages reach who is subscribed, byte by byte', async () => {
    const [from, to] = [await connect(), await connect()];
    const got: Uint8Array[] = [];
    const leave = [
      await to.subscribe('ä:1', (bytes) => got.push(bytes)),
      await to.subscribe('ä:1', (bytes) => got.push(bytes)),
      await to.subscribe('other', () => expect.fail('of another channel')),
    ];
    await from.publish('ä:1', BYTES);
    await from.publish('ä:1', new Uint8Array(0));
    await until('two messages arrive', () => got.length === 4);
    expect(got).toEqual([BYTES, BYTES, new Uint8Array(0), new Uint8Array(0)]);
    await leave[0]!();
    await from.publish('ä:1', BYTES);
    await until('one arrives', () => got.length === 5);
    await leave[1]!();
    expect(await server.call('PUBSUB', 'CHANNELS')).toEqual(['other']);
    await to.subscribe('ä:1', (bytes) => got.push(bytes));
    await from.publish('ä:1', BYTES);
    await until('one arrives again', () => got.length === 6);
  });

  it('the latest message stays under its key, byte by byte, until it expires', async () => {
    const transport = await connect();
    expect(await transport.getLatest('k')).toBeUndefined();
    await transport.setLatest('k', BYTES, 60_000);
    expect(await transport.getLatest('k')).toEqual(BYTES);
    const ttlMs = Number(await server.call('PTTL', 'k'));
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(60_000);
    await transport.setLatest('k', Uint8Array.of(1), 0.5 + 1);
    await vi.waitFor(async () => expect(await transport.getLatest('k')).toBeUndefined(), PATIENCE);
  });

  it('a user, a password and a database are those of the URL', async () => {
    await server.call('ACL', 'SETUSER', 'u', 'reset', 'on', '>p@ss', '~k', '&allowed', '+@all');
    const transport = await connect({ url: server.url.replace('://', '://u:p%40ss@').concat('/3') });
    await transport.setLatest('k', BYTES, 60_000);
    expect(await server.call('EXISTS', 'k')).toBe(0);
    expect(await transport.getLatest('k')).toEqual(BYTES);
    await transport.subscribe('allowed', () => {});
    await expect(transport.subscribe('forbidden', () => {})).rejects.toMatchObject(FAILED);
    await expect(transport.publish('forbidden', BYTES)).rejects.toMatchObject(FAILED);
    await expect(transport.getLatest('forbidden')).rejects.toMatchObject(FAILED);
  });

  it('a subscription that is refused on the way is told of, tried again, and resumed when it may be', async () => {
    await server.call('ACL', 'SETUSER', 'v', 'reset', 'on', '>pw', 'allchannels', '+@all');
    const errors: Error[] = [];
    const to = await connect({
      url: server.url.replace('://', '://v:pw@'),
      onError: (error) => errors.push(error),
    });
    const [got, refused, resumed] = [[] as Uint8Array[], vi.fn(), vi.fn()];
    const watch = { onInterrupted: (error?: unknown) => error && refused(error), onResumed: resumed };
    const leave = await to.subscribe('a', (bytes) => got.push(bytes), watch);
    await server.call('ACL', 'SETUSER', 'v', 'resetchannels'); // hangs up, too
    await until('it is refused again and again', () => refused.mock.calls.length > 2);
    expect(refused.mock.calls[0]![0]).toMatchObject({
      ...FAILED,
      message: expect.stringContaining('NOPERM'),
    });
    expect(errors).toContain(refused.mock.calls[0]![0]);
    expect(resumed).not.toHaveBeenCalled();
    await server.call('ACL', 'SETUSER', 'v', 'allchannels');
    await until('it is resumed', () => resumed.mock.calls.length === 1);
    await (await connect()).publish('a', BYTES);
    await until('a message arrives', () => got.length === 1);
    await leave();
  });

  it('nothing goes to another database than that of the URL, also after a reconnection', async () => {
    const errors: Error[] = [];
    const missing = await connect({ url: `${server.url}/99`, onError: (error) => errors.push(error) });
    const outOfRange = { ...FAILED, message: expect.stringContaining('DB index is out of range') };
    for (const call of [
      missing.publish('a', BYTES),
      missing.setLatest('elsewhere', BYTES, 60_000),
      missing.getLatest('elsewhere'),
    ]) {
      await expect(call).rejects.toMatchObject(outOfRange);
    }
    expect(errors[0]).toMatchObject(outOfRange);
    await server.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await until('it is connected again', () => errors.length > 1);
    await expect(missing.setLatest('elsewhere', BYTES, 60_000)).rejects.toMatchObject(FAILED);

    const third = await connect({ url: `${server.url}/3` });
    await third.setLatest('third', BYTES, 60_000);
    await server.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await vi.waitFor(() => third.setLatest('third', BYTES, 60_000), PATIENCE);
    expect(await server.call('EXISTS', 'elsewhere', 'third')).toBe(0);
  });

  it('a database that may not be selected any more is not written to', async () => {
    await server.call('ACL', 'SETUSER', 's', 'reset', 'on', '>pw', '~*', 'allchannels', '+@all');
    const errors: Error[] = [];
    const url = server.url.replace('://', '://s:pw@').concat('/3');
    const transport = await connect({ url, onError: (error) => errors.push(error) });
    await transport.setLatest('fourth', BYTES, 60_000);
    await server.call('ACL', 'SETUSER', 's', '-select');
    await server.call('CLIENT', 'KILL', 'USER', 's');
    const refused = { ...FAILED, message: expect.stringContaining('NOPERM') };
    await until('it is refused', () => errors.some(({ message }) => message.includes('NOPERM')));
    await expect(transport.setLatest('fourth', BYTES, 60_000)).rejects.toMatchObject(refused);
    expect(await server.call('EXISTS', 'fourth')).toBe(0);
    await server.call('ACL', 'SETUSER', 's', '+select');
    await transport.setLatest('fourth', BYTES, 60_000);
    expect(await server.call('EXISTS', 'fourth')).toBe(0);
  });

  it('a wrong password is told, and is none of the message', async () => {
    const errors: Error[] = [];
    const transport = await connect({
      url: server.url.replace('://', '://u:secret@'),
      onError: (error) => errors.push(error),
    });
    await expect(transport.publish('a', BYTES)).rejects.toMatchObject({
      ...FAILED,
      message: expect.stringMatching(/publish: not connected: .*WRONGPASS/),
      cause: expect.any(Error),
    });
    expect(errors[0]).toMatchObject({ ...FAILED, message: expect.stringContaining('WRONGPASS') });
    expect(errors.map(({ message }) => message).join()).not.toContain('secret');
  });

  it('connections that the server drops are made again, and what was subscribed is', async () => {
    const [from, to] = [await connect(), await connect()];
    const got: Uint8Array[] = [];
    const told: string[] = [];
    const watch = { onInterrupted: () => told.push('interrupted'), onResumed: () => told.push('resumed') };
    await to.subscribe('a', (bytes) => got.push(bytes), watch);
    expect(told).toEqual([]);
    for (let times = 1; times <= 3; times++) {
      await server.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await until('it is resumed', () => told.length === 2 * times);
      expect(told.slice(-2)).toEqual(['interrupted', 'resumed']);
      await from.publish('a', BYTES);
      await until('a message arrives', () => got.length === times);
    }
    await server.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await arrives(from, 'a', got);
    await vi.waitFor(() => to.setLatest('k', BYTES, 1000), PATIENCE);
  });

  it('a server that stands still is given up on, and found again when it goes on', async () => {
    const errors: Error[] = [];
    const transport = await connect({ commandTimeoutMs: 1000, onError: (error) => errors.push(error) });
    const got: Uint8Array[] = [];
    await transport.subscribe('a', (bytes) => got.push(bytes));
    server.freeze();
    try {
      // Each of these rejects while the server stands still.
      await expect(transport.publish('a', BYTES)).rejects.toMatchObject({
        ...FAILED,
        message: expect.stringMatching(/no answer within 1000 ms|not connected/),
      });
      await expect(transport.getLatest('k')).rejects.toMatchObject(FAILED);
      await expect(transport.setLatest('k', BYTES, 1)).rejects.toMatchObject(FAILED);
    } finally {
      server.thaw();
    }
    await arrives(transport, 'a', got);
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) expect(error).toMatchObject(FAILED);
  });
});

describe.skipIf(hasNoRedis)('a Redis that is away', () => {
  it('is waited for by who subscribes; calls reject at once; all works when it comes', async () => {
    const server = await newServer();
    await server.kill();
    const errors: Error[] = [];
    const transport = await redisTransport({
      url: server.url,
      ...QUICK,
      onError: (error) => errors.push(error),
    });
    expect(errors[0]).toMatchObject({ ...FAILED, message: expect.stringContaining('ECONNREFUSED') });
    const why = {
      message: expect.stringMatching(/: not connected: connect ECONNREFUSED/),
      cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
    };
    await expect(transport.publish('a', BYTES)).rejects.toMatchObject({ ...FAILED, ...why });
    await expect(transport.getLatest('k')).rejects.toMatchObject({ ...FAILED, ...why });

    const got: Uint8Array[] = [];
    let leave: (() => Promise<void>) | undefined;
    const subscribed = transport
      .subscribe('a', (bytes) => got.push(bytes))
      .then((end) => {
        leave = end;
      });
    await expect(transport.publish('a', BYTES)).rejects.toMatchObject(FAILED);
    expect(leave).toBeUndefined();
    await server.start();
    await subscribed;
    await vi.waitFor(() => transport.publish('a', BYTES), PATIENCE);
    await until('it arrives', () => got.length > 0);

    await server.kill();
    await leave!();
    await expect(transport.publish('a', BYTES)).rejects.toMatchObject(FAILED);
    await server.start();
    await vi.waitFor(() => transport.setLatest('k', BYTES, 1000), PATIENCE);
    expect(await server.call('PUBSUB', 'CHANNELS')).toEqual([]);
    await transport.close();
  });

  it('accepts connections and stands still: the transport is there all the same, and works when it goes on', async () => {
    const server = await newServer();
    server.freeze();
    const transport = await redisTransport({ url: server.url, ...QUICK, commandTimeoutMs: 500 });
    await expect(transport.publish('a', BYTES)).rejects.toMatchObject(FAILED);
    server.thaw();
    await vi.waitFor(() => transport.setLatest('k', BYTES, 1000), PATIENCE);
    await transport.close();
  });

  it('is away for a transport whose onError throws, too', async () => {
    const server = await newServer();
    await server.kill();
    const transport = await redisTransport({
      url: server.url,
      ...QUICK,
      onError: () => {
        throw new Error('bug');
      },
    });
    await expect(transport.publish('a', BYTES)).rejects.toMatchObject(FAILED);
    await transport.close();
  });
});

describe.skipIf(hasNoRedis)('a transport that is closed', () => {
  /** Sockets, and timers that keep the process alive; other timers come and go. */
  const resources = () => process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).length;

  it.each<[string, (server: RedisServer) => Promise<void>]>([
    ['while the server answers', async () => {}],
    ['while the server is away', (server) => server.kill()],
    ['while the server stands still', async (server) => server.freeze()],
  ])('%s leaves nothing behind, and refuses all calls', async (_, prepare) => {
    const server = await newServer();
    const before = resources();
    const transport = await redisTransport({ url: server.url, ...QUICK });
    await transport.subscribe('a', () => {});
    await prepare(server);
    const pending = [transport.publish('a', BYTES), transport.subscribe('b', () => {})];
    const settled = Promise.allSettled(pending);
    await transport.close();
    await transport.close();
    for (const call of [
      transport.publish('a', BYTES),
      transport.subscribe('a', () => {}),
      transport.setLatest('k', BYTES, 1),
      transport.getLatest('k'),
    ]) {
      await expect(call).rejects.toMatchObject(CLOSED);
    }
    await settled;
    await until('nothing is left', () => resources() <= before);
  });

  it('lets who waits for the store know', async () => {
    const server = await newServer();
    await server.kill();
    const transport = await redisTransport({ url: server.url, ...QUICK });
    const waiting = expect(transport.subscribe('a', () => {})).rejects.toMatchObject(CLOSED);
    await transport.close();
    await waiting;
  });
});
