import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { Candidates } from '../../../src/routing/candidates.js';
import { Random } from '../../property/random.js';
import { Clock, loadOf, NO_LOAD, overlapsOf, policyOf, prompt, routerOf, routeTo, serve } from './support.js';

describe('more requests than maxRequests', () => {
  test('give up the one longest untouched, with its load', () => {
    const router = routerOf(['a'], { maxRequests: 3 });
    for (const [i, requestId] of ['r0', 'r1', 'r2'].entries()) {
      router.route({ requestId, seqHashes: prompt(i, 3) });
      router.onDispatch(requestId);
    }
    router.onFirstToken('r0');
    router.route({ requestId: 'r3', seqHashes: prompt(3, 3) });
    expect(router.stats()).toMatchObject({ requests: 3, givenUp: 1, errors: 0 });
    expect(loadOf(router, 'a')).toMatchObject({ inflight: 2, pending: 30, decode: 30, running: 60 });
    expect(router.onFirstToken('r1')).toBe(false);
    for (const id of ['r0', 'r2']) expect(router.onFinish(id)).toBe(true);
    expect(router.onDispatch('r3')).toBe(true);
  });

  test('are explained as they are decided', () => {
    const router = routerOf(['a', 'b'], { policy: 'load-only', maxRequests: 3 });
    for (const [i, worker] of ['a', 'a', 'b'].entries()) {
      const { requestId } = routeTo(router, worker, { requestId: `r${i}`, tokens: [], inputLength: 10 });
      router.onDispatch(requestId);
    }
    for (let i = 0; i < 6; i++) {
      const explained = router.explain({ tokens: [] }).worker;
      const { worker, requestId } = router.route({ tokens: [], inputLength: 10 });
      expect(worker).toBe(explained);
      router.onDispatch(requestId);
    }
  });

  test('give up none for a request that cannot be routed', () => {
    let fails = false;
    const inner = policyOf('kv-aware');
    const policy = {
      spec: 'own',
      counts: inner.counts,
      explain: inner.explain.bind(inner),
      decide: (candidates: Candidates) => {
        if (fails) throw new Error('not mine');
        return inner.decide(candidates);
      },
    };
    const router = routerOf(['a'], { policy, maxRequests: 1 });
    router.route({ requestId: 'r', tokens: [] });
    fails = true;
    expect(() => router.route({ tokens: [] })).toThrow('not mine');
    expect(router.stats()).toMatchObject({ requests: 1, givenUp: 0 });
    expect(router.onDispatch('r')).toBe(true);
  });

  test('never hold more, whatever happens, and the rest is counted once', () => {
    const router = routerOf(['a', 'b'], { maxRequests: 5 });
    const random = new Random(11);
    const ids: string[] = [];
    for (let i = 0; i < 2_000; i++) {
      ids.push(router.route({ seqHashes: prompt(i, 1 + (i % 3)) }).requestId);
      const id = random.oneOf(ids.slice(-8));
      router[random.oneOf(['onDispatch', 'onFirstToken', 'onFinish', 'onError', 'onReject'] as const)](id);
      const { requests, routed, finished, errors, givenUp, workers } = router.stats();
      expect(requests).toBeLessThanOrEqual(5);
      expect(requests).toBe(routed - finished - errors - givenUp);
      for (const { inflight } of workers) expect(inflight).toBeLessThanOrEqual(5);
    }
    for (const id of ids) router.onError(id);
    for (const worker of ['a', 'b']) expect(loadOf(router, worker)).toMatchObject(NO_LOAD);
  });
});

describe('requests without a sign of life', () => {
  test('are given up after requestIdleMs, in whatever phase', () => {
    const clock = new Clock();
    const router = routerOf(['a'], { requestIdleMs: 100, now: clock.now });
    for (const requestId of ['routed', 'prefill', 'decode', 'refused', 'alive']) {
      router.route({ requestId, seqHashes: prompt(requestId.length, 3) });
    }
    for (const requestId of ['prefill', 'decode', 'alive']) router.onDispatch(requestId);
    router.onFirstToken('decode');
    router.onReject('refused');
    clock.ms += 99;
    router.onFirstToken('alive');
    router.expire();
    expect(router.stats()).toMatchObject({ requests: 5, givenUp: 0 });
    clock.ms += 1;
    router.expire();
    expect(router.stats()).toMatchObject({ requests: 1, givenUp: 4, errors: 0 });
    expect(loadOf(router, 'a')).toMatchObject({ inflight: 1, pending: 0, decode: 30, running: 30 });
    expect(router.onFinish('prefill')).toBe(false);
    expect(router.onFinish('alive')).toBe(true);
    expect(loadOf(router, 'a')).toMatchObject(NO_LOAD);
  });

  test('stay as long as nobody calls expire', () => {
    const clock = new Clock();
    const router = routerOf(['a'], { requestIdleMs: 100, now: clock.now });
    router.route({ requestId: 'r', tokens: [] });
    clock.ms += 1e9;
    expect(router.stats().requests).toBe(1);
    expect(router.onDispatch('r')).toBe(true);
  });
});

