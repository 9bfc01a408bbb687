import { describe, expect, test } from 'vitest';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type { AdmissionRequest, DispatcherOptions } from '../../../src/routing/dispatch/types.js';
import { codeOf } from '../../kv-index/support.js';
import { admitted, FakeRouter, never, outcome, refused, settled, setUp, VirtualClock } from './support.js';

const direct = () => admitted('direct');
const seed = () => admitted('seed');
const no = () => refused();
const throws = () => {
  throw new Error('broken');
};

async function codeOfRejection(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  return String(error?.code);
}

describe('a worker that takes the request', () => {
  test('gets it at once when it is direct', async () => {
    const { clock, router, dispatcher } = setUp({ a: direct });
    const result = await outcome(clock, dispatcher.dispatch({ tokens: [1], requestId: 'r' }));
    expect(result).toEqual({
      requestId: 'r',
      worker: 'a',
      as: 'direct',
      decision: expect.objectContaining({ worker: 'a', newTokens: 52 }),
      attempts: [{ worker: 'a', outcome: 'direct', pausedMs: 0 }],
    });
    expect(router.log).toEqual(['dispatch r a direct']);
    expect(clock.now()).toBe(0);
    expect(dispatcher.stats()).toMatchObject({ pending: 0, dispatched: { direct: 1 }, seeds: [] });
  });

  test.each(['seed', 'reseed'] as const)(
    'gets it as %s with a permit, until its prefill is over',
    async (as) => {
      const { clock, router, dispatcher } = setUp({ a: () => admitted(as) });
      const result = await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
      expect(result).toMatchObject({ worker: 'a', as });
      expect(router.log).toEqual([`dispatch request-1 a ${as}`]);
      expect(dispatcher.stats().seeds).toEqual([{ worker: 'a', pending: 1, queued: 0 }]);
      router.onFirstToken(result.requestId);
      expect(dispatcher.stats().seeds).toEqual([]);
    },
  );

  test('is asked with what is known of the request', async () => {
    const asked: [string, AdmissionRequest][] = [];
    const { clock, dispatcher } = setUp(
      { a: direct },
      {
        admit: (worker, request) => {
          asked.push([worker, request]);
          return direct();
        },
      },
    );
    await outcome(clock, dispatcher.dispatch({ tokens: [1], session: 's', requestId: 'r' }));
    const signal = expect.any(AbortSignal);
    const known = { requestId: 'r', session: 's', inputLength: 100, newTokens: 52, firstTurn: true, signal };
    expect(asked).toEqual([['a', known]]);
  });

  test('is asked with the hashes as they were, whatever the caller does with the array', async () => {
    const seen: (BigUint64Array | undefined)[] = [];
    const answer = (result: typeof direct) => (request: AdmissionRequest) => {
      seen.push(request.seqHashes);
      return result();
    };
    const { clock, dispatcher } = setUp({ a: answer(no), b: answer(direct) });
    const seqHashes = BigUint64Array.of(1n, 2n);
    const dispatched = dispatcher.dispatch({ seqHashes });
    seqHashes.fill(0n);
    await outcome(clock, dispatched);
    expect(seen).toEqual([BigUint64Array.of(1n, 2n), BigUint64Array.of(1n, 2n)]);
  });
});

