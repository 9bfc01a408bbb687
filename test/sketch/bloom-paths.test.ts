import { describe, expect, it } from 'vitest';
import type { BloomPath } from '../../src/native/seam.js';
import { reference, tested } from '../property/backends.js';
import { Random, seedOfRun } from '../property/random.js';
import { bytesFromHex, bytesOfHashes, plainFilter, randomHashes, randomWords } from './support.js';

const twin = reference.bloomPaths[0]!;
const native = tested === reference ? [] : tested.bloomPaths;
const paths = [...native, twin].map((path) => [path.isa, path] as const);
const seed = seedOfRun('bloom-paths');

const MASK = 2n ** 64n - 1n;
const PRIMES = [
  ...[0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n],
  ...[0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n],
] as const;

describe('paths', () => {
  it('are the fastest last, by whose name the backend goes', () => {
    expect(reference.bloomPaths.map(({ isa }) => isa)).toEqual(['wasm']);
    expect(reference.isa).toBe('wasm');
    const isas = native.map(({ isa }) => isa);
    expect(isas).toEqual(['scalar', 'avx2', 'avx512'].slice(0, isas.length));
    expect(tested.isa).toBe(tested.bloomPaths.at(-1)!.isa);
  });

  it('leave equal filters and give equal answers for 1,000,000 random keys', () => {
    const random = new Random(seed);
    const keys = randomHashes(random, 1_000_000);
    const asked = randomHashes(random, 1_000_000);
    for (let i = 0; i < asked.length; i += 1 + random.below(4)) asked[i] = keys[random.below(keys.length)]!;
    const expected = outcome(twin, keys, asked);
    expect(expected.missed).toBe(0);
    for (const path of native) {
      const got = outcome(path, keys, asked);
      expect(Buffer.compare(got.words, expected.words)).toBe(0);
      expect(Buffer.compare(got.answers, expected.answers)).toBe(0);
      expect({ ...got, words: 0, answers: 0 }).toEqual({ ...expected, words: 0, answers: 0 });
    }
  });
});

/** What a filter is and says, at 10.53 bits a key. */
function outcome(path: BloomPath, keys: BigUint64Array, asked: BigUint64Array) {
  const words = new Uint32Array(8 * 41_133);
  path.add(words, keys);
  const answers = new Uint8Array(asked.length);
  return {
    words: new Uint8Array(words.buffer),
    answers,
    positive: path.test(words, asked, answers),
    missed: keys.length - path.test(words, keys, undefined),
    leading: path.leading(words, keys),
  };
}

describe.each(paths)('the path %s', (_, path) => {
  it('gives the bytes of the Bloom filter in data_index_bloom_encoding_stats.parquet', () => {
    const words = new Uint32Array(8);
    path.add(
      words,
      BigUint64Array.from({ length: 10 }, (_, i) => keyOf(`a${i}`)),
    );
    const bytes = 'c8015014 4044086d 06250443 90506020 08842b21 00056341 0200e02c 404e6004';
    expect(new Uint8Array(words.buffer)).toEqual(bytesFromHex(bytes));
  });

  it('puts values into the blocks of bloom_filter.xxhash.bin', () => {
    const blocks = ['hello', 'parquet', 'bloom', 'filter'].map((text) => {
      const words = new Uint32Array(8 * 32);
      path.add(words, BigUint64Array.of(keyOf(text)));
      return Math.floor(words.findIndex((word) => word !== 0) / 8);
    });
    expect(blocks).toEqual([4, 7, 10, 5]);
  });

  it('has the bits of the formula, from any address that words may have', () => {
    const random = new Random(seed);
    for (let z = 1; z <= 70; z++) {
      const keys = randomHashes(random, z);
      const before = z % 8;
      const memory = new Uint32Array(before + 8 * z + 8);
      path.add(memory.subarray(before, -8), keys);
      expect(memory.subarray(before, -8)).toEqual(plainFilter(bytesOfHashes(keys), z));
      expect(memory.subarray(0, before).some(Boolean) || memory.subarray(-8).some(Boolean)).toBe(false);
    }
  });

  it('answers alike by each, by their number and by the leading ones', () => {
    const random = new Random(seed);
    for (let count = 0; count <= 200; count++) {
      const asked = randomHashes(random, 150);
      const words = new Uint32Array(8 * 50);
      path.add(words, asked.subarray(0, count));
      const each = Array.from(asked, (_, i) => path.test(words, asked.subarray(i, i + 1), undefined));
      const out = new Uint8Array(asked.length + 2).fill(7);
      expect(path.test(words, asked, out.subarray(1, -1))).toBe(each.reduce((a, b) => a + b));
      expect([...out]).toEqual([7, ...each, 7]);
      expect(path.leading(words, asked)).toBe([...each, 0].indexOf(0));
      expect(path.leading(words, asked)).toBeGreaterThanOrEqual(Math.min(count, asked.length));
    }
  });

  it('takes no keys', () => {
    const words = randomWords(new Random(seed), 8);
    const before = words.slice();
    path.add(words, new BigUint64Array(0));
    expect(words).toEqual(before);
    expect(path.test(words, new BigUint64Array(0), new Uint8Array(0))).toBe(0);
    expect(path.test(words, new BigUint64Array(0), undefined)).toBe(0);
    expect(path.leading(words, new BigUint64Array(0))).toBe(0);
  });

  it('stays within its arrays where they are the same memory', () => {
    const random = new Random(seed);
    for (let z = 1; z < 30; z++) {
      const memory = randomHashes(random, 4 * z + 2);
      const [first, last] = [memory[0], memory.at(-1)];
      const keys = memory.subarray(1, -1);
      const words = new Uint32Array(memory.buffer, keys.byteOffset, 2 * keys.length);
      const out = new Uint8Array(memory.buffer, keys.byteOffset, keys.length);
      path.add(words, keys);
      expect(path.leading(words, keys)).toBeLessThanOrEqual(keys.length);
      expect(path.test(words, keys, out)).toBeLessThanOrEqual(keys.length);
      expect([memory[0], memory.at(-1)]).toEqual([first, last]);
    }
  });
});

