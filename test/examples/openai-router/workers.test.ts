import { Router } from 'kvidx';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type WorkerHealth, Workers } from '../../../examples/openai-router/router/workers.js';
import { stubWorker, until } from './router-support.js';
import type { StubWorker } from './stub-worker.js';

interface Change {
  readonly name: string;
  readonly status: string;
  readonly reason: string | undefined;
  readonly lost: readonly string[];
}

async function watch(stubs: readonly StubWorker[], healthEveryMs = 10) {
  const router = new Router({ blockSize: 4, policy: 'round-robin' });
  const dispatcher = new Agent({ connect: { timeout: 2000 } });
  const changes: Change[] = [];
  const workers = new Workers({
    places: stubs.map(({ url }, i) => ({ name: `w${i}`, url })),
    router,
    dispatcher,
    healthEveryMs,
    joinAs: () => ({ capacity: 100 }),
    onChange: ({ name, status, reason }: WorkerHealth, lost) => changes.push({ name, status, reason, lost }),
  });
  onTestFinished(async () => {
    workers.close();
    await dispatcher.destroy();
    router.close();
  });
  await workers.start();
  const statuses = () => workers.all().map(({ status }) => status);
  return { workers, router, changes, statuses };
}

describe('workers', () => {
  it('join the router when they were looked at, with what they serve', async () => {
    const { workers, router, changes } = await watch([
      await stubWorker({ models: [{ id: 'base' }, { id: 'adapter', parent: 'base' }] }),
      await stubWorker({ models: [{ id: 'other' }] }),
    ]);
    expect(router.workers().map(({ name, status }) => [name, status])).toEqual([
      ['w0', 'up'],
      ['w1', 'up'],
    ]);
    expect(changes.map(({ name, status }) => [name, status])).toEqual(
      expect.arrayContaining([
        ['w0', 'up'],
        ['w1', 'up'],
      ]),
    );
    expect(workers.models()).toEqual(['base', 'adapter', 'other']);
    expect(workers.without('base')).toEqual(['w1']);
    expect(workers.without('nobody')).toEqual(['w0', 'w1']);
    expect(['base', 'other', 'nobody'].map((model) => workers.knows(model))).toEqual([true, true, false]);
    expect(['base', 'adapter', 'nobody'].map((model) => workers.loraOf(model))).toEqual([
      undefined,
      'adapter',
      undefined,
    ]);
  });

  it.each<[string, Partial<StubWorker>, string]>([
    ['is ill', { healthStatus: 503 }, 'answers /health with 503'],
    ['names no models', { models: {} as never }, 'answers /v1/models without a list of models'],
    ['names no models at all', { models: null as never }, 'answers /v1/models without a list of models'],
  ])('one that %s does not join, which says why, and joins when it is well', async (_, ill, reason) => {
    const stub = await stubWorker(ill);
    const { workers, router, statuses } = await watch([stub]);
    expect(workers.all()).toMatchObject([{ status: 'down', reason }]);
    expect(router.workers()).toEqual([]);
    expect(workers.knows('m')).toBe(true); // who can tell?
    stub.healthStatus = 200;
    stub.models = [{ id: 'm' }];
    await until('it is up', () => statuses()[0] === 'up');
    expect(workers.all()[0]!.reason).toBeUndefined();
  });

  it('one that answers /health wrongly is down after the third time, not before', async () => {
    const stub = await stubWorker();
    const { workers, router, changes, statuses } = await watch([stub], 60_000);
    const { requestId } = router.route({ tokens: new Uint32Array(8) });
    router.onDispatch(requestId);
    stub.healthStatus = 500;
    for (let strikes = 1; strikes <= 2; strikes++) {
      await workers.suspect('w0');
      expect(workers.all()).toMatchObject([{ status: 'up', reason: undefined }]);
    }
    await workers.suspect('w0');
    expect(statuses()).toEqual(['down']);
    const reason = 'answers /health with 500';
    expect(changes.at(-1)).toEqual({ name: 'w0', status: 'down', reason, lost: [requestId] });
    expect(router.workers()).toEqual([{ name: 'w0', status: 'down' }]);
  });

  it('one that is well in between begins to count anew', async () => {
    const stub = await stubWorker();
    const { workers, statuses } = await watch([stub], 60_000);
    for (const status of [500, 500, 200, 500, 500]) {
      stub.healthStatus = status;
      await workers.suspect('w0');
      expect(statuses()).toEqual(['up']);
    }
  });

  it('one that refuses connections is down at once, and comes back empty', async () => {
    const stub = await stubWorker();
    const { workers, router, changes, statuses } = await watch([stub, await stubWorker()]);
    const tokens = new Uint32Array(40);
    const { requestId } = router.route({ tokens });
    router.onDispatch(requestId);
    router.onFinish(requestId);
    const blocks = () => router.stats().workers.map(({ residentBlocks }) => residentBlocks);
    expect(blocks()).toEqual([10, 0]);
    await stub.stop();
    await until('it is down', () => statuses()[0] === 'down');
    expect(changes.at(-1)).toMatchObject({ name: 'w0', status: 'down', reason: 'refuses connections' });
    expect(workers.knows('m')).toBe(true);
    expect(statuses()[1]).toBe('up');
    await stub.start();
    await until('it is up', () => statuses()[0] === 'up');
    expect(blocks()).toEqual([0, 0]);
  });

  it('one model of which every worker is down is still known, and listed while none is up', async () => {
    const stub = await stubWorker({ models: [{ id: 'a' }] });
    const other = await stubWorker({ models: [{ id: 'b' }] });
    const { workers, statuses } = await watch([stub, other]);
    await stub.stop();
    await until('it is down', () => statuses()[0] === 'down');
    expect(workers.models()).toEqual(['b']);
    expect([workers.knows('a'), workers.knows('b'), workers.knows('c')]).toEqual([true, true, false]);
    await other.stop();
    await until('both are down', () => statuses()[1] === 'down');
    expect(workers.models()).toEqual(['a', 'b']);
  });

  it('may load adapters while they run', async () => {
    const stub = await stubWorker();
    const { workers } = await watch([stub]);
    stub.models = [{ id: 'm' }, { id: 'adapter', parent: 'm' }];
    await until('it is known', () => workers.loraOf('adapter') === 'adapter');
  });

  it('are looked at no more once closed, also where a look was under way', async () => {
    const stub = await stubWorker();
    const { workers, statuses } = await watch([stub]);
    await stub.stop();
    const look = workers.suspect('w0');
    workers.close();
    await look;
    expect(statuses()).toEqual(['up']);
  });
});
