import { describe, expect, it } from 'vitest';
import { Random } from '../../src/random.js';
import { BloomFilter } from '../../src/sketch/bloom-filter.js';
import { sketchOverlap } from '../../src/sketch/sketch-overlap.js';
import { codeOf, hashes, range } from '../kv-index/support.js';
import { randomHashes } from './support.js';

describe('sketchOverlap', () => {
  it('counts the leading blocks that test positive', () => {
    const filter = BloomFilter.of(range(0, 100), 1e-6);
    expect(sketchOverlap(filter, range(0, 150)).overlapBlocks).toBe(100);
    expect(sketchOverlap(filter, range(60, 10)).overlapBlocks).toBe(10);
    expect(sketchOverlap(filter, hashes(500, 1, 2)).overlapBlocks).toBe(0);
  });

  it('tells the inflation that the filter’s own rate lets expect', () => {
    const filter = BloomFilter.of(randomHashes(new Random(1), 10_000), 0.1);
    const p = filter.falsePositiveRate();
    filter.add(range(0, 10));
    const { expectedInflation } = sketchOverlap(filter, range(0, 100));
    expect(expectedInflation).toBeCloseTo(p / (1 - p), 3);
  });

  it('is inflated as much as that on average', () => {
    const random = new Random(2);
    const filter = BloomFilter.of(randomHashes(random, 20_000), 0.1);
    const p = filter.falsePositiveRate();
    const requests = 20_000;
    let blocks = 0;
    for (let i = 0; i < requests; i++) blocks += filter.leadingBlocks(randomHashes(random, 8));
    expect(Math.abs(blocks / requests / (p / (1 - p)) - 1)).toBeLessThan(0.1);
  });

  it('expects no more inflation than there is overlap', () => {
    const full = new BloomFilter(1);
    full.words.fill(0xffff_ffff);
    expect(sketchOverlap(full, range(0, 7))).toEqual({ overlapBlocks: 7, expectedInflation: 7 });
    expect(sketchOverlap(new BloomFilter(1), range(0, 7))).toEqual({
      overlapBlocks: 0,
      expectedInflation: 0,
    });
    expect(sketchOverlap(full, hashes())).toEqual({ overlapBlocks: 0, expectedInflation: 0 });
  });

  it('refuses what is no filter, and what are no hashes', () => {
    expect(codeOf(() => sketchOverlap({} as never, range(0, 1)))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    expect(codeOf(() => sketchOverlap(new BloomFilter(1), [1n] as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});