describe.runIf(native.length > 0).each(native.map((path) => [path.isa, path]))(
  'the addon checks what crosses to %s',
  (_, path) => {
    const words = new Uint32Array(16);
    const keys = new BigUint64Array(3);
    const loose = path as unknown as Record<'add' | 'test' | 'leading', (...args: unknown[]) => void>;

    it.each<[string, unknown, string]>([
      ['no words', undefined, 'ERR_KVIDX_INVALID_ARG_TYPE'],
      ['bytes for words', new Uint8Array(32), 'ERR_KVIDX_INVALID_ARG_TYPE'],
      ['no block', new Uint32Array(0), 'ERR_KVIDX_OUT_OF_RANGE'],
      ['part of a block', new Uint32Array(12), 'ERR_KVIDX_OUT_OF_RANGE'],
    ])('and refuses %s', (_, bad, code) => {
      for (const call of ['add', 'test', 'leading'] as const) {
        expect(() => loose[call](bad, keys)).toThrow(expect.objectContaining({ code }));
      }
    });

    it('and refuses keys of another dtype', () => {
      for (const call of ['add', 'test', 'leading'] as const) {
        for (const bad of [undefined, [1n], new BigInt64Array(2), new Float64Array(2)]) {
          const code = 'ERR_KVIDX_INVALID_ARG_TYPE';
          expect(() => loose[call](words, bad)).toThrow(expect.objectContaining({ code }));
        }
      }
    });

    it.each<[string, unknown, string]>([
      ['too short', new Uint8Array(2), 'ERR_KVIDX_LENGTH_MISMATCH'],
      ['too long', new Uint8Array(4), 'ERR_KVIDX_LENGTH_MISMATCH'],
      ['of another dtype', new Int8Array(3), 'ERR_KVIDX_INVALID_ARG_TYPE'],
      ['null', null, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ])('and refuses an output that is %s', (_, bad, code) => {
      expect(() => loose.test(words, keys, bad)).toThrow(expect.objectContaining({ code }));
    });
  },
);

/** XXH64 of 8 bytes goes one to one, so there is a key with the hash of any text. */
function keyOf(text: string): bigint {
  const [p1, p2, p3, p4, p5] = PRIMES;
  let h = reference.xxh64(new TextEncoder().encode(text), 0n);
  h = times(h ^ (h >> 32n), inverse(p3));
  h = times(h ^ (h >> 29n) ^ (h >> 58n), inverse(p2));
  h = times((h ^ (h >> 33n)) - p4, inverse(p1));
  h = times(rotated(h, 64n - 27n) ^ (p5 + 8n), inverse(p1));
  return times(rotated(h, 64n - 31n), inverse(p2));
}

function times(a: bigint, b: bigint): bigint {
  return (a * b) & MASK;
}

function rotated(a: bigint, left: bigint): bigint {
  return ((a << left) | (a >> (64n - left))) & MASK;
}

/** Of an odd number, modulo 2^64: each step of Newton's doubles the bits that are right. */
function inverse(a: bigint): bigint {
  let x = a;
  for (let i = 0; i < 6; i++) x = times(x, 2n - times(a, x));
  return x;
}
