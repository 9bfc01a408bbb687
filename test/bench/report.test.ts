import { describe, expect, it } from 'vitest';
import type { Figure } from '../../bench/figures.js';
import { binsOf } from '../../bench/statistics.js';
import { reportOf } from './reports.js';

const figuresOf = (...launches: Figure[][]) => reportOf(...launches).scenarios[0]!.figures;
const time = (value: number, more: Partial<Figure> = {}): Figure => ({
  name: 'a',
  unit: 'µs',
  value,
  ...more,
});

describe('a report of several launches', () => {
  it('takes the median of the launches, and half of what they are apart for its margin', () => {
    const [figure] = figuresOf([time(4)], [time(6)], [time(5)]);
    expect(figure).toMatchObject({ value: 5, margin: 0.2, launches: [4, 6, 5] });
    expect(figure).not.toHaveProperty('bests');
  });

  it('has no margin where nothing moves', () => {
    expect(figuresOf([time(0)], [time(0)])[0]).toMatchObject({ value: 0, margin: 0 });
  });

  it('keeps the range of all rounds, and the best round of each launch', () => {
    const better = 'lower';
    const [figure] = figuresOf(
      [time(4, { range: [3, 5], better, best: 3 })],
      [time(6, { range: [2, 7], better, best: 2 })],
      [time(6, { better })],
    );
    expect(figure).toMatchObject({ range: [2, 7], bests: [3, 2, 6] });
  });

  it('adds the histograms, and gives their edges in the unit of the figure', () => {
    const latency = (ns: number[]) => ({ p50: 1, p90: 2, p99: 3, histogram: binsOf(ns) });
    const [figure] = figuresOf(
      [time(1, { latency: latency([1024, 1024]) })],
      [time(1, { latency: { ...latency([1024, 4096]), p99: 5 } })],
    );
    const { histogram, p99 } = figure!.latency!;
    expect(p99).toBe(5);
    expect(histogram.edges[0]).toBeCloseTo(1.024);
    expect(histogram.counts).toHaveLength(17);
    expect([histogram.counts[0], histogram.counts[16]]).toEqual([3, 1]);
  });

  it('keeps a figure that a launch left out', () => {
    expect(figuresOf([time(1), time(2, { name: 'b' })], [time(1)])).toMatchObject([
      { name: 'a', launches: [1, 1] },
      { name: 'b', launches: [2] },
    ]);
  });
});
