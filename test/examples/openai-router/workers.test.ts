import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Router } from 'kvidx';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Failure, UpstreamFailure } from '../../../examples/openai-router/router/upstream.js';
import {
  type WorkerHealth,
  Workers,
  type WorkersOptions,
} from '../../../examples/openai-router/router/workers.js';
import { stubWorker, until } from './router-support.js';
import type { StubWorker } from './stub-worker.js';

interface Change {
  readonly name: string;
  readonly status: string;
  readonly reason: string | undefined;
  readonly lost: readonly string[];
}

async function watch(stubs: readonly { readonly url: string }[], more: Partial<WorkersOptions> = {}) {
  const router = new Router({ blockSize: 4, policy: 'round-robin' });
  const dispatcher = new Agent({ connect: { timeout: 2000 } });
  const changes: Change[] = [];
  const said: unknown[] = [];
  const workers = new Workers({
    places: stubs.map(({ url }, i) => ({ name: `w${i}`, url })),
    router,
    dispatcher,
    workerKey: undefined,
    healthEveryMs: 10,
    joinAs: () => ({ capacity: 100 }),
    onChange: ({ name, status, reason }: WorkerHealth, lost) => changes.push({ name, status, reason, lost }),
    log: { warn: (text) => said.push(text), error: (error) => said.push(error) },
    ...more,
  });
  onTestFinished(async () => {
    workers.close();
    await dispatcher.destroy();
    router.close();
  });
  await workers.start();
  const statuses = () => workers.all().map(({ status }) => status);
  return { workers, router, dispatcher, changes, statuses, said };
}

/** The worker answers /health so, look by look, and then with the last of these. Tells how many are left. */
function answersHealth(stub: StubWorker, ...statuses: readonly number[]) {
  const left = [...statuses];
  Object.defineProperty(stub, 'healthStatus', { get: () => (left.length > 1 ? left.shift() : left[0]) });
  return () => left.length;
}

const failed = (failure: Failure, retryAfterS?: number) =>
  new UpstreamFailure(failure, 'failed', retryAfterS);

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
    const left = answersHealth(stub, 200, 500, 500, 500, 503);
    const { router, changes, statuses } = await watch([stub]);
    const { requestId } = router.route({ tokens: new Uint32Array(8) });
    router.onDispatch(requestId);
    await until('it is down', () => statuses()[0] === 'down');
    expect(left()).toBe(1);
    const reason = 'answers /health with 500';
    expect(changes.at(-1)).toEqual({ name: 'w0', status: 'down', reason, lost: [requestId] });
    expect(router.workers()).toEqual([{ name: 'w0', status: 'down' }]);
  });

  it('one that is well in between begins to count anew', async () => {
    const stub = await stubWorker();
    const left = answersHealth(stub, 200, 500, 500, 200, 500, 500, 200);
    const { changes } = await watch([stub]);
    await until('it was looked at so often', () => left() === 1);
    expect(changes).toHaveLength(1);
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
    const { workers, dispatcher, statuses } = await watch([stub], { healthEveryMs: 60_000 });
    await stub.stop();
    workers.troubled('w0', failed('cut'));
    workers.close();
    await dispatcher.close(); // when nothing is under way
    expect(statuses()).toEqual(['up']);
  });

  it('are asked with the key that they want, and the reason says what to set where it is wrong', async () => {
    for (const status of [401, 403]) {
      const server = createServer(({ url, headers }, response) => {
        const isLocked = url !== '/health' && headers.authorization !== 'Bearer sk-1';
        response.writeHead(isLocked ? status : 200).end('{"data":[{"id":"m"}]}');
      });
      const url = await listening(server);
      expect((await watch([{ url }], { workerKey: 'sk-1' })).statuses()).toEqual(['up']);
      for (const workerKey of [undefined, 'sk-2']) {
        const { workers } = await watch([{ url }], { workerKey });
        expect(workers.all()[0]!.reason).toBe(
          `answers /v1/models with ${status}: set KVIDX_WORKER_KEY to an API key that it takes`,
        );
      }
    }
  });

  it('that answer a look without end, fast or slowly, are given up', async () => {
    const trickle: RequestListener = (_, response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(timer));
    };
    const flood: RequestListener = (_, response) => {
      const piece = Buffer.alloc(100_000);
      const pour = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', pour);
      pour();
    };
    const urls = await Promise.all([trickle, flood].map((answer) => listening(createServer(answer))));
    const { workers } = await watch(urls.map((url) => ({ url })));
    expect(workers.all().map(({ reason }) => reason)).toEqual([
      'does not answer in time',
      'answers /health with more than 1048576 bytes',
    ]);
  });

  it('are watched on when what is told of a change throws', async () => {
    const stub = await stubWorker();
    const fault = new Error('a fault');
    const { statuses, said } = await watch([stub], {
      onChange: () => {
        throw fault;
      },
    });
    expect([statuses(), said]).toEqual([['up'], [fault]]);
    await stub.stop();
    await until('it is down', () => statuses()[0] === 'down');
    await stub.start();
    await until('it is up', () => statuses()[0] === 'up');
    expect(new Set(said)).toEqual(new Set([fault]));
  });
});

