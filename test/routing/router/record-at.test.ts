import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import { hashes } from '../../kv-index/support.js';
import { overlapsOf, prompt, routerOf, routeTo, serve } from './support.js';

describe('what is recorded at the route', () => {
  /** What ends a request that its worker never took. */
  const UNTAKEN: Record<string, (router: Router, id: string) => void> = {
    'a refusal': (router, id) => void router.onReject(id),
    'a refusal after the dispatch': (router, id) => {
      router.onDispatch(id);
      router.onReject(id);
    },
    'a client that leaves before the dispatch': (router, id) => void router.onError(id),
    'another worker': (router, id) => void router.assign(id, 'b'),
  };

  describe.each(Object.entries(UNTAKEN))('%s', (_, untake) => {
    test('takes it back', () => {
      const router = routerOf(['a', 'b'], { recordAt: 'route' });
      const { requestId } = routeTo(router, 'a', { seqHashes: prompt(1, 4) });
      untake(router, requestId);
      expect(overlapsOf(router, prompt(1, 4)).a).toBe(0);
    });

    test('leaves what a sibling brought there meanwhile', () => {
      const router = routerOf(['a', 'b'], { recordAt: 'route' });
      const { requestId } = routeTo(router, 'a', { seqHashes: prompt(1, 4) });
      serve(router, { seqHashes: prompt(1, 3) }, 'a');
      untake(router, requestId);
      expect(overlapsOf(router, prompt(1, 4)).a).toBe(3);
    });

    test('leaves what was there before', () => {
      const router = routerOf(['a', 'b'], { recordAt: 'route' });
      serve(router, { seqHashes: prompt(1, 2) }, 'a');
      const { requestId } = routeTo(router, 'a', { seqHashes: prompt(1, 4) });
      untake(router, requestId);
      expect(overlapsOf(router, prompt(1, 4)).a).toBe(2);
    });
  });

  test('is taken back from the worker that refused it, whatever those who wait do first', () => {
    const router = routerOf(['a', 'b'], { recordAt: 'route' });
    serve(router, { seqHashes: prompt(1, 4) }, 'b');
    const { requestId } = routeTo(router, 'a', { seqHashes: prompt(1, 4) });
    router.whenPrefilled(requestId, () => router.reroute(requestId));
    router.onReject(requestId);
    expect(overlapsOf(router, prompt(1, 4))).toEqual({ a: 0, b: 4 });
  });

  test('is not found by the request itself when it is decided anew', () => {
    const AGAIN = [
      (router: Router, id: string) => router.assign(id, 'a'),
      (router: Router, id: string) => router.reroute(id),
    ];
    for (const again of AGAIN) {
      const router = routerOf(['a'], { recordAt: 'route' });
      const { requestId } = router.route({ seqHashes: prompt(1, 4) });
      expect(again(router, requestId)).toMatchObject({
        overlapBlocks: 0,
        cachedTokens: 0,
        newTokens: 40,
      });
    }
  });

  test('is not taken back by a request whose prompt contradicts it', () => {
    const router = routerOf(['a'], { recordAt: 'route' });
    router.route({ seqHashes: hashes(1, 2, 3) });
    const { requestId } = router.route({ seqHashes: hashes(3, 2, 1) });
    router.onError(requestId);
    expect(overlapsOf(router, hashes(1, 2, 3))).toEqual({ a: 3 });
  });

  test('is not taken back by a request from before a restore', () => {
    const router = routerOf(['a'], { recordAt: 'route' });
    const former = router.route({ seqHashes: prompt(1, 4) }).requestId;
    router.index.restore(router.index.snapshot());
    router.route({ seqHashes: prompt(1, 4) });
    router.onError(former);
    expect(overlapsOf(router, prompt(1, 4))).toEqual({ a: 4 });
  });

  test('leaves nothing when its requests have ended', () => {
    const router = routerOf(['a', 'b'], { recordAt: 'route' });
    const ends = ['onError', 'onReject', 'onFinish'] as const;
    const ids = Array.from(
      { length: 30 },
      (_, i) => router.route({ seqHashes: prompt(i % 4, i % 9) }).requestId,
    );
    for (const [i, id] of ids.entries()) {
      if (i % 5 === 0) router.assign(id, 'b');
      if (i % 2) router.onDispatch(id);
      router[ends[i % 3]!](id);
      if (i % 3 === 1) router.reroute(id);
      if (i % 7 === 0) router.failWorker('a');
      if (i % 7 === 1) router.addWorker('a');
    }
    for (const id of ids) router.onError(id);
    for (const worker of router.index.workers()) {
      if (!worker.name.endsWith('(estimate)')) expect(router.index.residentBlocks(worker)).toBe(0);
    }
  });

  test('stays when the request fails later: the worker had it', () => {
    const router = routerOf(['a', 'b'], { recordAt: 'route' });
    const { requestId } = routeTo(router, 'a', { seqHashes: prompt(1, 4) });
    router.onDispatch(requestId);
    router.onFirstToken(requestId);
    router.onError(requestId);
    expect(overlapsOf(router, prompt(1, 4))).toEqual({ a: 4, b: 0 });
  });
});

test('what another router expected goes when its snapshot is restored where nothing is expected', () => {
  const expecting = routerOf(['a'], { recordAt: 'route' });
  serve(expecting, { seqHashes: prompt(1, 2) }, 'a');
  routeTo(expecting, 'a', { seqHashes: prompt(1, 6) });
  const router = routerOf(['a'], { recordAt: 'finish' });
  router.index.restore(expecting.index.snapshot());
  expect(overlapsOf(router, prompt(1, 6))).toEqual({ a: 2 });
  expect(router.index.workers().map(({ name }) => name)).toEqual(['a (estimate)']);
});

test('what finds no room is not expected, and what does goes with its request', () => {
  const router = routerOf(['a'], { recordAt: 'route', maxBlocks: 10 });
  for (let i = 0; i < 3; i++) {
    const { requestId } = router.route({ seqHashes: prompt(i, 12) });
    router.onError(requestId);
    expect(overlapsOf(router, prompt(i, 12))).toEqual({ a: 0 });
  }
});

test('what is expected of workers that are not of this router goes at a restore', () => {
  const other = routerOf(['elsewhere'], { recordAt: 'route' });
  routeTo(other, 'elsewhere', { seqHashes: prompt(1, 6) });
  const router = routerOf(['a'], { recordAt: 'route' });
  router.index.restore(other.index.snapshot());
  router.route({ tokens: [] });
  const names = router.index.workers().map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('elsewhere'))).toEqual(['elsewhere (estimate)']);
});
