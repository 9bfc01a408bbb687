import { describe, expect, test } from 'vitest';
import { codeOf } from '../../kv-index/support.js';
import {
  homeOf,
  loadOf,
  NO_LOAD,
  prompt,
  rejectsOf,
  routerOf,
  routeTo,
  SPECS,
  serve,
  stateOf,
} from './support.js';

describe.each(SPECS)('%s', (policy) => {
  test('a request goes on until every worker refused it, and to none of them twice', () => {
    const router = routerOf(['a', 'b', 'c'], { policy });
    const tried = [router.route({ requestId: 'r', session: 's', seqHashes: prompt(1, 3) }).worker];
    for (;;) {
      router.onReject('r');
      const next = router.reroute('r');
      if (next === undefined) break;
      tried.push(next.worker);
    }
    expect([...tried].sort()).toEqual(['a', 'b', 'c']);
    expect(router.stats()).toMatchObject({ requests: 1, rejects: 3, dispatched: 0 });
    expect(router.assign('r', 'b').worker).toBe('b');
    expect(router.onDispatch('r', { admitted: 'fallback' })).toBe(true);
    expect(rejectsOf(router, 's')).toEqual({ a: 1, b: 1, c: 1 });
    expect(loadOf(router, 'b')).toMatchObject({ inflight: 1, pending: 30 });
  });
});

test('a worker that joins while a request waits is tried', () => {
  const router = routerOf(['a']);
  router.route({ requestId: 'r', tokens: [] });
  router.onReject('r');
  expect(router.reroute('r')).toBeUndefined();
  router.addWorker('b');
  expect(router.reroute('r')?.worker).toBe('b');
});

test('success with a worker clears its refusals of that session, and no others', () => {
  const router = routerOf(['a', 'b']);
  const refuse = (session: string, worker: string) => {
    const { requestId } = routeTo(router, worker, { session, tokens: [] });
    router.onReject(requestId);
    router.onError(requestId);
  };
  const succeed = (how: (id: string) => void) => {
    for (const worker of ['a', 'b']) for (const session of ['s', 't']) refuse(session, worker);
    const { requestId } = routeTo(router, 'a', { session: 's', tokens: [] });
    how(requestId);
    router.onError(requestId);
    const rejects = [rejectsOf(router, 's'), rejectsOf(router, 't')];
    for (const session of ['s', 't']) router.endSession(session);
    return rejects;
  };
  const cleared = [
    { a: 0, b: 1 },
    { a: 1, b: 1 },
  ];
  const kept = [
    { a: 1, b: 1 },
    { a: 1, b: 1 },
  ];
  for (const admitted of ['direct', 'seed', 'reseed'] as const) {
    expect(succeed((id) => router.onDispatch(id, { admitted }))).toEqual(cleared);
  }
  expect(succeed((id) => router.onDispatch(id))).toEqual(kept);
  expect(succeed((id) => router.onDispatch(id, { admitted: 'fallback' }))).toEqual(kept);
  const first = (id: string) => router.onDispatch(id) && router.onFirstToken(id);
  expect(succeed(first)).toEqual(cleared);
  expect(succeed((id) => router.onDispatch(id) && router.onFinish(id))).toEqual(cleared);
});