describe('a refusal', () => {
  test('sends the request to the next worker after a pause', async () => {
    const { clock, router, dispatcher } = setUp({ a: no, b: () => refused('real-large-append'), c: direct });
    const result = await outcome(clock, dispatcher.dispatch({ tokens: [1], requestId: 'r' }));
    expect(result).toMatchObject({
      worker: 'c',
      as: 'direct',
      attempts: [
        { worker: 'a', outcome: 'no-d-capacity', pausedMs: 50 },
        { worker: 'b', outcome: 'real-large-append', pausedMs: 100 },
        { worker: 'c', outcome: 'direct', pausedMs: 0 },
      ],
    });
    expect(router.log).toEqual(['reject r a', 'reject r b', 'dispatch r c direct']);
    expect(clock.now()).toBe(150);
    expect(dispatcher.stats().refused).toMatchObject({ 'no-d-capacity': 1, 'real-large-append': 1 });
  });

  test('pauses as the worker recommends, up to maxPauseMs', async () => {
    const answers = {
      a: () => refused('no-d-capacity', 7),
      b: () => refused('no-d-capacity', 1e9),
      c: () => refused('no-d-capacity', Number.NaN),
      d: direct,
    };
    const { clock, dispatcher } = setUp(answers, { maxPauseMs: 300 });
    const { attempts } = await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
    expect(attempts.map(({ pausedMs }) => pausedMs)).toEqual([7, 300, 50, 0]);
    expect(clock.now()).toBe(357);
  });

  test('of the last worker is followed by no pause', async () => {
    const { clock, dispatcher } = setUp({ a: no, b: no });
    const { as, attempts } = await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
    expect(as).toBe('fallback');
    expect(attempts.map(({ pausedMs }) => pausedMs)).toEqual([50, 0]);
    expect(clock.now()).toBe(50);
  });

  test('is what it is when the call throws, hangs or answers nonsense', async () => {
    const { clock, dispatcher, router } = setUp({ a: throws, b: never, c: () => 'yes', d: direct });
    const { attempts } = await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
    expect(attempts).toEqual([
      { worker: 'a', outcome: 'error', pausedMs: 50, error: new Error('broken') },
      { worker: 'b', outcome: 'timeout', pausedMs: 100 },
      { worker: 'c', outcome: 'nonsense', pausedMs: 200 },
      { worker: 'd', outcome: 'direct', pausedMs: 0 },
    ]);
    expect(clock.now()).toBe(1350);
    expect(router.log.filter((line) => line.startsWith('reject'))).toHaveLength(3);
    expect(dispatcher.stats().refused).toMatchObject({ error: 1, timeout: 1, nonsense: 1 });
  });

  test('of one request holds up no other', async () => {
    const { clock, dispatcher } = setUp({
      a: ({ requestId }) => (requestId === 'slow' ? never() : direct()),
    });
    const slow = dispatcher.dispatch({ tokens: [1], requestId: 'slow' });
    await dispatcher.dispatch({ tokens: [1], requestId: 'quick' });
    expect(clock.now()).toBe(0);
    expect(dispatcher.stats()).toMatchObject({ pending: 1, dispatched: { direct: 1 } });
    expect(await outcome(clock, slow)).toMatchObject({ as: 'fallback' });
  });

  test('gives way to a worker that joins meanwhile', async () => {
    const { clock, router, dispatcher } = setUp(
      { a: no, b: no },
      { admit: (worker) => (worker === 'new' ? direct() : no()) },
    );
    const dispatched = dispatcher.dispatch({ tokens: [1] });
    await settled();
    router.statuses.set('new', 'up');
    expect(await outcome(clock, dispatched)).toMatchObject({ worker: 'new', as: 'direct' });
  });
});

describe('release', () => {
  test('is told of an admission that comes too late', async () => {
    let answerNow: (answer: unknown) => void = () => {};
    const { clock, dispatcher, released } = setUp({
      a: () => new Promise((resolve) => (answerNow = resolve)),
      b: direct,
    });
    await outcome(clock, dispatcher.dispatch({ tokens: [1], requestId: 'r' }));
    expect(released).toEqual([]);
    answerNow(admitted('seed'));
    await settled();
    expect(released).toEqual(['a r']);
    expect(dispatcher.stats()).toMatchObject({ lateAnswers: 1, releases: 1, releaseErrors: 0 });
  });

  test('is not told of a late refusal', async () => {
    const { clock, dispatcher, released } = setUp({
      a: () => clock.sleep(1500).then(no),
      b: () => clock.sleep(900).then(direct),
    });
    await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
    expect(released).toEqual([]);
    expect(dispatcher.stats()).toMatchObject({ lateAnswers: 1, releases: 0 });
  });

  test('is not told of a late admission where the request has come as a fallback', async () => {
    const { clock, dispatcher, released } = setUp({ a: () => clock.sleep(1500).then(direct) });
    const { worker, as } = await outcome(clock, dispatcher.dispatch({ tokens: [1] }));
    expect([worker, as]).toEqual(['a', 'fallback']);
    expect(released).toEqual([]);
    expect(dispatcher.stats()).toMatchObject({ lateAnswers: 1, releases: 0 });
  });

  test('is told of nonsense that admits', async () => {
    const { clock, dispatcher, released } = setUp({ a: () => ({ admitted: true }), b: direct });
    const { worker } = await outcome(clock, dispatcher.dispatch({ tokens: [1], requestId: 'r' }));
    expect(worker).toBe('b');
    expect(released).toEqual(['a r']);
  });

  test.each([
    ['throws', throws],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['hangs', never],
  ])('that %s harms nobody', async (how, release) => {
    const { clock, dispatcher } = setUp({ a: () => ({ admitted: true }), b: direct }, { release });
    expect(await outcome(clock, dispatcher.dispatch({ tokens: [1] }))).toMatchObject({ worker: 'b' });
    await settled();
    expect(dispatcher.stats()).toMatchObject({ releases: 1, releaseErrors: how === 'hangs' ? 0 : 1 });
  });

  test('may be absent', async () => {
    const clock = new VirtualClock();
    const admit = ((worker: string) =>
      worker === 'a' ? { admitted: true } : direct()) as DispatcherOptions['admit'];
    const dispatcher = new Dispatcher(new FakeRouter('a', 'b'), { admit, clock });
    expect(await outcome(clock, dispatcher.dispatch({ tokens: [1] }))).toMatchObject({ worker: 'b' });
  });
});

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

