import { describe, expect, it } from 'vitest';
import { Random } from '../../src/random.js';
import { BloomFilter } from '../../src/sketch/bloom-filter.js';
import { MAX_FILTER_BLOCKS } from '../../src/sketch/sizing.js';
import { codeOf, hashes, range } from '../kv-index/support.js';
import { bytesFromHex, bytesOfHashes, placeOf, plainFilter, randomHashes, randomWords } from './support.js';

const text = (value: string) => new TextEncoder().encode(value);

describe('the formula that the filters are held to', () => {
  it('gives the bytes of the Bloom filter in data_index_bloom_encoding_stats.parquet', () => {
    const values = Array.from({ length: 10 }, (_, i) => text(`a${i}`));
    const bytes = 'c8015014 4044086d 06250443 90506020 08842b21 00056341 0200e02c 404e6004';
    expect(new Uint8Array(plainFilter(values, 1).buffer)).toEqual(bytesFromHex(bytes));
  });

  it('puts values into the blocks of bloom_filter.xxhash.bin', () => {
    const blocks = ['hello', 'parquet', 'bloom', 'filter'].map((value) => placeOf(text(value), 32).block);
    expect(blocks).toEqual([4, 7, 10, 5]);
  });
});

describe('a BloomFilter', () => {
  it.each([1, 2, 3, 7, 32, 1000, 4096, 65_537])('of %i blocks has the bits of the formula', (z) => {
    const keys = randomHashes(new Random(z), 2000);
    const filter = new BloomFilter(z);
    filter.add(keys);
    expect(filter.equals(BloomFilter.fromWords(plainFilter(bytesOfHashes(keys), z)))).toBe(true);
  });

  it('has the bits of the formula for the least and the largest hash', () => {
    const keys = hashes(0, 2n ** 64n - 1n, 2n ** 63n, 1);
    const filter = BloomFilter.of(keys);
    expect(filter.words).toEqual(plainFilter(bytesOfHashes(keys), 1));
  });

  it('is the same however its hashes were added', () => {
    const keys = randomHashes(new Random(1), 1001);
    const filter = new BloomFilter(BloomFilter.of(keys).z);
    for (let i = 0; i < keys.length; i += 13) filter.add(keys.subarray(i, i + 13));
    filter.add(keys.slice(0, 500).reverse());
    expect(filter.equals(BloomFilter.of(keys))).toBe(true);
  });

  it('answers no to everything while it is empty', () => {
    const filter = new BloomFilter(5);
    expect(filter.countBlocks(range(0, 10_000))).toBe(0);
    expect(filter.falsePositiveRate()).toBe(0);
    expect(BloomFilter.of(hashes()).z).toBe(1);
  });

  it('answers by one hash, by each, by the leading ones and by number alike', () => {
    const random = new Random(2);
    const filter = BloomFilter.of(range(0, 300), 0.1);
    for (const asked of [range(0, 400), range(290, 20), range(300, 5), hashes(), randomHashes(random, 500)]) {
      const each = Array.from(asked, (hash) => (filter.has(hash) ? 1 : 0));
      expect([...filter.test(asked)]).toEqual(each);
      expect(filter.countBlocks(asked)).toBe(each.filter((answer) => answer === 1).length);
      expect(filter.leadingBlocks(asked)).toBe([...each, 0].indexOf(0));
    }
    expect(filter.has(7)).toBe(true);
    expect(filter.has(-(2n ** 63n))).toBe(filter.has(2n ** 63n));
  });

  it('writes all answers to the array that it is given', () => {
    const out = new Uint8Array(4).fill(9);
    const filter = BloomFilter.of(hashes(1, 2));
    expect(filter.test(hashes(1, 1000, 2, 2000), out)).toBe(out);
    expect([...out]).toEqual([1, 0, 1, 0]);
  });

  it('shows its own memory', () => {
    const filter = new BloomFilter(3);
    expect(filter).toMatchObject({ z: 3, byteLength: 96 });
    filter.words.fill(0xffff_ffff);
    expect(filter.has(1)).toBe(true);
    expect(filter.falsePositiveRate()).toBe(1);
  });

  it('copies the words that it is made from', () => {
    const words = randomWords(new Random(3), 16);
    const filter = BloomFilter.fromWords(words);
    expect(filter.z).toBe(2);
    expect(filter.words).toEqual(words);
    words.fill(0);
    expect(filter.words).not.toEqual(words);
  });

  it('equals a filter of the same bits in as many blocks', () => {
    const filter = BloomFilter.of(range(0, 100));
    expect(filter.equals(BloomFilter.of(range(0, 100)))).toBe(true);
    expect(filter.equals(BloomFilter.of(range(1, 100)))).toBe(false);
    expect(new BloomFilter(1).equals(new BloomFilter(2))).toBe(false);
  });

  it('knows its rate of false positives from its bits', () => {
    const filter = new BloomFilter(2);
    filter.words.set([1, 3, 7, 15, 31, 63, 127, 0xffff_ffff]);
    expect(filter.falsePositiveRate()).toBe((1 * 2 * 3 * 4 * 5 * 6 * 7 * 32) / 32 ** 8 / 2);
  });
});

