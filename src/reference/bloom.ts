import type { BloomPath, HashSeam } from '../native/seam.js';

const SALTS = Uint32Array.of(
  ...[0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d],
  ...[0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31],
);
const WORDS = 8;
const TWO_16 = 2 ** 16;

/** The twin of `native/core/bloom.cpp`; hash, block and bits stand in its header. Cost: the hash, as in `hash.ts`. */
export function createReferenceBloomPath({ xxh64 }: Pick<HashSeam, 'xxh64'>): BloomPath {
  const key = new BigUint64Array(1);
  const keyBytes = new Uint8Array(key.buffer);
  const hash = new BigUint64Array(1);
  const halves = new Uint32Array(hash.buffer);
  const mask = new Uint32Array(WORDS);

  /** Leaves the bits of the key in `mask`; answers where its block begins in a filter of z blocks. */
  function locate(z: number, value: bigint): number {
    key[0] = value;
    hash[0] = xxh64(keyBytes, 0n);
    const [low, high] = halves as unknown as [number, number];
    for (let i = 0; i < WORDS; i++) mask[i] = 1 << (Math.imul(low, SALTS[i]!) >>> 27);
    // (high · z) >> 32 in two steps, neither of which leaves the integers that a Number holds.
    const carry = Math.floor(((high % TWO_16) * z) / TWO_16);
    return WORDS * Math.floor((Math.floor(high / TWO_16) * z + carry) / TWO_16);
  }

  function has(words: Uint32Array, value: bigint): boolean {
    const begin = locate(words.length / WORDS, value);
    for (let i = 0; i < WORDS; i++) if ((words[begin + i]! & mask[i]!) === 0) return false;
    return true;
  }

  return {
    isa: 'wasm',
    add(words, keys) {
      for (const value of keys) {
        const begin = locate(words.length / WORDS, value);
        for (let i = 0; i < WORDS; i++) words[begin + i]! |= mask[i]!;
      }
    },
    test(words, keys, out) {
      let positive = 0;
      for (let k = 0; k < keys.length; k++) {
        const found = has(words, keys[k]!) ? 1 : 0;
        positive += found;
        if (out) out[k] = found;
      }
      return positive;
    },
    leading(words, keys) {
      const miss = keys.findIndex((value) => !has(words, value));
      return miss === -1 ? keys.length : miss;
    },
  };
}
