import { describe, expect, test, vi } from 'vitest';
import { KvIndex } from '../../../src/index.js';
import { Router } from '../../../src/routing/router.js';
import { hashes, tokensFrom } from '../../kv-index/support.js';
import { BLOCK, homeOf, overlapsOf, prompt, routerOf, routeTo, serve, statsOf } from './support.js';

describe('an estimate', () => {
  test('learns a prompt when its request ends well, and only then', () => {
    const router = routerOf(['a', 'b']);
    for (const end of ['onError', 'onReject', 'nothing', 'onFinish'] as const) {
      const { requestId } = routeTo(router, 'a', { seqHashes: prompt(1, 3) });
      router.onDispatch(requestId);
      expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 0, b: 0 });
      if (end !== 'nothing') router[end](requestId);
    }
    expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 3, b: 0 });
  });

  test('learns it already when it is routed, where asked to, and of those who get it later', () => {
    const router = routerOf(['a', 'b'], { recordAt: 'route' });
    const { requestId, worker } = router.route({ seqHashes: prompt(1, 3) });
    const other = worker === 'a' ? 'b' : 'a';
    expect(overlapsOf(router, prompt(1, 3))).toMatchObject({ [worker]: 3, [other]: 0 });
    router.onReject(requestId);
    expect(router.reroute(requestId)).toMatchObject({ worker: other, overlapBlocks: 0 });
    expect(overlapsOf(router, prompt(1, 3))).toMatchObject({ [other]: 3 });
  });

  test('is not what others store under the name of the worker', () => {
    const router = routerOf(['a', 'b']);
    router.index.store(router.index.addWorker('a'), prompt(1, 3));
    expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 0, b: 0 });
  });

  test('of two requests with contradicting prompts takes the first, and the router goes on', () => {
    const router = routerOf(['a']);
    serve(router, { session: 's', seqHashes: hashes(1, 2, 3) });
    serve(router, { session: 's', seqHashes: hashes(3, 2, 1) });
    serve(router, { session: 's', seqHashes: hashes(5, 5) });
    expect(overlapsOf(router, hashes(1, 2, 3))).toEqual({ a: 3 });
    expect(overlapsOf(router, hashes(5, 5))).toEqual({ a: 0 });
    expect(router.index.validate()).toBe('');
  });
});

describe('exact residency', () => {
  test('is what is stored under the name of the worker: before it joins, and of all its ranks and tiers', () => {
    const router = routerOf([], { residency: 'exact' });
    const { index } = router;
    index.store(index.addWorker('a'), prompt(1, 2));
    router.addWorker('a');
    router.addWorker('b');
    index.store(index.addWorker('a', { tier: 'cpu' }), prompt(1, 4));
    index.store(index.addWorker('b', { dpRank: 3 }), prompt(1, 3));
    index.store(index.addWorker('c'), prompt(1, 9));
    expect(overlapsOf(router, prompt(1, 9))).toEqual({ a: 4, b: 3 });
    index.removeWorker(index.addWorker('a', { tier: 'cpu' }));
    expect(overlapsOf(router, prompt(1, 9))).toEqual({ a: 2, b: 3 });
    index.removeWorker('a');
    expect(overlapsOf(router, prompt(1, 9))).toEqual({ a: 0, b: 3 });
    index.store(index.addWorker('a'), prompt(1, 5));
    expect(overlapsOf(router, prompt(1, 9))).toEqual({ a: 5, b: 3 });
  });

  test('learns nothing from requests', () => {
    const router = routerOf([], { residency: 'exact', recordAt: 'route' });
    router.addWorker('a');
    serve(router, { seqHashes: prompt(1, 3) });
    expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 0 });
    expect(router.index.stats().workers.map(({ residentBlocks }) => residentBlocks)).toEqual([0]);
  });

  test('of several slots counts the largest, not their sum, and not what two hold between them', () => {
    const router = routerOf(['a'], { residency: 'exact' });
    const { index } = router;
    const cpu = index.addWorker('a', { tier: 'cpu' });
    index.store(index.addWorker('a'), prompt(1, 3));
    index.store(cpu, prompt(1, 6).subarray(3), { parent: prompt(1, 3)[2]! });
    expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 3 });
  });
});

describe('the larger of both', () => {
  test.each([
    [5, 2],
    [2, 5],
    [4, 4],
  ])('is %d stored against %d served → the greater', (stored, served) => {
    const router = routerOf(['a'], { residency: 'larger' });
    router.index.store(router.index.addWorker('a'), prompt(1, stored));
    serve(router, { seqHashes: prompt(1, served) });
    expect(overlapsOf(router, prompt(1, 9))).toEqual({ a: Math.max(stored, served) });
  });
});

test('workers of one router may be known in different ways', () => {
  const router = routerOf([]);
  for (const residency of ['estimate', 'exact', 'larger'] as const)
    router.addWorker(residency, { residency });
  for (const { name } of router.workers()) {
    serve(router, { seqHashes: prompt(1, 2) }, name);
    router.index.store(router.index.addWorker(name), prompt(1, 3));
  }
  expect(overlapsOf(router, prompt(1, 9))).toEqual({ estimate: 2, exact: 3, larger: 3 });
  expect(router.stats().workers.map(({ residency }) => residency)).toEqual(['estimate', 'exact', 'larger']);
  expect(router.stats().workers.map(({ residentBlocks }) => residentBlocks)).toEqual([2, 3, 3]);
  router.index.store(router.index.addWorker('exact', { tier: 'cpu' }), prompt(2, 4));
  expect(statsOf(router, 'exact').residentBlocks).toBe(7);
  router.close();
  expect(statsOf(router, 'exact').residentBlocks).toBe(undefined);
});

