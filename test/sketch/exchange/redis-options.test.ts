import { afterEach, describe, expect, it, vi } from 'vitest';
import { type RedisTransportOptions, redisTransport } from '../../../src/sketch/transport/redis.js';

describe('options that make no transport', () => {
  it.each<[string, Partial<Record<keyof RedisTransportOptions, unknown>>, string]>([
    ['a URL that is none', { url: 'localhost:6379' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a URL of another kind', { url: 'http://localhost' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a URL without a host', { url: 'redis:///0' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a database that no Redis has', { url: 'redis://h/9999999999999999' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a database beyond all numbers', { url: `redis://h/${'9'.repeat(400)}` }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a password that is badly encoded', { url: 'redis://user:%zz@h' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a user that is badly encoded', { url: 'redis://%ff@h' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a database that is no number', { url: 'redis://localhost/a' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['an object for a URL', { url: { host: 'localhost' } }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['no time to connect', { connectTimeoutMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['no time to answer', { commandTimeoutMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a pause below 0', { reconnectMs: -1 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a pause that no timer waits', { maxReconnectMs: 2 ** 31 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['an onError that is none', { onError: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('%s', async (_, options, code) => {
    await expect(redisTransport(options as RedisTransportOptions)).rejects.toMatchObject({ code });
  });

  it('say which form they must have', async () => {
    await expect(redisTransport({ url: 'redis://u:%zz@h' })).rejects.toThrow(
      'url must be of the form redis://[user:password@]host[:port][/database]',
    );
  });

  it('do not repeat a password', async () => {
    await expect(redisTransport({ url: 'redis://u:secret@h/a' })).rejects.toThrow(/^(?!.*secret)/);
  });
});

describe('without ioredis', () => {
  afterEach(() => {
    vi.doUnmock('ioredis');
    vi.resetModules();
  });

  it('the error says what to install', async () => {
    vi.resetModules();
    vi.doMock('ioredis', () => {
      throw new Error("Cannot find package 'ioredis'");
    });
    const { redisTransport: fresh } = await import('../../../src/sketch/transport/redis.js');
    await expect(fresh()).rejects.toMatchObject({
      name: 'KvidxError',
      code: 'ERR_KVIDX_TRANSPORT',
      message: expect.stringContaining('npm install ioredis'),
    });
  });
});
