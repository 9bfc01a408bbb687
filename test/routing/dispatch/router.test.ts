import { describe, expect, test } from 'vitest';
import type { AdmitAnswer } from '../../../src/routing/admit.js';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type { AdmissionRequest, DispatcherOptions } from '../../../src/routing/dispatch/types.js';
import { Router } from '../../../src/routing/router.js';
import type { RouterOptions } from '../../../src/routing/types.js';
import { admitted, outcome, refused, settled, VirtualClock } from './support.js';

type Answer = (request: AdmissionRequest) => AdmitAnswer | Promise<AdmitAnswer>;

interface Setup {
  readonly clock: VirtualClock;
  readonly router: Router;
  readonly dispatcher: Dispatcher;
  readonly released: string[];
}

/** A dispatcher over a real router that tries the workers in the order of their load, and then of their joining. */
function over(
  answers: Record<string, Answer>,
  options: Partial<DispatcherOptions> = {},
  routerOptions: RouterOptions = {},
): Setup {
  const clock = new VirtualClock();
  const router = new Router({ policy: 'load-only', blockSize: 4, now: () => clock.now(), ...routerOptions });
  for (const worker of Object.keys(answers)) router.addWorker(worker);
  const released: string[] = [];
  const dispatcher = new Dispatcher(router, {
    admit: (worker, request) => answers[worker]!(request),
    release: (worker, requestId) => void released.push(`${worker} ${requestId}`),
    backoff: { jitter: 0 },
    clock,
    ...options,
  });
  return { clock, router, dispatcher, released };
}

const direct = () => admitted('direct');
const seed = () => admitted('seed');
const no = () => refused();
const request = (requestId: string) => ({ tokens: [1, 2, 3, 4, 5], session: 's', requestId });

const loads = (router: Router) =>
  router
    .stats()
    .workers.map(({ worker, inflight, pendingPrefillTokens }) => [worker, inflight, pendingPrefillTokens]);

const refusals = (router: Router) =>
  Object.fromEntries(router.explain(request('x')).candidates.map(({ worker, rejects }) => [worker, rejects]));

test('a dispatched request counts where it went, and nowhere else', async () => {
  const { clock, router, dispatcher } = over({ a: no, b: direct, c: direct });
  const { worker, decision } = await outcome(clock, dispatcher.dispatch(request('r')));
  expect(worker).toBe('b');
  expect(decision).toMatchObject({ worker: 'b', newTokens: 5, firstTurn: true });
  const b = ['b', 1, 5];
  expect(loads(router)).toEqual([['a', 0, 0], b, ['c', 0, 0]]);
  expect(router.stats()).toMatchObject({ routed: 1, dispatched: 1, rejects: 1, requests: 1 });
  router.onFinish('r');
  expect(router.explain(request('x')).candidates[1]).toMatchObject({ sticky: true, overlapBlocks: 1 });
});

test('refusals of a session are counted for each worker, until that one takes it', async () => {
  let good: string | undefined;
  const answer = (worker: string) => () => (good === worker ? admitted('reseed') : refused());
  const { clock, router, dispatcher } = over({ a: answer('a'), b: answer('b') });
  for (const requestId of ['r', 's']) {
    expect(await outcome(clock, dispatcher.dispatch(request(requestId)))).toMatchObject({ as: 'fallback' });
    router.onError(requestId);
  }
  expect(refusals(router)).toEqual({ a: 2, b: 2 });
  good = 'b';
  expect(await outcome(clock, dispatcher.dispatch(request('t')))).toMatchObject({
    worker: 'b',
    as: 'reseed',
  });
  expect(refusals(router)).toEqual({ a: 3, b: 0 });
});

test('a fallback clears no refusals before its first token', async () => {
  const { clock, router, dispatcher } = over({ a: no });
  await outcome(clock, dispatcher.dispatch(request('r')));
  expect(refusals(router)).toEqual({ a: 1 });
  router.onFirstToken('r');
  expect(refusals(router)).toEqual({ a: 0 });
});

test('a worker that fails and comes back while it is asked has refused nothing, and is not asked again', async () => {
  const asked: string[] = [];
  const { clock, router, dispatcher } = over(
    {},
    {
      admit: async (worker) => {
        asked.push(worker);
        await clock.sleep(10);
        return worker === 'c' ? direct() : no();
      },
    },
  );
  for (const worker of ['a', 'b', 'c']) router.addWorker(worker);
  // Loads of 0, 1 and 2: a comes first whenever it may.
  for (const [worker, count] of [
    ['b', 1],
    ['c', 2],
  ] as const) {
    for (let i = 0; i < count; i++) {
      const { requestId } = router.route({ tokens: [1] });
      router.assign(requestId, worker);
      router.onDispatch(requestId);
    }
  }
  const dispatched = dispatcher.dispatch(request('r'));
  await clock.advance(5);
  router.failWorker('a');
  router.addWorker('a');
  expect(await outcome(clock, dispatched)).toMatchObject({ worker: 'c', as: 'direct' });
  expect(asked).toEqual(['a', 'b', 'c']);
  expect(refusals(router)).toEqual({ a: 0, b: 1, c: 0 });
});

