import { describe, expect, test } from 'vitest';
import { codeOf } from '../../kv-index/support.js';
import { Clock, loadOf, NO_LOAD, prompt, rejectsOf, routerOf, routeTo, serve, statsOf } from './support.js';

const refuse = (router: ReturnType<typeof routerOf>, worker: string, session: string) => {
  const { requestId } = routeTo(router, worker, { session, tokens: [] });
  router.onReject(requestId);
  router.onError(requestId);
};

describe('refusals', () => {
  test('are forgotten when none followed for rejectTtlMs', () => {
    const clock = new Clock();
    const router = routerOf(['a', 'b'], { rejectTtlMs: 100, now: clock.now });
    refuse(router, 'a', 's');
    clock.ms += 99;
    refuse(router, 'a', 's');
    refuse(router, 'b', 's');
    expect(rejectsOf(router, 's')).toEqual({ a: 2, b: 1 });
    clock.ms += 99;
    expect(rejectsOf(router, 's')).toEqual({ a: 2, b: 1 });
    clock.ms += 1;
    expect(rejectsOf(router, 's')).toEqual({ a: 0, b: 0 });
    refuse(router, 'a', 's');
    expect(rejectsOf(router, 's')).toEqual({ a: 1, b: 0 });
  });

  test('close a worker to a session until they are forgotten', () => {
    const clock = new Clock();
    const router = routerOf(['a', 'b'], { policy: 'kv-aware', rejectTtlMs: 100, now: clock.now });
    const request = { session: 's', seqHashes: prompt(1, 9) };
    serve(router, request, 'a');
    for (let i = 0; i < 2; i++) refuse(router, 'a', 's');
    expect(router.explain(request).worker).toBe('a');
    refuse(router, 'a', 's');
    expect(router.explain(request).worker).toBe('b');
    expect(router.explain({ ...request, session: 't' }).worker).toBe('a');
    clock.ms += 100;
    expect(router.explain(request).worker).toBe('a');
  });
});

describe('assigned work', () => {
  test('counts half after workHalfLifeMs, on each worker alike', () => {
    const clock = new Clock();
    const router = routerOf(['a', 'b'], { workHalfLifeMs: 1_000, now: clock.now });
    serve(router, { seqHashes: prompt(1, 8) }, 'a');
    clock.ms += 1_000;
    expect(statsOf(router, 'a').work).toBeCloseTo(40, 6);
    serve(router, { seqHashes: prompt(2, 4) }, 'b');
    expect(statsOf(router, 'b').work).toBeCloseTo(40, 6);
    clock.ms += 2_000;
    expect(statsOf(router, 'a').work).toBeCloseTo(10, 6);
    expect(statsOf(router, 'b').work).toBeCloseTo(10, 6);
    expect(statsOf(router, 'a').assigned).toBe(1);
  });

  test('never decays when its half-life is infinite', () => {
    const clock = new Clock();
    const router = routerOf(['a'], { workHalfLifeMs: Number.POSITIVE_INFINITY, now: clock.now });
    for (let i = 0; i < 100; i++) {
      serve(router, { seqHashes: prompt(i, 3) });
      clock.ms += 1e7;
    }
    expect(statsOf(router, 'a').work).toBe(3_000);
  });

  test.each([1e-300, 0.001, 1, 1e3, 1e300])(
    'stays a sensible number with a half-life of %d ms',
    (halfLife) => {
      const clock = new Clock();
      const router = routerOf(['a', 'b'], { workHalfLifeMs: halfLife, now: clock.now });
      for (let i = 0; i < 300; i++) {
        const { requestId } = routeTo(router, i % 3 ? 'a' : 'b', { seqHashes: prompt(i, 3) });
        router.onDispatch(requestId);
        clock.ms += i % 5 ? 1 : 10 ** (i % 7);
        if (i % 4 === 0) router.onReject(requestId);
        for (const { work } of router.stats().workers) {
          expect(work).toBeGreaterThanOrEqual(0);
          expect(work).toBeLessThanOrEqual(30 * (i + 1) + 1e-6);
        }
      }
    },
  );

  test('that is taken back leaves nothing, however late', () => {
    const clock = new Clock();
    const router = routerOf(['a'], { workHalfLifeMs: 10, now: clock.now });
    const { requestId } = router.route({ seqHashes: prompt(1, 3) });
    router.onDispatch(requestId);
    clock.ms += 1_000;
    serve(router, { seqHashes: prompt(2, 3) });
    router.onReject(requestId);
    expect(statsOf(router, 'a').work).toBeCloseTo(30, 6);
  });
});

test('a clock that goes back stands still', () => {
  const clock = new Clock();
  const router = routerOf(['a'], {
    now: clock.now,
    rejectTtlMs: 100,
    requestIdleMs: 100,
    sessionIdleMs: 100,
    workHalfLifeMs: 100,
  });
  router.route({ requestId: 'r', session: 's', seqHashes: prompt(1, 3) });
  router.onDispatch('r');
  refuse(router, 'a', 's');
  clock.ms -= 500_000;
  expect(statsOf(router, 'a').work).toBeCloseTo(30, 6);
  expect(rejectsOf(router, 's')).toEqual({ a: 1 });
  router.expire();
  expect(router.stats()).toMatchObject({ requests: 1, sessions: 1, givenUp: 0 });
  router.onFirstToken('r');
  clock.ms += 500_000 + 99;
  router.expire();
  expect(router.stats()).toMatchObject({ requests: 1, sessions: 1 });
  clock.ms += 1;
  router.expire();
  expect(router.stats()).toMatchObject({ requests: 0, sessions: 0, givenUp: 1 });
  expect(loadOf(router, 'a')).toMatchObject(NO_LOAD);
});

test('a clock that tells no time is refused, and nothing is changed', () => {
  const clock = new Clock();
  const router = routerOf(['a'], { now: clock.now });
  router.route({ requestId: 'r', tokens: [] });
  const before = router.stats();
  const good = clock.ms;
  for (const [bad, code] of [
    [Number.NaN, 'ERR_KVIDX_OUT_OF_RANGE'],
    [-1, 'ERR_KVIDX_OUT_OF_RANGE'],
    [Number.POSITIVE_INFINITY, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['1', 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [undefined, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [5n, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ] as const) {
    clock.ms = bad as number;
    for (const call of [
      () => router.route({ tokens: [] }),
      () => router.explain({ tokens: [] }),
      () => router.reroute('r'),
      () => router.assign('r', 'a'),
      () => router.onDispatch('r'),
      () => router.onReject('r'),
      () => router.onError('r'),
      () => router.expire(),
    ]) {
      expect(codeOf(call)).toBe(code);
    }
    clock.ms = good;
    expect(router.stats()).toEqual(before);
  }
});

test('times given to expire are checked', () => {
  const router = routerOf(['a']);
  router.route({ requestId: 'r', session: 's', tokens: [] });
  for (const nowMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(codeOf(() => router.expire(nowMs))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  }
  for (const nowMs of [null, '5', 5n]) {
    expect(codeOf(() => router.expire(nowMs as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  }
  router.expire(0);
  expect(router.stats()).toMatchObject({ requests: 1, sessions: 1 });
});
