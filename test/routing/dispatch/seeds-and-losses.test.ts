import { describe, expect, test } from 'vitest';
import { admitted, codeOfRejection, type FakeRouter, outcome, refused, settled, setUp } from './support.js';

const direct = () => admitted('direct');
const seed = () => admitted('seed');
const no = () => refused();
const throws = () => {
  throw new Error('broken');
};

describe('seeds', () => {
  const options = { maxPendingSeeds: 1, maxQueuedSeeds: 1, seedDeadlineMs: 500 };

  test('wait for their turn in order', async () => {
    const { clock, router, dispatcher } = setUp({ a: seed }, { ...options, maxQueuedSeeds: 9 });
    const names = ['r', 's', 't'];
    const all = Promise.all(names.map((requestId) => dispatcher.dispatch({ tokens: [1], requestId })));
    await settled();
    expect(dispatcher.stats()).toMatchObject({ pending: 2, seeds: [{ worker: 'a', pending: 1, queued: 2 }] });
    for (const name of ['r', 's']) {
      await clock.advance(100);
      router.onFirstToken(name);
    }
    expect((await outcome(clock, all)).map(({ as }) => as)).toEqual(['seed', 'seed', 'seed']);
    expect(router.log).toEqual(names.map((name) => `dispatch ${name} a seed`));
    expect(clock.now()).toBe(200);
  });

  test('go to the next worker when the queue is full or the deadline passes', async () => {
    const { clock, dispatcher, released } = setUp({ a: seed, b: direct }, options);
    const [r, s, t] = ['r', 's', 't'].map((requestId) => dispatcher.dispatch({ tokens: [1], requestId }));
    expect(await outcome(clock, r!)).toMatchObject({ worker: 'a', as: 'seed' });
    expect(await t).toMatchObject({ worker: 'b', attempts: [{ outcome: 'seed-budget' }, {}] });
    expect(await s).toMatchObject({
      worker: 'b',
      attempts: [{ worker: 'a', outcome: 'seed-budget', pausedMs: 50 }, {}],
    });
    expect(released).toEqual(['a t', 'a s']);
    expect(clock.now()).toBe(550);
    expect(dispatcher.stats()).toMatchObject({ refused: { 'seed-budget': 2 }, releases: 2 });
  });

  test('that end in any way make room', async () => {
    const { clock, router, dispatcher } = setUp({ a: seed }, options);
    for (const end of ['onError', 'onFinish', 'onReject', 'onFirstToken'] as const) {
      const { as, requestId } = await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
      expect(as).toBe('seed');
      router[end](requestId);
      expect(dispatcher.stats().seeds).toEqual([]);
    }
  });

  test('of a caller who forgets the hooks count for their lease alone', async () => {
    const { clock, dispatcher } = setUp({ a: seed }, { ...options, seedLeaseMs: 300 });
    await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
    expect(await outcome(clock, dispatcher.dispatch({ tokens: [1] }))).toMatchObject({ as: 'seed' });
    expect(clock.now()).toBe(300);
  });

  test('do not hold up what is direct', async () => {
    const { clock, dispatcher } = setUp({ a: (_, call) => (call === 1 ? seed() : direct()) }, options);
    await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
    expect(await outcome(clock, dispatcher.dispatch({ tokens: [1] }))).toMatchObject({ as: 'direct' });
    expect(clock.now()).toBe(0);
  });
});

