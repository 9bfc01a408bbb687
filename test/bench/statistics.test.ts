import { describe, expect, it } from 'vitest';
import { addBins, binEdges, binsOf, quantile } from '../../bench/statistics.js';

describe('bins of times', () => {
  it('counts each time once, between edges that hold it', () => {
    const times = [1, 1.05, 2, 3, 1000, 123_456.7];
    const bins = binsOf(times);
    const edges = binEdges(bins);
    expect(edges).toHaveLength(bins.counts.length + 1);
    expect(bins.counts.reduce((sum, count) => sum + count)).toBe(times.length);
    for (const [i, count] of bins.counts.entries()) {
      const within = times.filter((time) => time >= edges[i]! && time < edges[i + 1]!);
      expect(within).toHaveLength(count);
    }
  });

  it('counts 0, which a clock may say, as the shortest time', () => {
    expect(binsOf([0, 0]).counts).toEqual([2]);
  });

  it('adds what lies far apart, with empty bins between', () => {
    const sum = addBins([binsOf([1]), binsOf([16]), binsOf([1])]);
    expect(sum).toEqual({ first: 0, counts: [2, ...Array(31).fill(0), 1] });
  });
});

describe('quantile', () => {
  it('is the smallest value above a share of them', () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.5, 0.9].map((q) => quantile(values, q))).toEqual([1, 3, 5]);
  });
});
