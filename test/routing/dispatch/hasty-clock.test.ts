import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/routing/dispatch/clock.js';
import { admitted, outcome, setUp, VirtualClock } from './support.js';

const direct = () => admitted('direct');
const seed = () => admitted('seed');

describe('a clock that calls back at once', () => {
  /** Time passes by itself: every timer ends before `after` returns. */
  function hasty(): Clock {
    let now = 0;
    return {
      now: () => now,
      after(ms, callback) {
        now += ms;
        callback();
        return () => {};
      },
    };
  }

  test.each([undefined, new AbortController().signal])('is too late for every answer', async (signal) => {
    const { router, dispatcher } = setUp({ a: direct, b: direct }, { admitTimeoutMs: 0, clock: hasty() });
    const dispatched = dispatcher.dispatch({ tokens: [1], requestId: 'r', ...(signal && { signal }) });
    expect(await dispatched).toMatchObject({
      as: 'fallback',
      attempts: [
        { worker: 'a', outcome: 'timeout', pausedMs: 50 },
        { worker: 'b', outcome: 'timeout', pausedMs: 0 },
      ],
    });
    expect(router.log).toEqual(['reject r a', 'reject r b', 'dispatch r a fallback']);
  });

  test('ends a wait for a permit', async () => {
    const clock = new VirtualClock();
    const after: Clock['after'] = (ms, callback) => {
      if (ms > 0) return clock.after(ms, callback);
      callback();
      return () => {};
    };
    const { dispatcher } = setUp(
      { a: seed, b: direct },
      { maxPendingSeeds: 1, seedDeadlineMs: 0, clock: { now: () => clock.now(), after } },
    );
    const { signal } = new AbortController();
    await dispatcher.dispatch({ tokens: [1] });
    expect(await outcome(clock, dispatcher.dispatch({ tokens: [1], signal }))).toMatchObject({
      worker: 'b',
      attempts: [{ worker: 'a', outcome: 'seed-budget' }, {}],
    });
    expect(dispatcher.stats().seeds).toEqual([{ worker: 'a', pending: 1, queued: 0 }]);
    expect(clock.timers).toBe(0);
  });
});
