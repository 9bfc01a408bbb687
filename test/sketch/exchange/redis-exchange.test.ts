import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { SketchPublisher } from '../../../src/sketch/publisher.js';
import { SketchSubscriber } from '../../../src/sketch/subscriber.js';
import { redisTransport } from '../../../src/sketch/transport/redis.js';
import type { FollowedSketch, SketchPublisherOptions } from '../../../src/sketch/types.js';
import { range } from '../../kv-index/support.js';
import { hasNoRedis, RedisServer } from './redis-server.js';
import { Resident, until } from './support.js';

/** Found again soon, but patient with a machine that is busy. */
const QUICK = { commandTimeoutMs: 10_000, reconnectMs: 5, maxReconnectMs: 20 };
const IMPATIENT = { ...QUICK, commandTimeoutMs: 1000 };
/** Frames of a publisher that was started are so far apart, in ms. */
const EVERY_MS = 20;

interface Closable {
  close(): Promise<void>;
}

describe.skipIf(hasNoRedis)('workers and routers around one Redis', () => {
  const open: Closable[] = [];
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close();
  });

  async function newServer(): Promise<RedisServer> {
    const server = await RedisServer.start();
    onTestFinished(() => server.stop());
    return server;
  }

  async function worker(url: string, options?: Partial<SketchPublisherOptions>, redis = QUICK) {
    const transport = await redisTransport({ url, ...redis });
    const resident = new Resident(range(0, 5000));
    const publisher = new SketchPublisher({
      ...{ transport, worker: 'w', resident, everyMs: EVERY_MS, grantEveryMs: EVERY_MS },
      ...options,
    });
    open.push(transport, publisher);
    return { resident, publisher };
  }

  async function router(url: string, redis = QUICK) {
    const transport = await redisTransport({ url, ...redis });
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const subscriber = new SketchSubscriber({ transport, wantEveryMs: 50, onError });
    open.push(transport, subscriber);
    return { subscriber, errors, sketch: subscriber.follow('w') };
  }

  /** Does it have, bit for bit, what the worker holds? */
  function isCurrent({ sketch, degraded }: FollowedSketch, resident: Resident): boolean {
    return degraded === undefined && sketch?.filter.equals(resident.filter(sketch.filter.z)) === true;
  }

  const converge = (what: string, sketches: FollowedSketch[], resident: Resident) =>
    until(what, () => sketches.every((sketch) => isCurrent(sketch, resident)));

  it('routers agree after one frame; one that joins late has the latest full one at once', async () => {
    const { url } = await newServer();
    const { resident, publisher } = await worker(url);
    await publisher.publish();
    const [a, b] = [await router(url), await router(url)];
    await converge('two routers', [a.sketch, b.sketch], resident);
    resident.held.delete(17n);
    resident.add(range(10_000, 3));
    await publisher.publish();
    await converge('two routers again', [a.sketch, b.sketch], resident);
    expect([a.subscriber.stats().gaps, b.subscriber.stats().gaps]).toEqual([0, 0]);

    await publisher.publish({ full: true });
    const c = await router(url);
    await until('a third', () => c.sketch.sketch?.filter.equals(a.sketch.sketch!.filter) === true);
    await converge('it is confirmed', [c.sketch], resident);
  });

  it('one that joins after deltas of a publisher that sends none by itself is not taken to be current', async () => {
    const { url } = await newServer();
    const { resident, publisher } = await worker(url);
    await publisher.publish();
    resident.add(range(10_000, 3));
    await publisher.publish();
    const { sketch } = await router(url);
    await until('it has asked for more', () => {
      const { degraded, sketch: known } = sketch;
      if (known?.keys === 5000) expect(degraded).toBe('unconfirmed');
      return isCurrent(sketch, resident);
    });
  });

  it('one that may not listen for a while says so, and has all when it may again', async () => {
    const server = await newServer();
    await server.call('ACL', 'SETUSER', 'router', 'reset', 'on', '>pw', '~*', 'allchannels', '+@all');
    const { resident, publisher } = await worker(server.url);
    publisher.start();
    const { sketch, errors } = await router(server.url.replace('://', '://router:pw@'));
    await converge('it', [sketch], resident);
    await server.call('ACL', 'SETUSER', 'router', 'resetchannels');
    await until('it is told', () => errors.length > 0);
    const { full, delta } = publisher.stats();
    resident.add(range(10_000, 3));
    await until('many frames', () => publisher.stats().full + publisher.stats().delta > full + delta + 20);
    expect([sketch.degraded, sketch.sketch?.keys, errors.length]).toEqual(['transport', 5000, 1]);
    await server.call('ACL', 'SETUSER', 'router', 'allchannels');
    await converge('it again', [sketch], resident);
  });

  it('one that joins between two full frames catches up', async () => {
    const { url } = await newServer();
    const { resident, publisher } = await worker(url);
    publisher.start();
    resident.add(range(10_000, 3));
    const { sketch } = await router(url);
    await converge('it', [sketch], resident);
  });

  it('all agree again when the server is killed and comes back empty, under load', async () => {
    const server = await newServer();
    const { resident, publisher } = await worker(server.url);
    const [a, b] = [await router(server.url), await router(server.url)];
    publisher.start();
    await converge('two routers', [a.sketch, b.sketch], resident);

    // Both sides go on all the time: blocks come and go, and sketches are asked.
    const asked = range(0, 64);
    let next = 20_000n;
    let answered = 0;
    const load = setInterval(() => {
      resident.held.delete(next - 20n);
      resident.held.add(next++);
      answered += a.sketch.leadingBlocks(asked);
    }, 1);
    onTestFinished(() => clearInterval(load));
    await until('frames with changes', () => b.subscriber.stats().delta > 5);

    await server.kill();
    await until('it is noticed', () => [a, b].every(({ sketch }) => sketch.degraded === 'transport'));
    await until('frames fail', () => publisher.stats().failed > 2);
    expect(a.sketch.leadingBlocks(asked)).toBe(64);
    const during = answered;
    await until('asking goes on', () => answered > during + 10 * 64);

    await server.start();
    const back = performance.now();
    await until('no mark is left', () => [a, b].every(({ sketch }) => sketch.degraded === undefined));
    const tookMs = performance.now() - back;
    clearInterval(load);
    await converge('two routers again', [a.sketch, b.sketch], resident);
    console.info(`a Redis that came back empty: two routers were current after ${tookMs.toFixed(0)} ms`);
    const c = await router(server.url);
    await converge('a third', [c.sketch], resident);
  });

  it('all agree again when the server drops connections', async () => {
    const server = await newServer();
    const { resident, publisher } = await worker(server.url);
    const { sketch, subscriber } = await router(server.url);
    publisher.start();
    for (const type of ['pubsub', 'normal', 'pubsub']) {
      await converge('it', [sketch], resident);
      await server.call('CLIENT', 'KILL', 'TYPE', type);
      const { delta } = subscriber.stats();
      resident.add([BigInt(1e6 + delta)]);
      await until('frames come again', () => subscriber.stats().delta > delta);
    }
    await converge('it again', [sketch], resident);
  });

  it('a server that stands still holds nobody up', async () => {
    const server = await newServer();
    const { resident, publisher } = await worker(server.url, {}, IMPATIENT);
    const { sketch, subscriber } = await router(server.url, IMPATIENT);
    await publisher.publish();
    await converge('it', [sketch], resident);
    server.freeze();
    try {
      // Ends while the server stands still.
      await expect(publisher.publish()).rejects.toMatchObject({ code: 'ERR_KVIDX_TRANSPORT' });
      const other = subscriber.follow('v');
      expect([other.degraded, sketch.leadingBlocks(range(0, 10))]).toEqual(['empty', 10]);
      await until('the error is known', () => other.degraded === 'transport');
    } finally {
      server.thaw();
    }
    resident.add(range(10_000, 3));
    publisher.start();
    await converge('it again', [sketch], resident);
  });

  it('who begins without a server finds it when it comes', async () => {
    const server = await newServer();
    await server.kill();
    const { resident, publisher } = await worker(server.url);
    const { sketch, subscriber } = await router(server.url);
    publisher.start();
    await until('frames fail', () => publisher.stats().failed > 2);
    expect([sketch.sketch, subscriber.stats().workers]).toEqual([undefined, 1]);
    await server.start();
    await converge('it', [sketch], resident);
  });

  it('a worker that leaves is known to hold nothing; one that comes back is heard', async () => {
    const { url } = await newServer();
    const first = await worker(url);
    const { sketch } = await router(url);
    await first.publisher.publish();
    await converge('it', [sketch], first.resident);
    await first.publisher.close({ clear: true });
    await until('it is known', () => sketch.sketch?.keys === 0);
    expect([sketch.degraded, sketch.countBlocks(range(0, 5000))]).toEqual([undefined, 0]);
    // A clock that went back does not matter while the store has the last frame.
    const second = await worker(url, { now: () => 1000 });
    await second.publisher.publish();
    await converge('it again', [sketch], second.resident);
  });
});
