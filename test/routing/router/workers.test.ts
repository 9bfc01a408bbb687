import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import { codeOf, statsOf as indexStatsOf } from '../../kv-index/support.js';
import {
  homeOf,
  loadOf,
  NO_LOAD,
  overlapsOf,
  prompt,
  rejectsOf,
  routerOf,
  routeTo,
  serve,
  statsOf,
} from './support.js';

/** One request in each phase on `a`: `routed`, `prefill`, `decode`, and one that `a` refused. */
function everyPhase(): Router {
  const router = routerOf(['a', 'b']);
  for (const [i, requestId] of ['routed', 'prefill', 'decode', 'refused'].entries()) {
    routeTo(router, 'a', { requestId, session: `s-${requestId}`, seqHashes: prompt(i, 3) });
  }
  router.onDispatch('prefill');
  router.onDispatch('decode');
  router.onFirstToken('decode');
  router.onReject('refused');
  return router;
}

test('a worker that drains gets nothing new, and what is under way there ends in peace', () => {
  const router = everyPhase();
  router.drainWorker('a');
  expect(router.workers()).toEqual([
    { name: 'a', status: 'draining' },
    { name: 'b', status: 'up' },
  ]);
  for (let i = 0; i < 5; i++) expect(serve(router, { session: 's-decode', tokens: [] }).worker).toBe('b');
  expect(codeOf(() => router.assign('refused', 'a'))).toBe('ERR_KVIDX_NO_WORKERS');
  expect(router.onDispatch('routed')).toBe(true);
  expect(loadOf(router, 'a')).toMatchObject({ inflight: 3, pending: 60, decode: 30 });
  for (const id of ['routed', 'prefill', 'decode']) expect(router.onFinish(id)).toBe(true);
  expect(loadOf(router, 'a')).toMatchObject(NO_LOAD);
  expect(router.reroute('refused')?.worker).toBe('b');
  router.drainWorker('a');
  expect(router.workers()[0]!.status).toBe('draining');
});

test('a worker back from draining has what it had: its cache, its homes, its refusals', () => {
  const router = routerOf(['a', 'b']);
  serve(router, { session: 's', seqHashes: prompt(1, 3) }, 'a');
  routeTo(router, 'a', { requestId: 'r', session: 't', tokens: [] });
  router.onReject('r');
  router.drainWorker('a');
  expect(homeOf(router, 's')).toBeUndefined();
  router.addWorker('a');
  expect(homeOf(router, 's')).toBe('a');
  expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 3, b: 0 });
  expect(rejectsOf(router, 't')).toEqual({ a: 1, b: 0 });
  expect(router.reroute('r')?.worker).toBe('b');
});

describe.each([
  ['fails', (router: Router) => router.failWorker('a')],
  ['is removed', (router: Router) => router.removeWorker('a')],
  [
    'drains and fails',
    (router: Router) => {
      router.drainWorker('a');
      return router.failWorker('a');
    },
  ],
] as const)('a worker that %s', (_, end) => {
  test('ends what was dispatched there as errors, and leaves the rest to others', () => {
    const router = everyPhase();
    const { errors } = router.stats();
    expect([...end(router)].sort()).toEqual(['decode', 'prefill']);
    expect(router.stats()).toMatchObject({ errors: errors + 2, requests: 2 });
    for (const id of ['prefill', 'decode']) expect(router.onFinish(id)).toBe(false);
    expect(router.onDispatch('routed')).toBe(false);
    for (const id of ['routed', 'refused']) expect(router.reroute(id)?.worker).toBe('b');
    for (const id of ['routed', 'refused']) expect(router.onDispatch(id)).toBe(true);
    expect(loadOf(router, 'b')).toMatchObject({ inflight: 2, pending: 60 });
  });

  test('starts empty under the same name: no load, no cache, no homes, no refusals', () => {
    const router = routerOf(['b', 'a']);
    serve(router, { session: 's', seqHashes: prompt(1, 3) }, 'a');
    routeTo(router, 'a', { requestId: 'gone', session: 's', seqHashes: prompt(1, 4) });
    router.onDispatch('gone');
    routeTo(router, 'a', { requestId: 'refused', session: 't', tokens: [] });
    router.onReject('refused');
    end(router);
    expect(homeOf(router, 's')).toBeUndefined();
    router.addWorker('a');
    expect(router.workers().map(({ status }) => status)).toEqual(['up', 'up']);
    expect(loadOf(router, 'a')).toEqual({ ...NO_LOAD, assigned: 0 });
    expect(statsOf(router, 'a').work).toBe(0);
    expect(homeOf(router, 's')).toBeUndefined();
    expect(overlapsOf(router, prompt(1, 4))).toEqual({ a: 0, b: 0 });
    expect(rejectsOf(router, 't')).toEqual({ a: 0, b: 0 });
    for (const hook of ['onFirstToken', 'onFinish', 'onError', 'onReject'] as const) {
      expect(router[hook]('gone')).toBe(false);
    }
    expect(loadOf(router, 'a')).toEqual({ ...NO_LOAD, assigned: 0 });
    expect(overlapsOf(router, prompt(1, 4))).toEqual({ a: 0, b: 0 });
  });

  test('may be tried again, back, by those that it refused before', () => {
    const router = routerOf(['a']);
    router.route({ requestId: 'r', tokens: [] });
    router.onReject('r');
    expect(router.reroute('r')).toBeUndefined();
    end(router);
    router.addWorker('a');
    expect(router.reroute('r')?.worker).toBe('a');
    expect(router.onDispatch('r')).toBe(true);
  });

  test('does not take the homes of its sessions elsewhere with it', () => {
    const router = routerOf(['a', 'b']);
    serve(router, { session: 's', tokens: [] }, 'a');
    serve(router, { session: 's', tokens: [] }, 'b');
    end(router);
    expect(homeOf(router, 's')).toBe('b');
  });
});

