import { EventFeed, KvIndex, Router, redisTransport, SketchPublisher, ZmqSubscriber } from 'kvidx';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readOptions } from '../../../examples/openai-router/router/options.js';
import { createServer } from '../../../examples/openai-router/router/server.js';
import { hasNoRedis, RedisServer } from '../../sketch/exchange/redis-server.js';
import { openRouter, type TestedRouter, until } from './router-support.js';
import { MODEL, WorkerClient } from './worker-client.js';

const BLOCK_SIZE = 4;
const LONG = 'word '.repeat(60);

/** Workers that tell of their caches, and how a router is told of them. */
async function tellingWorkers(count: number, capacity = 10_000) {
  const clients = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      WorkerClient.start({ name: `w${i}`, blockSize: BLOCK_SIZE, capacity, eventsPort: 0, replayPort: 0 }),
    ),
  );
  const places = clients.map(({ worker: { url, events, replay } }, i) => ({
    name: `w${i}`,
    url,
    events: events!,
    replay: replay!,
  }));
  return { clients, places };
}

const routerBefore = (
  places: readonly { readonly name: string; readonly url: string }[],
  more: object = {},
) => openRouter([], { worker: places, blockSize: BLOCK_SIZE, policy: 'kv-aware:overlap=exclusive', ...more });

/** Resolves when the router knows of every worker as many blocks as it holds. */
async function knownWell(router: TestedRouter, clients: readonly WorkerClient[]): Promise<void> {
  await until('all blocks are known', async () => {
    const held = await Promise.all(clients.map(async (client) => (await client.state()).blocks));
    const known = (await router.state()).workers.map(({ residentBlocks }) => residentBlocks);
    return held.every((blocks, i) => blocks === known[i]);
  });
}

interface Turn {
  readonly worker: string | null;
  readonly expected: number;
  readonly told: number;
}

/** A chat that goes on by what was answered. */
function conversation(router: TestedRouter, session: string, fields: object = {}) {
  const messages: { role: 'user' | 'assistant'; content: string }[] = [];
  return async (content: string): Promise<Turn> => {
    messages.push({ role: 'user', content });
    const asked = router.client.chat.completions.create(
      { model: MODEL, messages, max_tokens: 8, ...fields },
      { headers: { 'x-session-id': session } },
    );
    const { data, response } = await asked.withResponse();
    messages.push({ role: 'assistant', content: data.choices[0]!.message.content! });
    return {
      worker: response.headers.get('x-kvidx-worker'),
      expected: Number(response.headers.get('x-kvidx-expected-tokens')),
      told: data.usage!.prompt_tokens_details!.cached_tokens!,
    };
  };
}

describe('by KV events', () => {
  it('a router expects what its workers then tell was cached, turn by turn', async () => {
    const { clients, places } = await tellingWorkers(2);
    const router = await routerBefore(places);
    const chats = ['a', 'b', 'c'].map((session) => conversation(router, session));
    let sum = 0;
    for (let turn = 0; turn < 4; turn++) {
      for (const [i, say] of chats.entries()) {
        const { expected, told } = await say(`Chat ${i}, turn ${turn}: ${LONG}`);
        expect(expected).toBe(told);
        if (turn > 0) expect(told).toBeGreaterThan(60 * turn);
        sum += told;
        await knownWell(router, clients);
      }
    }
    const { totals, workers } = await router.settled();
    expect(totals).toMatchObject({ toldCachedTokens: sum, expectedTokens: sum, finished: 12 });
    for (const { residency, residencyAgeMs, degraded } of workers) {
      expect([residency, degraded]).toEqual(['exact', undefined]);
      expect(residencyAgeMs).toBeGreaterThanOrEqual(0);
      expect(residencyAgeMs).toBeLessThan(60_000);
    }
  });

  it('the same holds under a salt, which shares nothing with others', async () => {
    const { clients, places } = await tellingWorkers(1);
    const router = await routerBefore(places);
    for (const salt of ['x', 'y']) {
      const say = conversation(router, salt, { cache_salt: salt });
      expect(await say(LONG)).toMatchObject({ expected: 0, told: 0 });
      await knownWell(router, clients);
      const { expected, told } = await say(LONG);
      expect(expected).toBe(told);
      expect(told).toBeGreaterThan(60);
      await knownWell(router, clients);
    }
  });

  it('a router knows what a worker evicted', async () => {
    const { clients, places } = await tellingWorkers(1, 40);
    const router = await routerBefore(places);
    const say = conversation(router, 'a');
    await say(LONG);
    await conversation(router, 'b')(`Something else: ${LONG} ${LONG}`);
    await knownWell(router, clients);
    const { expected, told } = await say('And now?');
    expect(expected).toBe(told);
    expect(told).toBeLessThan(60);
  });

  it('a router knows what a worker held before it came', async () => {
    const { clients, places } = await tellingWorkers(1);
    const before = await routerBefore(places);
    await conversation(before, 'a')(LONG);
    const after = await routerBefore(places);
    await knownWell(after, clients);
    const { expected, told } = await conversation(after, 'b')(LONG);
    expect(expected).toBe(told);
    expect(told).toBeGreaterThan(60);
  });

  it('a worker that comes back on its ports holds nothing', async () => {
    const { clients, places } = await tellingWorkers(1);
    const router = await routerBefore(places, { healthEveryMs: 10 });
    await conversation(router, 'a')(LONG);
    await knownWell(router, clients);
    const status = async () => (await router.state()).workers[0]!.status;
    await clients[0]!.worker.close();
    await until('it is down', async () => (await status()) === 'down');
    const port = (url: string) => Number(new URL(url).port);
    const [{ url, events, replay }] = places as [(typeof places)[0]];
    const back = await WorkerClient.start({
      blockSize: BLOCK_SIZE,
      port: port(url),
      eventsPort: port(events),
      replayPort: port(replay),
    });
    await until('it is back', async () => (await status()) === 'up');
    const { expected, told } = await conversation(router, 'b')(LONG);
    expect([expected, told]).toEqual([0, 0]);
    await knownWell(router, [back]);
    const again = await conversation(router, 'c')(LONG);
    expect(again.expected).toBe(again.told);
    expect(again.told).toBeGreaterThan(60);
  });

  it('says of a worker that tells nothing that nothing was told', async () => {
    const { worker } = await WorkerClient.start({ blockSize: BLOCK_SIZE });
    const router = await routerBefore([
      { name: 'w0', url: worker.url, events: 'tcp://127.0.0.1:1' } as { name: string; url: string },
    ]);
    await conversation(router, 'a')(LONG);
    const [told] = (await router.settled()).workers;
    expect(told).toMatchObject({ residency: 'exact', residentBlocks: 0, degraded: expect.any(String) });
    expect(told).not.toHaveProperty('residencyAgeMs');
  });
});

