import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import type { RouteRequest, RouterOptions } from '../../../src/routing/types.js';
import { Clock, homeOf, prompt, routerOf, routeTo, SPECS, serve } from './support.js';

const REQUEST: RouteRequest = { session: 's', seqHashes: prompt(1, 9) };

/** `s` lives on `a`, which has `pending` tokens to prefill; `b` has 20. */
function hotRouter(pending: number, options: RouterOptions = {}): Router {
  const migration = { hotTokens: 100, cooldownMs: 1_000 };
  const router = routerOf(['a', 'b'], { policy: 'sticky', migration, ...options });
  serve(router, REQUEST, 'a');
  load(router, 'a', pending);
  load(router, 'b', 20);
  return router;
}

function load(router: Router, worker: string, inputLength: number): string {
  const { requestId } = routeTo(router, worker, { tokens: [], inputLength });
  router.onDispatch(requestId);
  return requestId;
}

test('a session moves from a home that is hot to the worker with least to prefill', () => {
  const router = hotRouter(101);
  router.addWorker('c');
  load(router, 'c', 10);
  const before = router.stats();
  const decision = router.route(REQUEST);
  expect(decision).toMatchObject({ worker: 'c', migrated: true, firstTurn: false, cachedTokens: 0 });
  const workers = before.workers.map((each) => ({ ...each, routed: each.worker === 'c' ? 1 : 0 }));
  expect(router.stats()).toMatchObject({ migrations: 0, workers });
  router.onDispatch(decision.requestId);
  expect(router.stats().migrations).toBe(1);
  expect(homeOf(router, 's')).toBe('c');
});

test('a session stays at a home that is not above hotTokens, or has the least to prefill', () => {
  expect(hotRouter(100).route(REQUEST)).toMatchObject({ worker: 'a', migrated: false });
  const router = hotRouter(101);
  load(router, 'b', 81);
  expect(router.route(REQUEST)).toMatchObject({ worker: 'a', migrated: false });
});

test('without the option no session moves', () => {
  const router = routerOf(['a', 'b'], { policy: 'sticky' });
  serve(router, REQUEST, 'a');
  load(router, 'a', 1e6);
  expect(router.route(REQUEST)).toMatchObject({ worker: 'a', migrated: false });
});

test('a session that moved stays for the cooldown, and only those that moved', () => {
  const clock = new Clock();
  const router = hotRouter(101, { now: clock.now });
  router.onDispatch(router.route(REQUEST).requestId);
  load(router, 'b', 1_000);
  clock.ms += 999;
  expect(router.route(REQUEST)).toMatchObject({ worker: 'b', migrated: false });
  const other = { session: 't', seqHashes: prompt(2, 3) };
  serve(router, other, 'b');
  expect(router.route(other)).toMatchObject({ worker: 'a', migrated: true });
  clock.ms += 1;
  expect(router.route(REQUEST)).toMatchObject({ worker: 'a', migrated: true });
});

test('a session does not move where it does not fit, nor to who drains or is down', () => {
  const router = hotRouter(101);
  router.addWorker('b', { poolTokens: 115 });
  expect(router.route(REQUEST)).toMatchObject({ worker: 'a', migrated: false });
  router.addWorker('b', { poolTokens: 116 });
  expect(router.route(REQUEST)).toMatchObject({ worker: 'b', migrated: true });
  router.drainWorker('b');
  expect(router.route(REQUEST)).toMatchObject({ worker: 'a', migrated: false });
});

test('a decision that was never dispatched is no move', () => {
  const router = hotRouter(101);
  const first = router.route(REQUEST);
  router.onError(first.requestId);
  const second = router.route(REQUEST);
  expect(second).toMatchObject({ worker: 'b', migrated: true });
  router.onReject(second.requestId);
  expect(router.reroute(second.requestId)).toMatchObject({ worker: 'a', migrated: false });
  router.onDispatch(second.requestId);
  expect(router.stats().migrations).toBe(0);
  expect(homeOf(router, 's')).toBe('a');
});

test('a move that its new worker refused after the dispatch is none: the session may move again', () => {
  const router = hotRouter(101, { rejectTtlMs: 0 });
  const { requestId } = router.route(REQUEST);
  router.onDispatch(requestId);
  router.onReject(requestId);
  router.onError(requestId);
  expect(homeOf(router, 's')).toBe('a');
  expect(router.route(REQUEST)).toMatchObject({ worker: 'b', migrated: true });
});

describe.each(SPECS)('%s', (policy) => {
  test('moves sessions only when its own choice is the hot home, and explains the same', () => {
    const migrating = hotRouter(500, { policy });
    const plain = hotRouter(500, { policy, migration: undefined as never });
    for (let i = 0; i < 6; i++) {
      const { worker: chosen, requestId: inPlain } = plain.route(REQUEST);
      const explained = migrating.explain(REQUEST);
      const { worker, migrated, requestId } = migrating.route(REQUEST);
      plain.onError(inPlain);
      migrating.onError(requestId);
      expect({ worker, migrated }).toEqual({ worker: 'b', migrated: chosen === 'a' });
      expect(explained.worker).toBe(worker);
      expect(explained.candidates.map(({ lost }) => lost === undefined)).toEqual([false, true]);
      expect(explained.message).toContain('"b"');
    }
  });
});

test('requests without a session never move', () => {
  const router = hotRouter(500, { policy: 'kv-aware' });
  expect(router.route({ seqHashes: prompt(1, 9) })).toMatchObject({ worker: 'a', migrated: false });
});

test('a session does not move to a worker that refused it lately, nor where what is on its way leaves no room', () => {
  const clock = new Clock();
  const refused = hotRouter(101, { now: clock.now, rejectTtlMs: 500 });
  refused.onReject(routeTo(refused, 'b', { session: 's', tokens: [] }).requestId);
  expect(refused.route(REQUEST)).toMatchObject({ worker: 'a', migrated: false });
  clock.ms += 500;
  expect(refused.route(REQUEST)).toMatchObject({ worker: 'b', migrated: true });

  const full = hotRouter(5_000);
  full.addWorker('b', { poolTokens: 1_000 });
  const other = routeTo(full, 'b', { tokens: [], inputLength: 900 });
  expect(full.route(REQUEST)).toMatchObject({ worker: 'a', migrated: false });
  full.onError(other.requestId);
  expect(full.route(REQUEST)).toMatchObject({ worker: 'b', migrated: true });
});
