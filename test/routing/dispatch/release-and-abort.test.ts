import { describe, expect, test } from 'vitest';
import { Dispatcher } from '../../../src/routing/dispatch/dispatcher.js';
import type { DispatcherOptions } from '../../../src/routing/dispatch/types.js';
import { admitted, FakeRouter, never, outcome, refused, settled, setUp, VirtualClock } from './support.js';

const direct = () => admitted('direct');
const seed = () => admitted('seed');
const no = () => refused();
const throws = () => {
  throw new Error('broken');
};

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
