import { expect, test } from 'vitest';
import { Random } from '../../../src/random.js';
import { Backoff } from '../../../src/routing/dispatch/backoff.js';

const pauses = (backoff: Backoff, count: number) =>
  Array.from({ length: count }, () => backoff.next(undefined));

test('pauses grow by the factor up to the maximum', () => {
  const backoff = new Backoff({ baseMs: 50, factor: 2, maxMs: 300, jitter: 0 }, 2000, new Random(1));
  expect(pauses(backoff, 5)).toEqual([50, 100, 200, 300, 300]);
});

test('no pause is above the maximum, the first one too', () => {
  const backoff = new Backoff({ baseMs: 500, factor: 2, maxMs: 300, jitter: 0 }, 2000, new Random(1));
  expect(pauses(backoff, 2)).toEqual([300, 300]);
});

test('jitter takes up to its share off, from the seed', () => {
  const settings = { baseMs: 100, factor: 1, maxMs: 1000, jitter: 0.5 };
  const some = pauses(new Backoff(settings, 2000, new Random(7)), 200);
  expect(pauses(new Backoff(settings, 2000, new Random(7)), 200)).toEqual(some);
  expect(Math.min(...some)).toBeGreaterThan(50);
  expect(Math.max(...some)).toBeLessThanOrEqual(100);
  expect(new Set(some).size).toBeGreaterThan(190);
});

test('what a worker recommends is taken as it is, up to its cap, and does not use up a step', () => {
  const backoff = new Backoff({ baseMs: 50, factor: 2, maxMs: 300, jitter: 0 }, 1000, new Random(1));
  expect(backoff.next(0)).toBe(0);
  expect(backoff.next(999)).toBe(999);
  expect(backoff.next(1e9)).toBe(1000);
  expect(backoff.next(undefined)).toBe(50);
});

test('numbers at their ends give finite pauses', () => {
  const settings = { factor: Number.MAX_VALUE, maxMs: 300, jitter: 1 };
  for (const baseMs of [0, 1e-300, 300]) {
    for (const pause of pauses(new Backoff({ ...settings, baseMs }, 1, new Random(3)), 50)) {
      expect(pause).toBeGreaterThanOrEqual(0);
      expect(pause).toBeLessThanOrEqual(300);
    }
  }
});