describe('a seed makes room', () => {
  test.each<[string, (router: Router) => unknown]>([
    ['at its first token', (router) => router.onFirstToken('r')],
    ['when it ends', (router) => router.onFinish('r')],
    ['when it fails', (router) => router.onError('r')],
    ['when it is refused after all', (router) => router.onReject('r')],
    ['when its worker fails', (router) => router.failWorker('a')],
    ['when its worker leaves', (router) => router.removeWorker('a')],
    ['when it is given up', (router) => router.expire(4_000_000)],
  ])('%s', async (_, end) => {
    const { clock, router, dispatcher } = over({ a: seed });
    await outcome(clock, dispatcher.dispatch(request('r')));
    expect(dispatcher.stats().seeds).toEqual([{ worker: 'a', pending: 1, queued: 0 }]);
    end(router);
    expect(dispatcher.stats().seeds).toEqual([]);
  });
});

describe('a worker that goes while a seed waits for its turn there', () => {
  test.each<[string, (router: Router) => unknown]>([
    ['fails', (router) => router.failWorker('a')],
    ['leaves', (router) => router.removeWorker('a')],
    [
      'fails and comes back',
      (router) => {
        router.failWorker('a');
        router.addWorker('a');
      },
    ],
    [
      'drains, and its last seed ends',
      (router) => {
        router.drainWorker('a');
        router.onFirstToken('r');
      },
    ],
  ])('and %s leaves it to the next one', async (_, go) => {
    const { clock, router, dispatcher, released } = over(
      { a: seed, b: direct },
      { maxPendingSeeds: 1 },
      // Everybody begins on a.
      { policy: 'sticky' },
    );
    await outcome(clock, dispatcher.dispatch(request('r')));
    const waiting = dispatcher.dispatch(request('s'));
    await settled();
    expect(dispatcher.stats().seeds).toEqual([{ worker: 'a', pending: 1, queued: 1 }]);
    go(router);
    expect(await outcome(clock, waiting)).toMatchObject({ worker: 'b', as: 'direct' });
    expect(released).toEqual(['a s']);
    expect(dispatcher.stats().seeds).toEqual([]);
    expect(clock.now()).toBe(50);
  });
});

test('nobody is left: ERR_KVIDX_NO_WORKERS, and the request is forgotten', async () => {
  const { clock, router, dispatcher } = over({ a: () => clock.sleep(10).then(direct), b: no });
  const dispatched = dispatcher.dispatch(request('r'));
  await settled();
  router.failWorker('a');
  router.removeWorker('b');
  await expect(outcome(clock, dispatched)).rejects.toMatchObject({ code: 'ERR_KVIDX_NO_WORKERS' });
  expect(router.stats()).toMatchObject({ requests: 0, errors: 1 });
});

test('a request that the router gave up meanwhile rejects with ERR_KVIDX_OUT_OF_RANGE', async () => {
  const { clock, router, dispatcher, released } = over(
    { a: ({ requestId }) => (requestId === 'r' ? clock.sleep(10).then(seed) : direct()) },
    {},
    { maxRequests: 1 },
  );
  const first = dispatcher.dispatch(request('r'));
  expect(await dispatcher.dispatch(request('s'))).toMatchObject({ as: 'direct' });
  await expect(outcome(clock, first)).rejects.toMatchObject({ code: 'ERR_KVIDX_OUT_OF_RANGE' });
  expect(released).toEqual(['a r']);
  expect(loads(router)).toEqual([['a', 1, 5]]);
});

test('a router that is closed meanwhile rejects with ERR_KVIDX_CLOSED', async () => {
  const { clock, router, dispatcher, released } = over({ a: () => clock.sleep(10).then(seed), b: direct });
  const dispatched = dispatcher.dispatch(request('r'));
  await settled();
  router.close();
  await expect(outcome(clock, dispatched)).rejects.toMatchObject({ code: 'ERR_KVIDX_CLOSED' });
  expect(released).toEqual(['a r']);
  expect(dispatcher.stats()).toMatchObject({ pending: 0, seeds: [] });
});

test('an aborted request leaves no load, no refusal and no record', async () => {
  const controller = new AbortController();
  const { clock, router, dispatcher } = over({ a: () => clock.sleep(10).then(direct) });
  const dispatched = dispatcher.dispatch({ ...request('r'), signal: controller.signal });
  await settled();
  controller.abort('why');
  await expect(outcome(clock, dispatched)).rejects.toBe('why');
  expect(loads(router)).toEqual([['a', 0, 0]]);
  expect(refusals(router)).toEqual({ a: 0 });
  expect(router.stats().requests).toBe(0);
});
