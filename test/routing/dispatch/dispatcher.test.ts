import { describe, expect, test } from 'vitest';
import { invalidArgType } from '../../../src/errors.js';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type { AdmissionRequest, DispatcherOptions } from '../../../src/routing/dispatch/types.js';
import { admitted, codeOfRejection, FakeRouter, never, outcome, refused, settled, setUp } from './support.js';

const direct = () => admitted('direct');
const seed = () => admitted('seed');
const no = () => refused();
const throws = () => {
  throw new Error('broken');
};

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
    const known = { requestId: 'r', session: 's', inputLength: 100, newTokens: 52, firstTurn: true };
    const asks = { ...known, wantsSketch: false, signal };
    expect(asked).toEqual([['a', asks]]);
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

  test('is asked with the hashes as they were, whatever another worker does with its array', async () => {
    const seen: string[] = [];
    const answer = (result: typeof direct) => (request: AdmissionRequest) => {
      seen.push(String(request.seqHashes));
      request.seqHashes!.fill(0n);
      return result();
    };
    const { clock, dispatcher } = setUp({ a: answer(no), b: answer(direct) });
    const seqHashes = BigUint64Array.of(1n, 2n);
    await outcome(clock, dispatcher.dispatch({ seqHashes }));
    expect(seen).toEqual(['1,2', '1,2']);
    expect(seqHashes).toEqual(BigUint64Array.of(1n, 2n));
  });

  test('need not tell its figures', async () => {
    const dispatcher = new Dispatcher(new FakeRouter('a', 'b'), {
      admit: (worker) =>
        worker === 'a' ? { admitted: false, reason: 'no-d-capacity' } : { admitted: true, as: 'direct' },
      backoff: { baseMs: 0 },
    });
    expect(await dispatcher.dispatch({ tokens: [1] })).toMatchObject({
      worker: 'b',
      as: 'direct',
      attempts: [{ worker: 'a', outcome: 'no-d-capacity' }, {}],
    });
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
      {
        worker: 'c',
        outcome: 'nonsense',
        pausedMs: 200,
        error: invalidArgType('answer', 'an object', 'yes'),
      },
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
