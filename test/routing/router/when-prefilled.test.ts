import { describe, expect, test, vi } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import { codeOf } from '../../kv-index/support.js';
import { Clock, prompt, routerOf, routeTo } from './support.js';

const clock = new Clock();

/** `r` is in its prefill on `a`; the router holds two requests at most. */
function busyRouter(): Router {
  const router = routerOf(['a', 'b'], { maxRequests: 2, requestIdleMs: 100, now: clock.now });
  routeTo(router, 'a', { requestId: 'r', seqHashes: prompt(1, 3) });
  router.onDispatch('r');
  return router;
}

/** All that ends a prefill. */
const ENDS: Record<string, (router: Router) => void> = {
  'its first token': (router) => void router.onFirstToken('r'),
  'its end': (router) => void router.onFinish('r'),
  'its failure': (router) => void router.onError('r'),
  'a refusal': (router) => void router.onReject('r'),
  'more requests than are remembered': (router) => {
    router.route({ tokens: [] });
    router.route({ tokens: [] });
  },
  'a long silence': (router) => router.expire(clock.ms + 100),
  'the failure of its worker': (router) => void router.failWorker('a'),
  'the removal of its worker': (router) => void router.removeWorker('a'),
};

describe.each(Object.entries(ENDS))('%s', (_, end) => {
  test('tells each who waits, once', () => {
    const router = busyRouter();
    const waiting = [vi.fn(), vi.fn()];
    for (const callback of waiting) router.whenPrefilled('r', callback);
    for (const callback of waiting) expect(callback).not.toHaveBeenCalled();
    end(router);
    for (const callback of waiting) expect(callback).toHaveBeenCalledTimes(1);
    router.onFirstToken('r');
    router.onFinish('r');
    router.onError('r');
    for (const callback of waiting) expect(callback).toHaveBeenCalledTimes(1);
  });

  test('has done its work when it tells so', () => {
    const router = busyRouter();
    const seen: unknown[] = [];
    router.whenPrefilled('r', () => seen.push(router.stats().workers[0]?.pendingPrefillTokens ?? 0));
    end(router);
    if (router.workers()[0]!.name === 'a') expect(seen).toEqual([0]);
  });

  test('is not disturbed by who throws when told', () => {
    const router = busyRouter();
    const late = vi.fn();
    router.whenPrefilled('r', () => {
      throw new Error('not mine');
    });
    router.whenPrefilled('r', late);
    const untroubled = busyRouter();
    try {
      end(router);
    } catch (error) {
      expect(error).toMatchObject({ message: 'not mine' });
    }
    end(untroubled);
    expect(late).toHaveBeenCalledTimes(1);
    expect(router.stats()).toEqual(untroubled.stats());
  });
});

test('one who asks late is told at once', () => {
  const router = busyRouter();
  router.onFirstToken('r');
  const callback = vi.fn();
  router.whenPrefilled('r', callback);
  router.whenPrefilled('never was', callback);
  router.onFinish('r');
  router.whenPrefilled('r', callback);
  expect(callback).toHaveBeenCalledTimes(3);
});

test('one who waits before the dispatch is told at the first token', () => {
  const router = routerOf(['a']);
  router.route({ requestId: 'r', seqHashes: prompt(1, 3) });
  const callback = vi.fn();
  router.whenPrefilled('r', callback);
  router.onDispatch('r');
  expect(callback).not.toHaveBeenCalled();
  router.onFirstToken('r');
  expect(callback).toHaveBeenCalledTimes(1);
});

test('after a refusal a new wait is for the next worker', () => {
  const router = routerOf(['a', 'b']);
  router.route({ requestId: 'r', seqHashes: prompt(1, 3) });
  router.onReject('r');
  const callback = vi.fn();
  router.whenPrefilled('r', callback);
  expect(callback).not.toHaveBeenCalled();
  router.reroute('r');
  router.onDispatch('r');
  router.onFirstToken('r');
  expect(callback).toHaveBeenCalledTimes(1);
});

