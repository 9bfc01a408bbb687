import { seam } from '../../src/native/index.js';
import type { Random } from '../../src/random.js';

/** `BigUint64Array[count]` of u64 from all of their range. */
export function randomHashes(random: Random, count: number): BigUint64Array {
  return new BigUint64Array(randomWords(random, 2 * count).buffer);
}

export function randomWords(random: Random, count: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: count }, () => random.uniform() * 2 ** 32);
}

// ------------------------------------------------------------------------------------- the filter as a plain formula

const SALTS = [
  ...[0x47b6137bn, 0x44974d91n, 0x8824ad5bn, 0xa2b7289dn],
  ...[0x705495c7n, 0x2df1424bn, 0x9efc4947n, 0x5c6bfb31n],
];

/** A value's block among z, and the bit that it sets in each of the 8 words there. */
export function placeOf(value: Uint8Array, z: number): { block: number; bits: number[] } {
  const hash = seam.xxh64(value, 0n);
  const block = Number(((hash >> 32n) * BigInt(z)) >> 32n);
  const bits = SALTS.map((salt) => Number((((hash % 2n ** 32n) * salt) % 2n ** 32n) >> 27n));
  return { block, bits };
}

/** `Uint32Array[8 z]`: the filter of values of any length, by the formula. */
export function plainFilter(values: Iterable<Uint8Array>, z: number): Uint32Array {
  const words = new Uint32Array(8 * z);
  for (const value of values) {
    const { block, bits } = placeOf(value, z);
    for (const [i, bit] of bits.entries()) words[8 * block + i]! |= 1 << bit;
  }
  return words;
}

/** The 8 little-endian bytes of each. */
export function bytesOfHashes(hashes: BigUint64Array): Uint8Array[] {
  const bytes = new Uint8Array(hashes.slice().buffer);
  return Array.from(hashes, (_, i) => bytes.subarray(8 * i, 8 * i + 8));
}

export function bytesFromHex(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.replace(/\s/g, ''), 'hex'));
}
