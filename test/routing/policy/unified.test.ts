import { describe, expect, it } from 'vitest';
import type { WorkerFeatures } from '../../../src/routing/candidates.js';
import { createPolicy } from '../../../src/routing/policy/spec.js';
import { decide, explain, valuesOf } from './support.js';

/** The home has this much of 1,000 tokens cached and some requests; the other worker is idle, so that moving goes there. */
function atHome(
  cacheHitTokens: number,
  numRequests: number,
  others: WorkerFeatures[] = [{}],
): WorkerFeatures[] {
  return [...others, { cacheHitTokens, numRequests }];
}

describe('unified: staying', () => {
  it('needs more than half of the prompt at home', () => {
    expect(decide('unified', atHome(501, 1), { home: 1 })).toBe(1);
    expect(decide('unified', atHome(500, 1), { home: 1 })).toBe(0); // exactly 0.5
    expect(decide('unified', atHome(0, 1), { home: 1 })).toBe(0);
  });

  it('allows exactly twice the mean of requests, which counts as 1 at least', () => {
    expect(decide('unified', atHome(900, 2), { home: 1 })).toBe(1); // mean 1: 2 ≤ 2
    expect(decide('unified', atHome(900, 1), { home: 1 })).toBe(1); // mean 0.5 counts as 1
    // Three workers: 5 ≤ 2 × (0 + 0 + 5) / 3 does not hold.
    expect(decide('unified', atHome(900, 5, [{}, {}]), { home: 2 })).toBe(0);
    // 8 = 2 × (1 + 3 + 8) / 3, and 9 > 2 × (1 + 3 + 9) / 3.
    const others = [{ numRequests: 1 }, { numRequests: 3 }];
    expect(decide('unified', atHome(900, 8, others), { home: 2 })).toBe(2);
    expect(explain('unified', atHome(900, 9, others), { home: 2 }).rule).toBe(
      'lowest lmetric, then fewest new tokens',
    );
    expect(explain('unified', atHome(900, 8, others), { home: 2 }).rule).toBe(
      "stays on its session's worker",
    );
  });

  it('is exact where the mean is no double', () => {
    // loadFactor 7 of a mean of n / 7: n requests at home and none elsewhere are exactly 7 times the mean.
    const idle = Array.from({ length: 6 }, () => ({}));
    for (let n = 7; n < 500; n++)
      expect(decide('unified:loadFactor=7', atHome(900, n, idle), { home: 6 })).toBe(6);
  });

  it('takes its bounds as options', () => {
    expect(decide('unified:hitShare=0.25', atHome(251, 1), { home: 1 })).toBe(1);
    expect(decide('unified:hitShare=0.25', atHome(250, 1), { home: 1 })).toBe(0);
    expect(decide('unified:loadFactor=1.5', atHome(900, 2), { home: 1 })).toBe(0); // 2 > 1.5 × 1
    expect(decide('unified:loadFactor=0', atHome(900, 1), { home: 1 })).toBe(0);
  });

  it('has nothing to stay for with an empty prompt', () => {
    // 0 / max(0, 1)
    expect(decide('unified', [{}, { numRequests: 1 }], { home: 1, inputLength: 0 })).toBe(0);
  });
});

describe('unified: moving', () => {
  it('takes the lowest lmetric', () => {
    // 1,000 × 3, 1,900 × 1, 400 × 4
    const workers = [
      { numRequests: 3 },
      { pendingPrefillTokens: 900, numRequests: 1 },
      { cacheHitTokens: 600, numRequests: 4 },
    ];
    expect(valuesOf(explain('unified', workers), 'lmetric')).toEqual([3000, 1900, 1600]);
    expect(decide('unified', workers)).toBe(2);
  });

  it('breaks ties by new tokens, then by requests', () => {
    // All idle: lmetric 0, then 1,000 and 300 new tokens.
    expect(decide('unified', [{}, { cacheHitTokens: 700 }, {}])).toBe(1);
    // 0 × 2 and 0 × 1, no new tokens.
    const cached = { cacheHitTokens: 1000 };
    expect(
      decide('unified', [
        { ...cached, numRequests: 2 },
        { ...cached, numRequests: 1 },
      ]),
    ).toBe(1);
  });

  it('breaks exact ties by one counter for all requests', () => {
    const policy = createPolicy('unified');
    expect(decide(policy, [{}, {}, {}])).toBe(0); // 0 mod 3
    expect(decide(policy, [{ numRequests: 1 }, {}, {}])).toBe(2); // 1 mod 2, of places 1 and 2
    expect(decide(policy, atHome(900, 1), { home: 1 })).toBe(1); // stays: no tie
    expect(decide(policy, [{}, {}, {}])).toBe(2); // 2 mod 3
  });
});