test('a callback is a function', () => {
  const router = busyRouter();
  for (const callback of [undefined, null, 'x', {}]) {
    expect(codeOf(() => router.whenPrefilled('r', callback as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  }
});

describe('one who is told', () => {
  /** Two requests in their prefill on `a`, longest untouched first `first`. */
  function pair(): Router {
    const router = routerOf(['a', 'b'], { requestIdleMs: 100, now: clock.now });
    for (const requestId of ['first', 'second']) {
      routeTo(router, 'a', { requestId, seqHashes: prompt(requestId.length, 3) });
      router.onDispatch(requestId);
    }
    return router;
  }

  /** What ends both at once. */
  const BOTH: Record<string, (router: Router) => void> = {
    'their worker fails': (router) => void router.failWorker('a'),
    'they are given up': (router) => router.expire(clock.ms + 100),
  };

  test.each(Object.entries(BOTH))('may end the other when %s', (_, end) => {
    const router = pair();
    router.whenPrefilled('first', () => router.onError('second'));
    router.whenPrefilled('second', () => router.onError('first'));
    end(router);
    const { requests, errors, givenUp, workers } = router.stats();
    expect({ requests, ended: errors + givenUp }).toEqual({ requests: 0, ended: 2 });
    expect(workers[0]).toMatchObject({ inflight: 0, pendingPrefillTokens: 0, runningTokens: 0 });
  });

  test.each(Object.entries(BOTH))('may use the ids again when %s', (_, end) => {
    const router = pair();
    const again = () => {
      for (const requestId of ['first', 'second']) {
        router.onError(requestId);
        routeTo(router, 'b', { requestId, seqHashes: prompt(9, 3) });
        router.onDispatch(requestId);
      }
    };
    router.whenPrefilled('first', again);
    end(router);
    expect(router.stats().requests).toBe(2);
    expect(router.stats().workers.map(({ inflight }) => inflight)).toEqual([0, 2]);
  });

  test('keeps the hashes of each request apart', () => {
    const router = pair();
    router.whenPrefilled('first', () => router.onError('second'));
    router.whenPrefilled('second', () => router.onError('first'));
    router.failWorker('a');
    for (const requestId of ['x', 'y', 'z']) {
      routeTo(router, 'b', { requestId, seqHashes: prompt(requestId.charCodeAt(0), 3) });
    }
    for (const requestId of ['x', 'y', 'z']) {
      router.onDispatch(requestId);
      router.onFinish(requestId);
    }
    const held = ['x', 'y', 'z'].map(
      (id) => router.explain({ seqHashes: prompt(id.charCodeAt(0), 3) }).candidates[0]!.overlapBlocks,
    );
    expect(held).toEqual([3, 3, 3]);
  });
});

test('the hashes of requests stay apart when one who waits throws as more arrive than are remembered', () => {
  const router = routerOf(['a'], { maxRequests: 2 });
  const route = (requestId: string, number: number) => {
    try {
      router.route({ requestId, seqHashes: prompt(number, 3) });
    } catch (error) {
      expect(error).toMatchObject({ message: 'not mine' });
    }
  };
  route('oldest', 1);
  router.whenPrefilled('oldest', () => {
    throw new Error('not mine');
  });
  for (const [i, requestId] of ['q', 'r', 's'].entries()) route(requestId, 2 + i);
  const sent = ['r', 's'].map((requestId) => router.onDispatch(requestId));
  for (const requestId of ['r', 's']) router.onFinish(requestId);
  const held = [3, 4].map((n) => router.explain({ seqHashes: prompt(n, 3) }).candidates[0]!.overlapBlocks);
  expect(held).toEqual(sent.map((each) => (each ? 3 : 0)));
});

test('what is thrown need not be printable, nor thrown late', () => {
  const router = routerOf(['a'], { maxRequests: 1 });
  const throwing = (what: unknown) => () => {
    throw what;
  };
  expect(() => router.whenPrefilled('never was', throwing('not mine'))).not.toThrow();
  router.route({ requestId: 'oldest', seqHashes: prompt(1, 3) });
  const late = vi.fn();
  router.whenPrefilled('oldest', throwing(Object.create(null)));
  router.whenPrefilled('oldest', late);
  router.route({ requestId: 'next', seqHashes: prompt(2, 3) });
  expect(late).toHaveBeenCalledTimes(1);
  router.onDispatch('next');
  router.onFinish('next');
  expect(router.explain({ seqHashes: prompt(2, 3) }).candidates[0]!.overlapBlocks).toBe(3);
});