describe('the fallback', () => {
  test('takes workers and prefill workers in turn, unasked', async () => {
    const answers = { a: no, b: no, c: no };
    const { clock, router, dispatcher, asked } = setUp(answers, { prefillWorkers: ['p', 'q'] });
    const results = [];
    for (let i = 0; i < 5; i++) results.push(await outcome(clock, dispatcher.dispatch({ tokens: [1] })));
    expect(results.map(({ as, worker, prefillWorker }) => `${as} ${worker} ${prefillWorker}`)).toEqual([
      'fallback a p',
      'fallback b q',
      'fallback c p',
      'fallback a q',
      'fallback b p',
    ]);
    expect(results[1]!.decision.worker).toBe('b');
    expect(results[1]!.attempts).toHaveLength(3);
    expect(asked).toHaveLength(15);
    expect(router.log.filter((line) => line.endsWith('fallback'))).toHaveLength(5);
    expect(dispatcher.stats().dispatched).toEqual({ direct: 0, seed: 0, reseed: 0, fallback: 5 });
  });

  test('passes over workers that take no requests', async () => {
    const { clock, router, dispatcher } = setUp({ a: no, b: no, c: no });
    const dispatched = dispatcher.dispatch({ tokens: [1] });
    await settled();
    router.statuses.set('a', 'draining');
    router.statuses.set('b', 'down');
    expect(await outcome(clock, dispatched)).toMatchObject({ worker: 'c', as: 'fallback' });
  });

  test('finds nobody when all have gone: ERR_KVIDX_NO_WORKERS, and the request is given up', async () => {
    const { clock, router, dispatcher } = setUp({ a: no, b: no });
    const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    await settled();
    router.lose('a');
    router.lose('b', true);
    expect(await codeOfRejection(outcome(clock, dispatched))).toBe('ERR_KVIDX_NO_WORKERS');
    expect(router.requests.size).toBe(0);
    expect(router.log.at(-1)).toBe('error r');
    expect(dispatcher.stats()).toMatchObject({ pending: 0, failed: 1 });
  });

  test('gives up when the router counts the request nowhere', async () => {
    const { clock, router, dispatcher } = setUp({ a: direct, b: direct });
    router.onDispatch = () => false;
    expect(await codeOfRejection(outcome(clock, dispatcher.dispatch({ tokens: [1] })))).toBe(
      'ERR_KVIDX_NO_WORKERS',
    );
    expect(router.requests.size).toBe(0);
  });
});

test('prefill workers are given to seeds and reseeds in turn, to nothing direct', async () => {
  const answers = [seed(), direct(), admitted('reseed'), seed()];
  const { clock, dispatcher } = setUp(
    { a: (_, call) => answers[call - 1] },
    { prefillWorkers: ['p', 'q'], maxPendingSeeds: 9 },
  );
  const given = [];
  for (const _ of answers)
    given.push((await outcome(clock, dispatcher.dispatch({ tokens: [1] }))).prefillWorker);
  expect(given).toEqual(['p', undefined, 'q', 'p']);
});