test('a worker that failed is down, ends nothing twice, and does not drain', () => {
  const router = everyPhase();
  router.failWorker('a');
  const before = router.stats();
  expect(router.failWorker('a')).toEqual([]);
  router.drainWorker('a');
  expect(router.stats()).toEqual(before);
  expect(router.workers()[0]).toEqual({ name: 'a', status: 'down' });
  expect(router.removeWorker('a')).toEqual([]);
  expect(router.workers()).toEqual([{ name: 'b', status: 'up' }]);
});

test('a removed worker leaves nothing in the index, whoever fed it', () => {
  const router = routerOf([]);
  router.addWorker('a', { residency: 'larger' });
  serve(router, { seqHashes: prompt(1, 3) });
  router.index.store(router.index.addWorker('a', { tier: 'cpu', dpRank: 3 }), prompt(2, 2));
  router.index.store(router.index.addWorker('other'), prompt(3, 2));
  router.expire(1e12);
  router.removeWorker('a');
  expect(router.index.workers().map(({ name }) => name)).toEqual(['other']);
  expect(router.index.stats().blocks).toBe(2);
});

describe('a worker that comes back takes requests as it did', () => {
  test.each(['drainWorker', 'failWorker'] as const)('after %s', (away) => {
    const router = routerOf([]);
    router.addWorker('a', { residency: 'larger', capacity: 7, ttlMs: 50, poolTokens: 100 });
    router[away]('a');
    router.addWorker('a');
    expect(statsOf(router, 'a')).toMatchObject({ status: 'up', residency: 'larger' });
    const estimate = router.index.workers().find(({ name }) => name !== 'a')!;
    expect(indexStatsOf(router.index, estimate)).toMatchObject({ capacity: 7, ttlMs: 50 });
  });

  test('but for what it is given then', () => {
    const router = routerOf([]);
    router.addWorker('a', { capacity: 7 });
    serve(router, { seqHashes: prompt(1, 6) });
    router.addWorker('a', { capacity: 4 });
    expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 4 });
    expect(codeOf(() => router.addWorker('a', { residency: 'exact' }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(statsOf(router, 'a').residency).toBe('estimate');
  });
});

test('one that joins starts at the smallest of the others, one that stayed keeps what it has', () => {
  const router = routerOf(['a', 'b'], { workHalfLifeMs: Number.POSITIVE_INFINITY });
  for (let i = 0; i < 5; i++) serve(router, { seqHashes: prompt(i, 2) }, 'a');
  for (let i = 5; i < 8; i++) serve(router, { seqHashes: prompt(i, 4) }, 'b');
  router.addWorker('c');
  expect(statsOf(router, 'c')).toMatchObject({ assigned: 3, work: 100 });
  router.drainWorker('a');
  router.addWorker('a');
  expect(statsOf(router, 'a')).toMatchObject({ assigned: 5, work: 100 });
  router.drainWorker('b');
  for (let i = 10; i < 30; i++) serve(router, { seqHashes: prompt(i, 4) });
  router.addWorker('b');
  const [a, b, c] = ['a', 'b', 'c'].map((worker) => statsOf(router, worker));
  expect(b!.assigned).toBe(Math.min(a!.assigned, c!.assigned));
  expect(b!.work).toBe(Math.min(a!.work, c!.work));
});

test('names of workers that are not there are refused', () => {
  const router = everyPhase();
  router.removeWorker('a');
  for (const call of [
    () => router.drainWorker('a'),
    () => router.failWorker('a'),
    () => router.removeWorker('a'),
    () => router.assign('refused', 'a'),
  ]) {
    expect(codeOf(call)).toBe('ERR_KVIDX_UNKNOWN_WORKER');
  }
});

test('a worker that failed comes back empty, whatever was restored meanwhile', () => {
  const router = routerOf(['a']);
  serve(router, { seqHashes: prompt(1, 6) });
  const saved = router.index.snapshot();
  router.failWorker('a');
  router.index.restore(saved);
  router.addWorker('a');
  expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 0 });
});
