import { describe, expect, test } from 'vitest';
import type { Router } from '../../../src/routing/router.js';
import type { RouterOptions } from '../../../src/routing/types.js';
import { codeOf } from '../../kv-index/support.js';
import { Clock, homeOf, prompt, rejectsOf, routerOf, routeTo, serve } from './support.js';

/** Nothing is ever resident here, so that the index knows only what sessions own. */
const unfedRouter = (options: RouterOptions = {}): Router =>
  routerOf(['a', 'b'], { residency: 'exact', ...options });

/** What is left of sessions, wherever it is kept. */
const left = (router: Router) => ({
  remembered: router.stats().sessions,
  owning: router.index.stats().sessions,
  owned: router.index.stats().blocks,
});
const NOTHING = { remembered: 0, owning: 0, owned: 0 };

test('a session owns the blocks of what was dispatched, until it ends', () => {
  const router = unfedRouter();
  routeTo(router, 'a', { requestId: 'r', session: 's', seqHashes: prompt(1, 3) });
  expect(left(router)).toEqual({ remembered: 1, owning: 0, owned: 0 });
  router.onDispatch('r');
  expect(left(router)).toEqual({ remembered: 1, owning: 1, owned: 3 });
  router.onFinish('r');
  serve(router, { session: 's', seqHashes: prompt(1, 5) });
  expect(left(router)).toEqual({ remembered: 1, owning: 1, owned: 5 });
  expect(router.endSession('s')).toBe(5);
  expect(left(router)).toEqual(NOTHING);
  expect(router.endSession('s')).toBe(0);
  expect(router.endSession('never was')).toBe(0);
});

/** What may still happen to a request whose session is over. */
const REST: Record<string, (router: Router, id: string) => void> = {
  dispatch: (router, id) => void router.onDispatch(id),
  finish: (router, id) => {
    router.onDispatch(id);
    router.onFirstToken(id);
    router.onFinish(id);
  },
  error: (router, id) => void router.onError(id),
  'refusal and another try': (router, id) => {
    if (!router.onReject(id)) return;
    router.reroute(id);
    router.onDispatch(id);
    router.onReject(id);
  },
};

describe.each(Object.entries(REST))('%s of a request whose session is over', (_, rest) => {
  test.each(['routed', 'prefill', 'decode'])('leaves nothing when it was in %s', (phase) => {
    const router = unfedRouter();
    routeTo(router, 'a', { requestId: 'r', session: 's', seqHashes: prompt(1, 3) });
    if (phase !== 'routed') router.onDispatch('r');
    if (phase === 'decode') router.onFirstToken('r');
    router.endSession('s');
    expect(left(router)).toEqual(NOTHING);
    rest(router, 'r');
    expect(left(router)).toEqual(NOTHING);
    expect(homeOf(router, 's')).toBeUndefined();
    expect(rejectsOf(router, 's')).toEqual({ a: 0, b: 0 });
    expect(router.route({ session: 's', tokens: [] }).firstTurn).toBe(true);
  });
});

test('a session of the same name starts anew, untouched by requests of the former one', () => {
  const router = unfedRouter();
  routeTo(router, 'a', { requestId: 'former', session: 's', seqHashes: prompt(1, 3) });
  router.endSession('s');
  serve(router, { session: 's', seqHashes: prompt(2, 2) }, 'b');
  router.onDispatch('former');
  expect(homeOf(router, 's')).toBe('b');
  expect(left(router)).toEqual({ remembered: 1, owning: 1, owned: 2 });
  router.onReject('former');
  expect(rejectsOf(router, 's')).toEqual({ a: 0, b: 0 });
  expect(homeOf(router, 's')).toBe('b');
});

