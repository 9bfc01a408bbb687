import { describe, expect, it } from 'vitest';
import { createPolicy } from '../../../src/routing/policy/spec.js';
import { decide, explain, valuesOf } from './support.js';

describe('lpwl', () => {
  it('takes least pending prefill with the new tokens of the request', () => {
    // 500 + 1000, 900 + 600, 0 + 1000 − 0
    const workers = [{ pendingPrefillTokens: 500 }, { pendingPrefillTokens: 900, cacheHitTokens: 400 }, {}];
    expect(valuesOf(explain('lpwl', workers), 'prefillWork')).toEqual([1500, 1500, 1000]);
    expect(decide('lpwl', workers)).toBe(2);
    // 500 + 100 against 0 + 1000
    expect(decide('lpwl', [{}, { pendingPrefillTokens: 500, cacheHitTokens: 900 }])).toBe(1);
  });

  it('never takes work off for a cache hit above the input', () => {
    const workers = [
      { pendingPrefillTokens: 10, cacheHitTokens: 5000 },
      { pendingPrefillTokens: 5, cacheHitTokens: 1000 },
    ];
    expect(valuesOf(explain('lpwl', workers), 'prefillWork')).toEqual([10, 5]);
    expect(decide('lpwl', workers)).toBe(1);
  });

  it('knows the cache hit of an overlap', () => {
    // min(40 × 24, 1000) = 960 cached, 40 new; the other has 300 pending and min(50 × 24, 1000) = all cached.
    const workers = [{ overlapBlocks: 40 }, { overlapBlocks: 50, pendingPrefillTokens: 300 }];
    expect(valuesOf(explain('lpwl', workers), 'prefillWork')).toEqual([40, 300]);
  });

  it('breaks ties by fewest requests', () => {
    expect(decide('lpwl', [{ numRequests: 2 }, { numRequests: 1 }, { numRequests: 3 }])).toBe(1);
    expect(decide('lpwl', [{ numRequests: 1, pendingPrefillTokens: 1 }, { numRequests: 9 }])).toBe(1);
  });

  it('breaks what is still tied in turn, the counter rising with ties only', () => {
    const policy = createPolicy('lpwl');
    const three = [{}, { numRequests: 5 }, {}, {}]; // places 0, 2 and 3 tie
    const clear = [{ pendingPrefillTokens: 1 }, {}];
    expect(decide(policy, three)).toBe(0); // 0 mod 3
    expect(decide(policy, clear)).toBe(1); // no tie
    expect(decide(policy, [{}])).toBe(0); // one worker is no tie
    expect(decide(policy, three)).toBe(2); // 1 mod 3
    expect(decide(policy, [{}, {}])).toBe(0); // 2 mod 2
    expect(decide(policy, three)).toBe(0); // 3 mod 3
    expect(decide(policy, [{}, {}])).toBe(0); // 4 mod 2
    expect(decide(policy, three)).toBe(3); // 5 mod 3
  });

  it('turns for itself: each policy has its own counter', () => {
    const [a, b] = [createPolicy('lpwl'), createPolicy('lpwl')];
    expect([decide(a, [{}, {}]), decide(a, [{}, {}]), decide(b, [{}, {}])]).toEqual([0, 1, 0]);
  });
});

describe('lpwl-kappa', () => {
  it('weighs the work by the tokens that are being decoded', () => {
    // (500 + 1000) × (1 + 2.5e-6 × 400,000) = 3,000 against 2,000 × 1
    const workers = [
      { pendingPrefillTokens: 500, ongoingDecodeTokens: 400_000 },
      { pendingPrefillTokens: 1000 },
    ];
    expect(valuesOf(explain('lpwl-kappa', workers), 'weightedPrefillWork')).toEqual([3000, 2000]);
    expect(decide('lpwl-kappa', workers)).toBe(1);
    expect(decide('lpwl', workers)).toBe(0);
  });

  it('takes its kappa', () => {
    // 1,000 × (1 + κ · 1,000) against 1,400
    const workers = [{ ongoingDecodeTokens: 1000 }, { pendingPrefillTokens: 400 }];
    expect(decide('lpwl-kappa:kappa=0.0003', workers)).toBe(0);
    expect(decide('lpwl-kappa:kappa=5e-4', workers)).toBe(1);
    expect(decide('lpwl-kappa:kappa=0', workers)).toBe(0);
  });

  it('minds no decoding where there is no work', () => {
    // 0 × anything: a tie, fewest requests
    const workers = [
      { cacheHitTokens: 1000, ongoingDecodeTokens: 9e9, numRequests: 1 },
      { cacheHitTokens: 1000, numRequests: 2 },
    ];
    expect(decide('lpwl-kappa', workers)).toBe(0);
  });

  it('breaks ties as lpwl', () => {
    const policy = createPolicy('lpwl-kappa');
    expect(decide(policy, [{ numRequests: 1 }, {}])).toBe(1);
    expect([1, 2, 3].map(() => decide(policy, [{}, {}]))).toEqual([0, 1, 0]);
  });
});