describe('a worker that goes', () => {
  test.each([
    ['fails', (router: FakeRouter) => router.lose('a')],
    ['leaves', (router: FakeRouter) => router.lose('a', true)],
    ['begins to drain', (router: FakeRouter) => void router.statuses.set('a', 'draining')],
  ])('and %s while it is asked does not get the request', async (_, go) => {
    const { clock, router, dispatcher, released } = setUp({
      a: () => clock.sleep(10).then(direct),
      b: direct,
    });
    const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    await settled();
    go(router);
    expect(await outcome(clock, dispatched)).toMatchObject({
      worker: 'b',
      as: 'direct',
      attempts: [{ worker: 'a', outcome: 'gone' }, { worker: 'b' }],
    });
    expect(released).toEqual(['a r']);
  });

  test('strands nobody who waits for its permit', async () => {
    const { clock, router, dispatcher, released } = setUp(
      { a: seed, b: direct },
      { maxPendingSeeds: 1, backoff: { baseMs: 0 } },
    );
    const [r, s, t] = ['r', 's', 't'].map((requestId) => dispatcher.dispatch({ tokens: [1], requestId }));
    await r;
    router.lose('a');
    const results = await outcome(clock, Promise.all([s, t]));
    expect(results.map((result) => result?.worker)).toEqual(['b', 'b']);
    expect(clock.now()).toBe(0);
    expect(released).toEqual(['a s', 'a t']);
    expect(dispatcher.stats()).toMatchObject({ seeds: [], refused: { gone: 2 } });
  });

  test('and comes back meanwhile is not asked again', async () => {
    const { clock, router, dispatcher, asked } = setUp({ a: () => clock.sleep(10).then(direct), b: direct });
    const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    await settled();
    router.lose('a');
    await clock.advance(10);
    router.statuses.set('a', 'up');
    expect(await outcome(clock, dispatched)).toMatchObject({ worker: 'b', as: 'direct' });
    expect(asked).toEqual(['a r', 'b r']);
    expect(router.log).toEqual(['dispatch r b direct']);
  });

  test.each([
    ['answers false', () => false],
    ['throws', throws],
  ])('is gone when onDispatch %s', async (_, onDispatch) => {
    const { clock, router, dispatcher, released } = setUp({ a: seed, b: direct });
    const real = router.onDispatch.bind(router);
    router.onDispatch = (id, options) => {
      if (router.requests.get(id)!.worker === 'a') return onDispatch();
      return real(id, options);
    };
    expect(await outcome(clock, dispatcher.dispatch({ tokens: [1], requestId: 'r' }))).toMatchObject({
      worker: 'b',
      attempts: [{ outcome: 'gone' }, {}],
    });
    expect(released).toEqual(['a r']);
    expect(dispatcher.stats().seeds).toEqual([]);
  });
});

describe('a request that the router gives up meanwhile', () => {
  test('rejects with ERR_KVIDX_OUT_OF_RANGE, and the worker is released', async () => {
    const { clock, router, dispatcher, released } = setUp({ a: () => clock.sleep(10).then(seed), b: direct });
    const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    await settled();
    router.onError('r');
    expect(await codeOfRejection(outcome(clock, dispatched))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(released).toEqual(['a r']);
    expect(dispatcher.stats()).toMatchObject({ pending: 0, failed: 1, seeds: [] });
  });
});

describe('errors of the router', () => {
  test('that come before a request is under way are handed on', async () => {
    const { clock, router, dispatcher } = setUp({ a: () => clock.sleep(5).then(direct) });
    const first = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    const twice = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    expect(await codeOfRejection(twice)).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(await outcome(clock, first)).toMatchObject({ as: 'direct' });
    router.statuses.clear();
    expect(await codeOfRejection(dispatcher.dispatch({ tokens: [1] }))).toBe('ERR_KVIDX_NO_WORKERS');
    expect(dispatcher.stats()).toMatchObject({ pending: 0, failed: 0 });
  });

  test('that come later give the permit back and release the worker', async () => {
    const { clock, router, dispatcher, released } = setUp({ a: seed });
    router.whenPrefilled = throws;
    await expect(outcome(clock, dispatcher.dispatch({ tokens: [1], requestId: 'r' }))).rejects.toThrow(
      'broken',
    );
    expect(released).toEqual(['a r']);
    expect(router.requests.size).toBe(0);
    expect(dispatcher.stats()).toMatchObject({ failed: 1, seeds: [] });
  });

  test('are not hidden by those of onError', async () => {
    const { clock, router, dispatcher } = setUp({ a: no });
    router.reroute = throws;
    router.onError = () => {
      throw new Error('worse');
    };
    await expect(outcome(clock, dispatcher.dispatch({ tokens: [1] }))).rejects.toThrow('broken');
  });
});