describe('the caller aborts', () => {
  test('before: the router is not asked', async () => {
    const { router, dispatcher } = setUp({ a: direct });
    const signal = AbortSignal.abort('why');
    await expect(dispatcher.dispatch({ tokens: [1], signal })).rejects.toBe('why');
    expect(router.log).toEqual([]);
    expect(dispatcher.stats()).toMatchObject({ pending: 0, aborted: 0 });
  });

  test('while a worker is asked: it is told, and released if it admits after all', async () => {
    const controller = new AbortController();
    let worker: AbortSignal | undefined;
    const { clock, router, dispatcher, released } = setUp({
      a: ({ signal }) => {
        worker = signal;
        return clock.sleep(10).then(direct);
      },
    });
    const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r', signal: controller.signal });
    await settled();
    controller.abort('why');
    await expect(dispatched).rejects.toBe('why');
    expect(worker!.reason).toBe('why');
    expect(router.log).toEqual(['error r']);
    await clock.drain();
    expect(released).toEqual(['a r']);
    expect(dispatcher.stats()).toMatchObject({ pending: 0, aborted: 1, failed: 0, lateAnswers: 1 });
  });

  test.each([
    ['seed', seed, 'a r'],
    ['direct', direct, 'a r'],
    ['fallback', no, ''],
  ])(
    'at any turn of the promises: it is dispatched as %s, or under way nowhere',
    async (as, answer, late) => {
      const ends = new Set<string>();
      for (let turns = 0; turns < 40; turns++) {
        const controller = new AbortController();
        const { clock, router, dispatcher, released } = setUp({ a: answer });
        const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r', signal: controller.signal });
        for (let turn = 0; turn < turns; turn++) await undefined;
        const gone = router.log.some((line) => line.startsWith('dispatch'));
        controller.abort('why');
        const end = await outcome(clock, dispatched).then(
          (result) => result.as,
          (reason) => reason,
        );
        await settled();
        expect(end).toBe(gone ? as : 'why');
        ends.add(`${end}, under way: ${router.requests.has('r')}, released: ${released}`);
        const seeds = end === 'seed' ? [{ worker: 'a', pending: 1, queued: 0 }] : [];
        expect(dispatcher.stats()).toMatchObject({ pending: 0, seeds });
      }
      // Before the worker is asked, after it, and after the dispatch.
      const expected = new Set([
        'why, under way: false, released: ',
        `why, under way: false, released: ${late}`,
      ]);
      expect(ends).toEqual(expected.add(`${as}, under way: true, released: `));
    },
  );

  test('in the queue: it leaves, is released, and the next one takes its turn', async () => {
    const controller = new AbortController();
    const { clock, router, dispatcher, released } = setUp({ a: seed }, { maxPendingSeeds: 1 });
    const first = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    const second = dispatcher.dispatch({ tokens: [1], requestId: 's', signal: controller.signal });
    const third = dispatcher.dispatch({ tokens: [1], requestId: 't' });
    await first;
    controller.abort('why');
    await expect(second).rejects.toBe('why');
    expect(released).toEqual(['a s']);
    router.onFirstToken('r');
    expect(await outcome(clock, third)).toMatchObject({ as: 'seed' });
    expect(clock.now()).toBe(0);
    expect(dispatcher.stats().seeds).toEqual([{ worker: 'a', pending: 1, queued: 0 }]);
  });

  test('just as its turn has come: the permit goes to the next one', async () => {
    const controller = new AbortController();
    const { clock, router, dispatcher, released } = setUp({ a: seed }, { maxPendingSeeds: 1 });
    const first = dispatcher.dispatch({ tokens: [1], requestId: 'r' });
    const second = dispatcher.dispatch({ tokens: [1], requestId: 's', signal: controller.signal });
    const third = dispatcher.dispatch({ tokens: [1], requestId: 't' });
    await first;
    router.onFirstToken('r');
    controller.abort('why');
    await expect(second).rejects.toBe('why');
    expect(await outcome(clock, third)).toMatchObject({ as: 'seed' });
    expect(released).toEqual(['a s']);
    expect(router.requests.has('s')).toBe(false);
  });

  test('in a pause: it ends there', async () => {
    const controller = new AbortController();
    const { clock, router, dispatcher, asked } = setUp({ a: no, b: direct });
    const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r', signal: controller.signal });
    await clock.advance(20);
    controller.abort('why');
    await expect(dispatched).rejects.toBe('why');
    expect(clock.timers).toBe(0);
    expect(asked).toEqual(['a r']);
    expect(router.log).toEqual(['reject r a', 'error r']);
  });

  test('after it was dispatched: nothing happens', async () => {
    const controller = new AbortController();
    const { clock, router, dispatcher } = setUp({ a: seed });
    await outcome(clock, dispatcher.dispatch({ tokens: [1], signal: controller.signal }));
    controller.abort();
    await settled();
    expect(router.log).toEqual(['dispatch request-1 a seed']);
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

describe('bad input', () => {
  const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
  const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';
  const codeWith = (options: object) =>
    codeOf(() => new Dispatcher(new FakeRouter('a'), { admit: direct, ...options }));

  test('a dispatcher needs a router and a way to ask', () => {
    for (const router of [undefined, null, {}, { route: () => {} }])
      expect(codeOf(() => new Dispatcher(router as never, { admit: direct }))).toBe(TYPE);
    for (const options of [undefined, null, 5, {}, { admit: 'x' }])
      expect(codeOf(() => new Dispatcher(new FakeRouter(), options as never))).toBe(TYPE);
  });

  test.each(['admitTimeoutMs', 'maxPauseMs', 'seedDeadlineMs', 'seedLeaseMs'])('%s is a time', (name) => {
    for (const value of ['5', null, 5n]) expect(codeWith({ [name]: value })).toBe(TYPE);
    for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])
      expect(codeWith({ [name]: value })).toBe(RANGE);
  });

  test('a backoff is in range', () => {
    for (const name of ['baseMs', 'maxMs', 'factor', 'jitter']) {
      expect(codeWith({ backoff: { [name]: '5' } })).toBe(TYPE);
      for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY])
        expect(codeWith({ backoff: { [name]: value } })).toBe(RANGE);
    }
    expect(codeWith({ backoff: { factor: 0.5 } })).toBe(RANGE);
    expect(codeWith({ backoff: { jitter: 1.1 } })).toBe(RANGE);
    expect(codeWith({ backoff: 5 })).toBe(TYPE);
  });

  test('numbers of seeds are whole, and one may be under way', () => {
    expect(codeWith({ maxPendingSeeds: 0 })).toBe(RANGE);
    expect(codeWith({ maxPendingSeeds: 1.5 })).toBe(RANGE);
    expect(codeWith({ maxQueuedSeeds: -1 })).toBe(RANGE);
    expect(codeWith({ maxQueuedSeeds: '1' })).toBe(TYPE);
    expect(codeWith({ seed: 2 ** 32 })).toBe(RANGE);
  });

  test('prefill workers are names; clock and release are what they are', () => {
    expect(codeWith({ prefillWorkers: 'p' })).toBe(TYPE);
    expect(codeWith({ prefillWorkers: [5] })).toBe(TYPE);
    expect(codeWith({ prefillWorkers: [''] })).toBe(RANGE);
    expect(codeWith({ release: 'x' })).toBe(TYPE);
    expect(codeWith({ clock: {} })).toBe(TYPE);
    expect(codeWith({ clock: null })).toBe(TYPE);
  });

  test('a dispatch rejects, and nothing is under way', async () => {
    const { router, dispatcher } = setUp({ a: direct });
    for (const request of [undefined, null, 5, { tokens: [1], signal: 'x' }])
      expect(await codeOfRejection(dispatcher.dispatch(request as never))).toBe(TYPE);
    expect(router.requests.size).toBe(0);
    expect(dispatcher.stats().pending).toBe(0);
  });
});

test('the system clock keeps its promises', async () => {
  const answers: DispatcherOptions['admit'] = (worker) =>
    worker === 'a' ? never() : worker === 'b' ? refused() : admitted('seed');
  const dispatcher = new Dispatcher(new FakeRouter('a', 'b', 'c'), {
    admit: answers,
    admitTimeoutMs: 5,
    backoff: { baseMs: 1.5 },
    maxPendingSeeds: 1,
    seedLeaseMs: 10,
  });
  const results = await Promise.all(Array.from({ length: 3 }, () => dispatcher.dispatch({ tokens: [1] })));
  expect(results.map(({ as, worker }) => `${as} ${worker}`)).toEqual(['seed c', 'seed c', 'seed c']);
});