describe('requests without a session', () => {
  test('are sessions of their own: what they share belongs to nobody alone', () => {
    const router = routerOf(['a'], { policy: 'kv-aware:overlap=exclusive' });
    const counted = () => router.explain({ session: 's', seqHashes: prompt(1, 4) }).candidates[0]!.counted;
    serve(router, { session: 's', seqHashes: prompt(1, 4) });
    expect(counted()).toBe(4);
    serve(router, { seqHashes: prompt(1, 3) });
    expect(counted()).toBe(1);
    const owning = router.index.stats().sessions;
    serve(router, { seqHashes: prompt(1, 3) });
    expect(router.index.stats().sessions).toBe(owning + 1);
  });

  test('have no home, are not remembered, and each is a first turn', () => {
    const router = routerOf(['a', 'b']);
    for (let i = 0; i < 4; i++) expect(serve(router, { seqHashes: prompt(1, 3) }).firstTurn).toBe(true);
    expect(router.stats().sessions).toBe(0);
    expect(router.explain({ seqHashes: prompt(1, 3) }).candidates.some(({ sticky }) => sticky)).toBe(false);
  });

  test('cannot be told from outside: their names are refused', () => {
    const router = routerOf(['a']);
    for (const session of ['\0', '\0lipp-1', '\u0000s']) {
      expect(codeOf(() => router.route({ session, tokens: [] }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
      expect(codeOf(() => router.endSession(session))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
  });

  test('keep their refusals to themselves', () => {
    const router = routerOf(['a', 'b'], { policy: 'kv-aware:maxRejects=1' });
    const { requestId, worker } = router.route({ tokens: [] });
    router.onReject(requestId);
    expect(router.route({ tokens: [] }).worker).toBe(worker);
  });
});

describe('sessions that are silent', () => {
  test('end when they were not routed for sessionIdleMs, with all they owned', () => {
    const clock = new Clock();
    const router = unfedRouter({ sessionIdleMs: 100, now: clock.now });
    serve(router, { session: 'old', seqHashes: prompt(1, 3) });
    serve(router, { seqHashes: prompt(2, 3) });
    clock.ms += 60;
    serve(router, { session: 'young', seqHashes: prompt(3, 3) });
    clock.ms += 39;
    router.expire();
    expect(left(router)).toEqual({ remembered: 2, owning: 3, owned: 9 });
    clock.ms += 1;
    router.expire();
    expect(left(router)).toEqual({ remembered: 1, owning: 1, owned: 3 });
    expect(homeOf(router, 'old')).toBeUndefined();
    router.expire(clock.ms + 60);
    expect(left(router)).toEqual(NOTHING);
  });

  test('are those that were not routed: a request that waits for its worker keeps its session', () => {
    const clock = new Clock();
    const router = unfedRouter({ sessionIdleMs: 100, now: clock.now });
    serve(router, { session: 's', seqHashes: prompt(1, 3) }, 'b');
    clock.ms += 90;
    routeTo(router, 'b', { requestId: 'waits', session: 's', seqHashes: prompt(1, 4) });
    clock.ms += 20;
    router.expire();
    expect(router.stats().sessions).toBe(1);
    expect(homeOf(router, 's')).toBe('b');
    router.onDispatch('waits');
    expect(left(router)).toEqual({ remembered: 1, owning: 1, owned: 4 });
  });
});

test('more sessions than maxSessions end the least recently routed ones, in router and index', () => {
  const router = routerOf(['a', 'b'], { maxSessions: 3 });
  for (const [i, session] of ['s', 't', 'u', 's', 'v'].entries()) {
    serve(router, { session, seqHashes: prompt(session.charCodeAt(0), 2 + i) }, 'a');
    expect(router.stats().sessions).toBeLessThanOrEqual(3);
    expect(router.index.stats().sessions).toBe(router.stats().sessions);
  }
  expect(['s', 't', 'u', 'v'].map((session) => homeOf(router, session))).toEqual(['a', undefined, 'a', 'a']);
  expect(router.endSession('t')).toBe(0);
  router.route({ session: 'w', tokens: [] });
  expect(homeOf(router, 'u')).toBeUndefined();
  expect(router.endSession('u')).toBe(0);
});

test('a session that ended for want of room leaves nothing by its requests under way', () => {
  const router = unfedRouter({ maxSessions: 1 });
  routeTo(router, 'a', { requestId: 'r', session: 's', seqHashes: prompt(1, 3) });
  router.route({ session: 't', tokens: [] });
  expect(router.onDispatch('r')).toBe(true);
  expect(left(router)).toEqual({ remembered: 1, owning: 0, owned: 0 });
  expect(homeOf(router, 's')).toBeUndefined();
  expect(router.onFinish('r')).toBe(true);
  expect(left(router)).toEqual({ remembered: 1, owning: 0, owned: 0 });
});

test('ten thousand sessions that end leave an empty index but for what workers hold', () => {
  const router = routerOf(['a', 'b', 'c'], { maxSessions: 100 });
  for (let i = 0; i < 10_000; i++) {
    const session = i % 7 === 0 ? {} : { session: `s${i}` };
    const { requestId } = router.route({ ...session, seqHashes: prompt(i % 900, 1 + (i % 5)) });
    router.onDispatch(requestId);
    if (i % 3 === 0) router.onError(requestId);
    else router.onFinish(requestId);
  }
  expect(router.stats()).toMatchObject({ requests: 0, sessions: 100 });
  router.expire(1e12);
  expect(left(router)).toMatchObject({ remembered: 0, owning: 0 });
  for (const name of ['a', 'b', 'c']) router.removeWorker(name);
  expect(router.index.stats().blocks).toBe(0);
  expect(router.index.validate()).toBe('');
});