describe.each([
  [0.1, 0.05],
  [0.01, 0.05],
  [0.001, 0.1],
])('a filter for a rate of %d', (target, tolerance) => {
  const random = new Random(1000 * target);
  const keys = randomHashes(random, 200_000);
  const filter = BloomFilter.of(keys, target);

  it('never says no to what was added', () => {
    expect(filter.leadingBlocks(keys)).toBe(keys.length);
  });

  it('says yes wrongly as often as it should', () => {
    const probes = randomHashes(random, target < 0.01 ? 2_000_000 : 400_000);
    expect(Math.abs(filter.countBlocks(probes) / probes.length / target - 1)).toBeLessThan(tolerance);
  });

  it('says so of itself', () => {
    expect(Math.abs(filter.falsePositiveRate() / target - 1)).toBeLessThan(0.03);
  });
});

describe('misuse of a BloomFilter', () => {
  const filter = BloomFilter.of(range(0, 10));

  it('is refused by size', () => {
    for (const z of [0, -1, 1.5, MAX_FILTER_BLOCKS + 1, Number.NaN]) {
      expect(codeOf(() => new BloomFilter(z))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    for (const length of [0, 1, 7, 9]) {
      expect(codeOf(() => BloomFilter.fromWords(new Uint32Array(length)))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    expect(codeOf(() => BloomFilter.of(range(0, 10), 0.6))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  });

  it('is refused by type', () => {
    const wrong = [undefined, null, [1n], new Uint32Array(8), new BigInt64Array(1), 'hashes'];
    for (const value of wrong as never[]) {
      for (const call of [
        () => BloomFilter.of(value),
        () => filter.add(value),
        () => filter.test(value),
        () => filter.leadingBlocks(value),
        () => filter.countBlocks(value),
      ]) {
        expect(codeOf(call)).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
      }
    }
    for (const call of [
      () => new BloomFilter('1' as never),
      () => BloomFilter.fromWords(new Uint8Array(32) as never),
      () => filter.has('1' as never),
      () => filter.test(range(0, 1), new Uint32Array(1) as never),
      () => filter.equals({} as never),
      () => filter.equals(undefined as never),
    ]) {
      expect(codeOf(call)).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    }
    expect(codeOf(() => filter.has(2n ** 64n))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(codeOf(() => filter.test(range(0, 2), new Uint8Array(1)))).toBe('ERR_KVIDX_LENGTH_MISMATCH');
  });

  it('is refused on an object that is none, and when its memory was given away', () => {
    const gone = new BloomFilter(1);
    structuredClone(gone.words, { transfer: [gone.words.buffer as ArrayBuffer] });
    const methods = [
      ['words'],
      ['z'],
      ['byteLength'],
      ['add', range(0, 1)],
      ['has', 1],
      ['test', range(0, 1)],
      ['leadingBlocks', range(0, 1)],
      ['countBlocks', range(0, 1)],
      ['falsePositiveRate'],
      ['equals', filter],
    ] as const;
    for (const [name, ...args] of methods) {
      const { get, value } = Object.getOwnPropertyDescriptor(BloomFilter.prototype, name)!;
      for (const self of [undefined, {}, gone]) {
        expect(codeOf(() => (get ?? value).apply(self, args))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
      }
    }
    expect(codeOf(() => filter.equals(gone))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});