/** What a sidecar beside an engine does: sketches of what the engine's KV events tell. */
async function sidecar(
  { name, events, replay }: { name: string; events: string; replay: string },
  url: string,
) {
  const index = new KvIndex({ blockSize: BLOCK_SIZE });
  const subscriber = await ZmqSubscriber.open(new EventFeed(index));
  subscriber.follow(name, { endpoint: events, replayEndpoint: replay });
  const transport = await redisTransport({ url });
  const resident = {
    blockSize: BLOCK_SIZE,
    hashes: () => index.workers().map((tier) => index.enumerate(tier))[0] ?? new BigUint64Array(),
  };
  const publisher = new SketchPublisher({ transport, worker: name, resident, everyMs: 20 });
  publisher.start();
  onTestFinished(async () => {
    await Promise.all([subscriber.close(), publisher.close()]);
    await transport.close();
    index.close();
  });
  return publisher;
}

describe.skipIf(hasNoRedis)('by sketches in Redis', () => {
  async function startRedis(): Promise<RedisServer> {
    const redis = await RedisServer.start();
    onTestFinished(() => redis.stop());
    return redis;
  }

  it('routers that share nothing else expect what the workers then tell was cached', async () => {
    const redis = await startRedis();
    const { clients, places } = await tellingWorkers(2);
    await Promise.all(places.map((place) => sidecar(place, redis.url)));
    const bare = places.map(({ name, url }) => ({ name, url }));
    const one = await routerBefore(bare, { sketch: redis.url });
    const other = await routerBefore(bare, { sketch: redis.url });
    const routers = [one, other];
    const first = await conversation(one, 'a')(LONG);
    expect(first).toMatchObject({ expected: 0, told: 0 });
    for (const router of routers) await knownWell(router, clients);
    const { worker, expected, told } = await conversation(other, 'a')(LONG);
    expect(told).toBeGreaterThan(60);
    expect([worker, expected]).toEqual([first.worker, told]);
    for (const router of routers) {
      for (const { residency, residencyAgeMs } of (await router.settled()).workers) {
        expect(residency).toBe('sketch');
        expect(residencyAgeMs).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it('a router serves while Redis is away, says what is wrong, and follows again when it is back', async () => {
    const redis = await startRedis();
    const { clients, places } = await tellingWorkers(1);
    await sidecar(places[0]!, redis.url);
    await redis.kill();
    const router = await routerBefore([{ name: 'w0', url: places[0]!.url }], { sketch: redis.url });
    expect(await conversation(router, 'a')(LONG)).toMatchObject({ worker: 'w0', expected: 0 });
    expect((await router.settled()).workers[0]).toMatchObject({ degraded: expect.any(String) });
    await redis.start();
    await knownWell(router, clients);
    const { expected, told } = await conversation(router, 'b')(LONG);
    expect(expected).toBe(told);
    await router.settled();
  });
});

it('a router that is told no policy has that of the library, and shows it', async () => {
  const server = await createServer(readOptions(['--worker', 'http://127.0.0.1:1', '--log-level', 'silent']));
  onTestFinished(() => server.close(0));
  const library = new Router();
  expect(await (await server.app.inject('/debug/state')).json()).toMatchObject({
    policy: library.policy.spec,
  });
  library.close();
});

describe('a router does not start, and leaves nothing open,', () => {
  const place = { name: 'w0', url: 'http://127.0.0.1:1' };
  it.each<[string, object, RegExp]>([
    ['with a policy that is none', { policy: 'lpwll' }, /lpwll/],
    ['with events from nowhere', { worker: [{ ...place, events: 'nowhere' }] }, /nowhere/],
    ['with sketches from nowhere', { sketch: 'http://127.0.0.1' }, /redis:\/\//],
    ['with a tokenizer that is none', { tokenizer: '/no/such/tokenizer.json' }, /no\/such/],
  ])('%s', async (_, options, reason) => {
    await expect(openRouter([], { worker: [place], ...options })).rejects.toThrow(reason);
  });
});