test('stats ask the index once of each of its workers, however many the router has', () => {
  const router = new Router({ blockSize: BLOCK, recordAt: 'route' });
  for (let i = 0; i < 40; i++) router.addWorker(`w${i}`, i % 2 ? { residency: 'exact' } : {});
  router.index.store(router.index.addWorker('w1', { tier: 'cpu' }), prompt(1, 4));
  router.index.store(router.index.addWorker('w1'), prompt(1, 3));
  const told = vi.spyOn(router.index, 'residentBlocks');
  expect(statsOf(router, 'w1').residentBlocks).toBe(7);
  expect(told).toHaveBeenCalledTimes(router.index.workers().length);
});

describe('a restored index', () => {
  test('under a running router gives it what was saved, and goes on', () => {
    const router = routerOf(['a', 'b'], { residency: 'larger', policy: 'kv-aware:overlap=exclusive' });
    serve(router, { session: 's', seqHashes: prompt(1, 3) }, 'a');
    router.index.store(router.index.addWorker('b'), prompt(1, 2));
    const saved = router.index.snapshot();
    serve(router, { session: 's', seqHashes: prompt(1, 6) }, 'b');
    routeTo(router, 'b', { requestId: 'under way', session: 's', seqHashes: prompt(1, 5) });
    router.onDispatch('under way');
    router.index.restore(saved);
    expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 3, b: 2 });
    expect(router.explain({ session: 's', seqHashes: prompt(1, 6) }).candidates[0]!.counted).toBe(3);
    expect(homeOf(router, 's')).toBe('b');
    expect(router.onFinish('under way')).toBe(true);
    expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 3, b: 5 });
    serve(router, { session: 's', seqHashes: prompt(1, 6) }, 'a');
    expect(router.endSession('s')).toBe(6);
  });

  test('that knows fewer workers gives those it does not know an empty estimate of their capacity', () => {
    const router = routerOf([]);
    const saved = router.index.snapshot();
    router.addWorker('a', { capacity: 4 });
    serve(router, { seqHashes: prompt(1, 3) });
    router.index.restore(saved);
    expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 0 });
    serve(router, { seqHashes: prompt(2, 9) });
    expect(overlapsOf(router, prompt(2, 9))).toEqual({ a: 4 });
  });

  test('of a former process serves workers that join afterwards', () => {
    const former = routerOf(['a', 'b']);
    serve(former, { session: 's', seqHashes: prompt(1, 5) }, 'b');
    const router = new Router({ blockSize: BLOCK });
    router.index.restore(former.index.snapshot());
    for (const name of ['a', 'b']) router.addWorker(name);
    expect(overlapsOf(router, prompt(1, 5))).toEqual({ a: 0, b: 5 });
    expect(router.endSession('s')).toBe(5);
  });

  test('that is refused changes nothing', () => {
    const router = routerOf(['a']);
    serve(router, { seqHashes: prompt(1, 3) });
    expect(() => router.index.restore(new KvIndex({ blockSize: BLOCK + 1 }).snapshot())).toThrow();
    expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 3 });
  });
});

test('tokens are hashed as by the index, under the namespace of the router or of the request', () => {
  const namespace = { model: 'm' };
  const router = routerOf(['a'], { residency: 'exact', namespace });
  const { index } = router;
  const tokens = tokensFrom(1, 35);
  index.store(index.addWorker('a'), index.lookupTokens(tokens).seqHashes);
  const overlapBlocks = (request: object) => router.route({ tokens, ...request }).overlapBlocks;
  expect(overlapBlocks({})).toBe(3);
  expect(overlapBlocks({ tokens: [...tokens] })).toBe(3);
  expect(overlapBlocks({ namespace })).toBe(3);
  expect(overlapBlocks({ namespace: {} })).toBe(0);
  expect(overlapBlocks({ extraKeys: new Map([[1, [7n]]]) })).toBe(1);
  expect(router.route({ tokens })).toMatchObject({ cachedTokens: 30, newTokens: 5 });
});

test('hashes are read during the call and not kept', () => {
  const router = routerOf(['a']);
  const seqHashes = prompt(1, 3);
  const { requestId } = router.route({ session: 's', seqHashes });
  seqHashes.fill(9n);
  router.onDispatch(requestId);
  router.onFinish(requestId);
  expect(overlapsOf(router, prompt(1, 3))).toEqual({ a: 3 });
});

test('many requests under way at once keep their own hashes', () => {
  const router = routerOf(['a', 'b', 'c']);
  const lengths = [0, 1, 63, 64, 65, 128, 129, 1_000, 4_097];
  for (let round = 0; round < 3; round++) {
    const ids = lengths.flatMap((length, i) =>
      Array.from({ length: 3 }, (_, copy) => {
        const number = round * 100 + i * 3 + copy;
        return { number, length, id: router.route({ seqHashes: prompt(number, length) }).requestId };
      }),
    );
    for (const { id } of ids) router.onDispatch(id);
    for (const { id } of ids) router.onFinish(id);
    for (const { number, length } of ids) {
      expect(Math.max(...Object.values(overlapsOf(router, prompt(number, length))))).toBe(length);
    }
  }
  expect(statsOf(router, 'a').inflight).toBe(0);
  expect(router.index.validate()).toBe('');
});