test('an estimate holds no more than the capacity of its worker, prompts from their head on', () => {
  const router = routerOf([]);
  router.addWorker('a', { capacity: 4 });
  router.addWorker('b', { capacity: 100 });
  serve(router, { seqHashes: prompt(1, 7) }, 'a');
  serve(router, { seqHashes: prompt(1, 7) }, 'b');
  expect(overlapsOf(router, prompt(1, 7))).toEqual({ a: 4, b: 7 });
  serve(router, { seqHashes: prompt(2, 2) }, 'a');
  expect(overlapsOf(router, prompt(1, 7))).toEqual({ a: 2, b: 7 });
});

test('what a request finds cached is used again when it is dispatched, and goes last', () => {
  const router = routerOf([]);
  router.addWorker('a', { capacity: 4 });
  for (const number of [1, 2]) serve(router, { seqHashes: prompt(number, 2) });
  const { requestId } = router.route({ seqHashes: prompt(1, 2) });
  router.onDispatch(requestId);
  serve(router, { seqHashes: prompt(3, 2) });
  expect(overlapsOf(router, prompt(1, 2))).toEqual({ a: 2 });
  expect(overlapsOf(router, prompt(2, 2))).toEqual({ a: 0 });
});

test('an estimate forgets after its ttlMs, when expire is called', () => {
  const clock = new Clock();
  const router = routerOf([], { now: clock.now });
  router.addWorker('a', { ttlMs: 100 });
  router.addWorker('b');
  for (const worker of ['a', 'b']) serve(router, { seqHashes: prompt(1, 3) }, worker);
  clock.ms += 99;
  router.expire();
  expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 3, b: 3 });
  clock.ms += 1;
  router.expire();
  expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 0, b: 3 });
});

test('every bound holds at once under random traffic', () => {
  const clock = new Clock();
  const bounds = { maxRequests: 20, maxSessions: 10, maxBlocks: 60 };
  const router = routerOf([], { ...bounds, now: clock.now });
  const capacities: Record<string, number> = { a: 7, b: 25, c: 100 };
  for (const [name, capacity] of Object.entries(capacities)) router.addWorker(name, { capacity });
  const random = new Random(12);
  const ids: string[] = [];
  for (let i = 0; i < 3_000; i++) {
    clock.ms += random.below(3);
    const number = random.below(40);
    const session = random.oneIn(4) ? {} : { session: `s${number}` };
    ids.push(router.route({ ...session, seqHashes: prompt(number, random.between(0, 30)) }).requestId);
    for (let hooks = 0; hooks < 3; hooks++) {
      const id = random.oneOf(ids.slice(-25));
      router[random.oneOf(['onDispatch', 'onFirstToken', 'onFinish', 'onError', 'onReject'] as const)](id);
    }
    const { blocks, sessions, workers } = router.index.stats();
    expect(blocks).toBeLessThanOrEqual(bounds.maxBlocks);
    expect(sessions).toBeLessThanOrEqual(bounds.maxSessions);
    for (const { worker, residentBlocks } of workers) {
      expect(residentBlocks).toBeLessThanOrEqual(capacities[worker.name[0]!]!);
    }
    expect(router.stats().sessions).toBeLessThanOrEqual(bounds.maxSessions);
    expect(router.stats().requests).toBeLessThanOrEqual(bounds.maxRequests);
  }
  expect(router.index.validate()).toBe('');
});

test('requests that ended leave nothing behind', () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const router = routerOf(['a', 'b'], { maxRequests: 100 });
  const heapAfter = (requests: number) => {
    for (let i = 0; i < requests; i++) serve(router, { session: `s${i % 10}`, seqHashes: prompt(i % 10, 3) });
    gc();
    return process.memoryUsage().heapUsed;
  };
  heapAfter(2_000); // what is compiled and grows once
  const before = heapAfter(2_000);
  expect((heapAfter(20_000) - before) / 20_000).toBeLessThan(100);
});