describe('a worker that fails requests', () => {
  const watched = async () => {
    const stub = await stubWorker();
    return { stub, ...(await watch([stub], { healthEveryMs: 60_000 })) };
  };

  it.each<Failure>(['refused', 'error', 'silent'])(
    'is on hold for a while, and logged: %s',
    async (failure) => {
      const { workers, said } = await watched();
      expect(workers.onHold()).toEqual([]);
      workers.troubled('w0', failed(failure));
      workers.troubled('w0', failed(failure));
      expect(workers.onHold()).toEqual(['w0']);
      expect(said).toEqual(['w0 failed: it gets no requests for 0.5 s']);
      await until('the hold is over', () => workers.onHold().length === 0);
      workers.troubled('w0', failed(failure));
      expect(said.at(-1)).toBe('w0 failed: it gets no requests for 1.0 s');
    },
  );

  it('is on hold no longer when one succeeds, and its next hold is a short one', async () => {
    const { workers, said } = await watched();
    for (let i = 0; i < 3; i++) {
      workers.troubled('w0', failed('error'));
      workers.worked('w0');
      expect(workers.onHold()).toEqual([]);
    }
    expect(new Set(said)).toEqual(new Set(['w0 failed: it gets no requests for 0.5 s']));
  });

  it('is on hold for as long as it asks for, within bounds', async () => {
    const { workers } = await watched();
    const holdS = () => Math.ceil(workers.all()[0]!.hold.leftMs / 1000);
    workers.troubled('w0', failed('refused', 7));
    expect(holdS()).toBe(7);
    workers.troubled('w0', failed('refused', 1));
    expect(holdS()).toBe(7);
    workers.troubled('w0', failed('refused', 1e9));
    expect(holdS()).toBe(60);
  });

  it('is not on hold for one connection that broke, but for the next', async () => {
    const { workers } = await watched();
    workers.troubled('w0', failed('cut'));
    expect(workers.onHold()).toEqual([]);
    workers.troubled('w0', failed('cut'));
    expect(workers.onHold()).toEqual(['w0']);
  });

  it('is looked at once for a swarm of them, and not for a refusal', async () => {
    const { stub, workers, dispatcher } = await watched();
    const left = answersHealth(stub, 200, 200, 200);
    workers.troubled('w0', failed('refused'));
    for (let i = 0; i < 100; i++) workers.troubled('w0', failed('error'));
    workers.close();
    await dispatcher.close();
    expect(left()).toBe(2);
  });

  it('is on hold no longer when it was down and is back', async () => {
    const stub = await stubWorker();
    const { workers, statuses } = await watch([stub]);
    workers.troubled('w0', failed('error', 60));
    await stub.stop();
    await until('it is down', () => statuses()[0] === 'down');
    await stub.start();
    await until('it is up', () => statuses()[0] === 'up');
    expect(workers.onHold()).toEqual([]);
  });
});

/** Answers where it listens; it ends with the test. */
async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