describe('a refusal after the dispatch', () => {
  test('takes back load, work and home', () => {
    const router = routerOf(['a', 'b'], { workHalfLifeMs: Number.POSITIVE_INFINITY });
    serve(router, { session: 's', seqHashes: prompt(1, 3) }, 'b');
    const { requestId } = routeTo(router, 'a', { session: 's', seqHashes: prompt(1, 5) });
    router.onDispatch(requestId);
    expect(homeOf(router, 's')).toBe('a');
    router.onReject(requestId);
    expect(loadOf(router, 'a')).toMatchObject(NO_LOAD);
    expect(router.stats().workers[0]!.work).toBe(0);
    expect(homeOf(router, 's')).toBe('b');
  });

  test('leaves the home where a later request of the session is served', () => {
    const router = routerOf(['a', 'b']);
    const ids = [1, 2].map(() => routeTo(router, 'a', { session: 's', tokens: [] }).requestId);
    for (const id of ids) router.onDispatch(id);
    router.onReject(ids[0]!);
    expect(homeOf(router, 's')).toBe('a');
  });

  test('makes no worker the home that refused as well', () => {
    const router = routerOf(['a', 'b', 'c']);
    serve(router, { session: 's', tokens: [] }, 'c');
    const ids = ['a', 'b'].map((to) => routeTo(router, to, { session: 's', tokens: [] }).requestId);
    for (const id of ids) router.onDispatch(id);
    for (const id of ids) router.onReject(id);
    expect(homeOf(router, 's')).toBe('c');
  });

  test('leaves the home where it was when the request had none to begin with', () => {
    const router = routerOf(['a', 'b']);
    const { requestId } = routeTo(router, 'a', { session: 's', tokens: [] });
    router.onDispatch(requestId);
    router.onReject(requestId);
    expect(homeOf(router, 's')).toBeUndefined();
  });
});

test('reroute and assign are for requests that wait', () => {
  const router = routerOf(['a', 'b']);
  router.route({ requestId: 'sent', tokens: [] });
  router.onDispatch('sent');
  router.route({ requestId: 'over', tokens: [] });
  router.onError('over');
  const before = stateOf(router);
  for (const id of ['sent', 'over', 'never was']) {
    expect(codeOf(() => router.reroute(id))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(codeOf(() => router.assign(id, 'a'))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  }
  expect(stateOf(router)).toEqual(before);
});

test('a decision is for the worker that it names: overlap, cached and new tokens', () => {
  const router = routerOf(['a', 'b'], { policy: 'kv-aware' });
  serve(router, { session: 's', seqHashes: prompt(1, 4) }, 'a');
  const request = { requestId: 'r', session: 's', seqHashes: prompt(1, 6), inputLength: 67 };
  const onA = { worker: 'a', overlapBlocks: 4, cachedTokens: 40, newTokens: 27, firstTurn: false };
  const onB = { worker: 'b', overlapBlocks: 0, cachedTokens: 0, newTokens: 67, firstTurn: false };
  expect(router.route(request)).toEqual({ requestId: 'r', migrated: false, ...onA });
  expect(router.assign('r', 'b')).toEqual({ requestId: 'r', migrated: false, ...onB });
  router.onDispatch('r');
  expect(loadOf(router, 'b')).toMatchObject({ pending: 67, running: 67 });
  router.onReject('r');
  expect(router.reroute('r')).toEqual({ requestId: 'r', migrated: false, ...onA });
  router.onDispatch('r');
  expect(loadOf(router, 'a')).toMatchObject({ pending: 27, running: 67 });
});

test('reroute leaves out the workers that are named, and does not hold it against them', () => {
  const router = routerOf(['a', 'b', 'c']);
  const { requestId } = router.route({ session: 's', tokens: [] });
  expect(router.reroute(requestId, { without: ['a', 'b', 'unknown'] })).toMatchObject({ worker: 'c' });
  expect(router.reroute(requestId, { without: new Set(['a', 'b', 'c']) })).toBeUndefined();
  const { candidates } = router.explain({ session: 's', tokens: [] });
  expect(candidates.map(({ rejects }) => rejects)).toEqual([0, 0, 0]);
});

test('a session whose only dispatch was refused has had no turn', () => {
  const router = routerOf(['a', 'b']);
  const { requestId } = router.route({ session: 's', tokens: [] });
  router.onDispatch(requestId);
  expect(router.route({ session: 's', tokens: [] }).firstTurn).toBe(false);
  router.onReject(requestId);
  expect(router.reroute(requestId)).toMatchObject({ firstTurn: true });
});
