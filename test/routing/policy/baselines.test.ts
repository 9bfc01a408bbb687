import { describe, expect, it } from 'vitest';
import { createPolicy } from '../../../src/routing/policy/spec.js';
import { decide, explain } from './support.js';

const idle = (count: number) => Array.from({ length: count }, () => ({}));

describe('round-robin', () => {
  it('takes one after another, whatever is known of them', () => {
    const policy = createPolicy('round-robin');
    const workers = [{ numRequests: 99 }, { overlapBlocks: 40 }, { rejects: 9 }];
    expect([1, 2, 3, 4, 5].map(() => decide(policy, workers, { home: 1 }))).toEqual([0, 1, 2, 0, 1]);
  });

  it('goes on counting when the number of workers changes', () => {
    const policy = createPolicy('round-robin');
    // 0 mod 3, 1 mod 3, 2 mod 2, 3 mod 4
    expect([3, 3, 2, 4].map((count) => decide(policy, idle(count)))).toEqual([0, 1, 0, 3]);
  });

  it('does not count where there is no choice', () => {
    const policy = createPolicy('round-robin');
    expect([1, 1, 2, 1, 2].map((count) => decide(policy, idle(count)))).toEqual([0, 0, 0, 0, 1]);
  });
});

describe('random', () => {
  const draws = (spec: string, times: number, count = 4) => {
    const policy = createPolicy(spec);
    return Array.from({ length: times }, () => decide(policy, idle(count)));
  };

  it('draws the same for the same seed, and other places for another', () => {
    expect(draws('random:seed=7', 50)).toEqual(draws('random:seed=7', 50));
    expect(draws('random', 50)).toEqual(draws('random:seed=0', 50));
    expect(draws('random:seed=7', 50)).not.toEqual(draws('random:seed=8', 50));
  });

  it('keeps to its first draws from version to version', () => {
    expect(draws('random:seed=1', 12)).toEqual([2, 3, 3, 1, 1, 3, 1, 2, 1, 3, 2, 3]);
  });

  it('draws evenly', () => {
    const counts = [0, 0, 0, 0];
    for (const place of draws('random:seed=3', 4000)) counts[place]!++;
    for (const count of counts) expect(count).toBeGreaterThan(900); // 1,000 ± 27: never 3.6 deviations off with this seed
  });

  it('draws nothing where there is no choice', () => {
    const [a, b] = [createPolicy('random:seed=5'), createPolicy('random:seed=5')];
    for (let i = 0; i < 10; i++) {
      expect(decide(a, idle(1))).toBe(0);
      expect(decide(a, idle(3))).toBe(decide(b, idle(3)));
    }
  });

  it('is not moved on by explanations', () => {
    const [a, b] = [createPolicy('random:seed=5'), createPolicy('random:seed=5')];
    for (let i = 0; i < 10; i++) {
      explain(a, idle(3));
      explain(a, idle(9));
      expect(decide(a, idle(3))).toBe(decide(b, idle(3)));
    }
  });
});
