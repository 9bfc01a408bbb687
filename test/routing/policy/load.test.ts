import { describe, expect, it } from 'vitest';
import { createPolicy } from '../../../src/routing/policy/spec.js';
import { decide, explain, valuesOf } from './support.js';

describe('lmetric', () => {
  it('takes the least product of work and requests', () => {
    // 1,500 × 2, 1,000 × 4, 2,500 × 1
    const workers = [
      { pendingPrefillTokens: 500, numRequests: 2 },
      { numRequests: 4 },
      { pendingPrefillTokens: 1500, numRequests: 1 },
    ];
    expect(valuesOf(explain('lmetric', workers), 'lmetric')).toEqual([3000, 4000, 2500]);
    expect(decide('lmetric', workers)).toBe(2);
  });

  it('counts the cache where there is load', () => {
    // 1,000 × 2 against 100 × 3
    expect(decide('lmetric', [{ numRequests: 2 }, { numRequests: 3, cacheHitTokens: 900 }])).toBe(1);
  });

  it('loses sight of the cache on idle workers', () => {
    // 1,000 × 0 = 999 × 0 = 0 × 0
    const workers = [{}, { cacheHitTokens: 1 }, { cacheHitTokens: 1000 }];
    expect(valuesOf(explain('lmetric', workers), 'lmetric')).toEqual([0, 0, 0]);
    expect(decide('lmetric', workers)).toBe(0);
    // An idle worker with a long queue of prefill is 0 too; one request with all cached as well.
    expect(decide('lmetric', [{ numRequests: 1 }, { pendingPrefillTokens: 1e9 }])).toBe(1);
    expect(decide('lmetric', [{ numRequests: 9, cacheHitTokens: 1000 }, {}])).toBe(0);
  });

  it('lets the first win a tie, always', () => {
    const policy = createPolicy('lmetric');
    const workers = [{ numRequests: 2 }, { pendingPrefillTokens: 1000, numRequests: 1 }]; // 2,000 both
    expect([1, 2, 3].map(() => decide(policy, workers))).toEqual([0, 0, 0]);
  });

  it('does not go below 0 for a cache hit above the input', () => {
    expect(
      decide('lmetric', [
        { numRequests: 1, cacheHitTokens: 1000 },
        { numRequests: 5, cacheHitTokens: 9000 },
      ]),
    ).toBe(0);
  });
});

describe('load-only', () => {
  it.each([
    ['fewest requests', [{ numRequests: 3 }, { numRequests: 1 }, { numRequests: 2 }], 1],
    ['the first of equal ones', [{ numRequests: 2 }, { numRequests: 1 }, { numRequests: 1 }], 1],
    ['the first of idle ones', [{}, {}, {}], 0],
    ['whatever is cached', [{ numRequests: 1, overlapBlocks: 40 }, {}], 1],
    ['whatever waits', [{ numRequests: 1 }, { pendingPrefillTokens: 1e6 }], 1],
    ['whoever refused', [{ numRequests: 1 }, { rejects: 9 }], 1],
  ])('takes %s', (_, workers, place) => {
    expect(decide('load-only', workers)).toBe(place);
  });

  it('takes no notice of the home, and does not turn', () => {
    const policy = createPolicy('load-only');
    expect(decide(policy, [{}, {}], { home: 1 })).toBe(0);
    expect(decide(policy, [{}, {}], { home: 1 })).toBe(0);
  });
});

describe('sticky', () => {
  it('takes fewest requests on the first turn, the first of equal ones', () => {
    expect(decide('sticky', [{ numRequests: 3 }, { numRequests: 1 }, { numRequests: 1 }])).toBe(1);
    expect(decide('sticky', [{}, {}])).toBe(0);
    expect(decide('sticky', [{ numRequests: 1, overlapBlocks: 40 }, {}])).toBe(1);
  });

  it('never moves later', () => {
    const loaded = { numRequests: 500, pendingPrefillTokens: 1e6, rejects: 9 };
    for (let home = 0; home < 3; home++) {
      const workers = [{}, {}, {}].map((idle, place) => (place === home ? loaded : idle));
      expect(decide('sticky', workers, { home })).toBe(home);
    }
  });

  it('settles anew when its home is no candidate', () => {
    const ranking = explain('sticky', [{ numRequests: 2 }, { numRequests: 1 }], { hasHome: true });
    expect(ranking.winner).toBe(1);
    expect(ranking.rule).toBe('no worker of its session to stay on: fewest requests');
  });
});
