import { describe, expect, it } from 'vitest';
import {
  bitsPerKey,
  checkTargetFpp,
  expectedFpp,
  expectedInflation,
  filterBlocks,
  keyCapacity,
  MAX_FILTER_BLOCKS,
  parquetBits,
} from '../../src/sketch/sizing.js';
import { codeOf } from '../kv-index/support.js';

const RATES = [0.5, 0.1, 0.03, 0.01, 0.001, 1e-6];

/** Σ_k Poisson(k; λ) · (1 − (31/32)^k)^8, term by term. */
function poissonMean(lambda: number): number {
  let probability = Math.exp(-lambda);
  let sum = 0;
  for (let k = 0; k < 12 * lambda + 100; k++) {
    sum += probability * (1 - (31 / 32) ** k) ** 8;
    probability *= lambda / (k + 1);
  }
  return sum;
}

describe('bitsPerKey', () => {
  it.each([
    [0.1, '5.99'],
    [0.01, '10.53'],
    [0.001, '16.89'],
  ])('at a rate of %d is %s bits', (p, bits) => {
    expect(bitsPerKey(p).toFixed(2)).toBe(bits);
  });

  it.each(RATES)('is the smallest that the sum over all loads of a block allows at %d', (p) => {
    const bits = bitsPerKey(p);
    expect(poissonMean(256 / bits) / p).toBeCloseTo(1, 6);
    expect(poissonMean(256 / (bits * 1.0001))).toBeLessThan(p);
    expect(poissonMean(256 / (bits * 0.9999))).toBeGreaterThan(p);
  });
});

describe('filterBlocks and keyCapacity', () => {
  it('hold the keys at 256 bits a block', () => {
    expect(filterBlocks(1_000_000, 0.01)).toBe(41_130);
    expect(keyCapacity(41_130, 0.01)).toBe(1_000_004);
  });

  it('give at least one block', () => {
    expect(filterBlocks(0, 0.01)).toBe(1);
    expect(filterBlocks(1, 0.5)).toBe(1);
  });

  it.each(RATES)('are each other’s inverse at %d', (p) => {
    for (let z = 1; z < 500; z++) {
      const keys = keyCapacity(z, p);
      expect(filterBlocks(keys, p)).toBe(z);
      expect(filterBlocks(keys + 1, p)).toBe(z + 1);
    }
  });

  it('go up to the largest filter and refuse more keys', () => {
    const keys = keyCapacity(MAX_FILTER_BLOCKS, 0.01);
    expect(filterBlocks(keys, 0.01)).toBe(MAX_FILTER_BLOCKS);
    expect(() => filterBlocks(keys + 1, 0.01)).toThrow(
      /keys must be at most 815,\d{3},\d{3} at a rate of 0\.01/,
    );
  });
});

describe('expectedFpp', () => {
  it.each(RATES)('is at most %d for a filter of that size, and not much less', (p) => {
    for (const keys of [20_000, 54_321, 1_000_000]) {
      const rate = expectedFpp(keys, filterBlocks(keys, p));
      expect(rate).toBeLessThanOrEqual(p);
      expect(rate).toBeGreaterThan(0.99 * p);
    }
  });

  it.each([0.001, 0.1, 1, 24, 100, 600])('equals the sum over loads at %d keys a block', (load) => {
    const z = 100_000;
    expect(expectedFpp(load * z, z) / poissonMean(load)).toBeCloseTo(1, load < 1 ? 2 : 6);
  });

  it('is 0 without keys and 1 with far too many', () => {
    expect(expectedFpp(0, 7)).toBe(0);
    expect(expectedFpp(1e12, 1)).toBe(1);
  });
});

describe('parquetBits', () => {
  it.each([
    [100, 0.01, 968],
    [1_000_000, 0.01, 9_681_526],
    [1_000_000, 0.001, 14_607_697],
  ])('of %d keys at %d is %d', (n, p, bits) => {
    expect(parquetBits(n, p)).toBe(bits);
  });

  it.each([
    [0.1, '11.3'],
    [0.01, '1.46'],
    [0.001, '0.208'],
  ])('promises %d and gives %s %%', (p, percent) => {
    const rate = expectedFpp(1_000_000, Math.ceil(parquetBits(1_000_000, p) / 256));
    expect((100 * rate).toPrecision(3)).toBe(percent);
  });
});

it('expectedInflation is p / (1 − p)', () => {
  expect(expectedInflation(0)).toBe(0);
  expect(expectedInflation(0.5)).toBe(1);
  expect(expectedInflation(0.01)).toBeCloseTo(0.010101, 6);
  expect(expectedInflation(1)).toBe(Number.POSITIVE_INFINITY);
});

describe('misuse', () => {
  const takers = {
    bitsPerKey,
    checkTargetFpp,
    filterBlocks: (p: number) => filterBlocks(1, p),
    keyCapacity: (p: number) => keyCapacity(1, p),
    parquetBits: (p: number) => parquetBits(1, p),
  };

  it.each(Object.entries(takers))('%s takes rates from 10^−6 to 0.5', (_, take) => {
    for (const p of [0, 9e-7, 0.51, 1, -0.01, Number.NaN])
      expect(codeOf(() => take(p))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    for (const p of ['0.01', undefined, null, 1n]) {
      expect(codeOf(() => take(p as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    }
  });

  it('is refused where numbers of keys and blocks are none', () => {
    for (const keys of [-1, 0.5, 2 ** 53, Number.NaN]) {
      expect(codeOf(() => filterBlocks(keys, 0.01))).toBe('ERR_KVIDX_OUT_OF_RANGE');
      expect(codeOf(() => expectedFpp(keys, 1))).toBe('ERR_KVIDX_OUT_OF_RANGE');
      expect(codeOf(() => parquetBits(keys, 0.01))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    for (const z of [0, -1, 0.5, MAX_FILTER_BLOCKS + 1]) {
      expect(codeOf(() => keyCapacity(z, 0.01))).toBe('ERR_KVIDX_OUT_OF_RANGE');
      expect(codeOf(() => expectedFpp(1, z))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    for (const p of [-0.1, 1.1, Number.NaN])
      expect(codeOf(() => expectedInflation(p))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(codeOf(() => expectedInflation('0' as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});
