import { invalidArgType, outOfRange } from '../errors.js';
import { seam } from '../native/index.js';
import { checkHash, checkHashes, checkOut, checkUint32Array } from '../validate.js';
import { checkZ, DEFAULT_TARGET_FPP, filterBlocks, MAX_FILTER_BLOCKS } from './sizing.js';
import { bytesOf, WORDS_A_BLOCK } from './words.js';

/** The fastest that this machine can run. */
const path = seam.bloomPaths.at(-1)!;
/** The key of a call that has one. */
const oneKey = new BigUint64Array(1);

/**
 * A set of seq hashes that may answer yes for one that was never added, and never no for one that was: Parquet's
 * split-block Bloom filter (github.com/apache/parquet-format, BloomFilter.md). With h = XXH64 of the 8 little-endian bytes
 * of a seq hash, seed 0: its block is ((h >> 32) · z) >> 32, and of word i of the block it sets the bit that the highest 5
 * bits of u32(h) · salt_i name.
 *
 *   words   [ block 0: 8 × u32 | block 1: 8 × u32 | … | block z − 1 ]
 *
 * Nothing can be taken out: who forgets blocks builds a new filter. Costs 32 z bytes.
 */
export class BloomFilter {
  readonly #words: Uint32Array;

  /** An empty filter of z blocks of 256 bits, 1 … 2^25. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
  constructor(z: number) {
    this.#words = new Uint32Array(WORDS_A_BLOCK * checkZ(z));
  }

  /**
   * The filter of these hashes (`BigUint64Array[n]`), sized for them by a target rate of false positives, 10^−6 … 0.5.
   * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
   */
  static of(hashes: BigUint64Array, targetFpp = DEFAULT_TARGET_FPP): BloomFilter {
    const filter = new BloomFilter(filterBlocks(checkHashes(hashes).length, targetFpp));
    filter.add(hashes);
    return filter;
  }

  /**
   * A filter with these bits: `Uint32Array[8 z]`, copied. Throws ERR_KVIDX_INVALID_ARG_TYPE, or ERR_KVIDX_OUT_OF_RANGE (the
   * length).
   */
  static fromWords(words: Uint32Array): BloomFilter {
    checkUint32Array(words, 'words');
    const z = words.length / WORDS_A_BLOCK;
    if (!Number.isInteger(z) || z < 1 || z > MAX_FILTER_BLOCKS) {
      throw outOfRange('words.length', `a multiple of 8, from 8 to ${8 * MAX_FILTER_BLOCKS}`, words.length);
    }
    const filter = new BloomFilter(z);
    filter.#words.set(words);
    return filter;
  }

  /** Refuses a foreign `this`, and a filter whose memory was given away; every method starts here. */
  static #wordsOf(filter: BloomFilter, what = 'this'): Uint32Array {
    if (typeof filter !== 'object' || filter === null || !(#words in filter)) {
      throw invalidArgType(what, 'a BloomFilter', filter);
    }
    const words = filter.#words;
    if (words.length === 0) throw invalidArgType('words', 'attached to its buffer', words);
    return words;
  }

  /** The bits: `Uint32Array[8 z]`, the filter's own memory. Written to, it is another set. */
  get words(): Uint32Array {
    return BloomFilter.#wordsOf(this);
  }

  /** Blocks of 256 bits. */
  get z(): number {
    return BloomFilter.#wordsOf(this).length / WORDS_A_BLOCK;
  }

  /** 32 z. */
  get byteLength(): number {
    return BloomFilter.#wordsOf(this).byteLength;
  }

  /** Adds `BigUint64Array[n]`. Throws ERR_KVIDX_INVALID_ARG_TYPE. */
  add(hashes: BigUint64Array): void {
    path.add(BloomFilter.#wordsOf(this), checkHashes(hashes));
  }

  /** May it have been added? Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
  has(hash: bigint | number): boolean {
    const words = BloomFilter.#wordsOf(this);
    oneKey[0] = checkHash(hash);
    return path.leading(words, oneKey) === 1;
  }

  /**
   * 1 for each hash that may have been added, else 0: `BigUint64Array[n] → Uint8Array[n]`, `out` where it is given. Throws
   * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_LENGTH_MISMATCH.
   */
  test(hashes: BigUint64Array, out?: Uint8Array): Uint8Array {
    const words = BloomFilter.#wordsOf(this);
    const answers = checkOut(out, Uint8Array, checkHashes(hashes).length);
    path.test(words, hashes, answers);
    return answers;
  }

  /** Of `BigUint64Array[n]`, those before the first that was certainly not added. Throws ERR_KVIDX_INVALID_ARG_TYPE. */
  leadingBlocks(hashes: BigUint64Array): number {
    return path.leading(BloomFilter.#wordsOf(this), checkHashes(hashes));
  }

  /** Of `BigUint64Array[n]`, those that may have been added. Throws ERR_KVIDX_INVALID_ARG_TYPE. */
  countBlocks(hashes: BigUint64Array): number {
    return path.test(BloomFilter.#wordsOf(this), checkHashes(hashes), undefined);
  }

  /**
   * The share of all possible hashes that these very bits answer yes to: the mean over blocks of the product of the 8 words'
   * shares of set bits. Reads the whole filter.
   */
  falsePositiveRate(): number {
    const words = BloomFilter.#wordsOf(this);
    let sum = 0;
    for (let at = 0; at < words.length; at += WORDS_A_BLOCK) {
      let product = 1;
      for (let i = 0; i < WORDS_A_BLOCK; i++) product *= setBits(words[at + i]!) / 32;
      sum += product;
    }
    return sum / (words.length / WORDS_A_BLOCK);
  }

  /** Are these the same bits in as many blocks? Throws ERR_KVIDX_INVALID_ARG_TYPE. */
  equals(other: BloomFilter): boolean {
    const words = BloomFilter.#wordsOf(this);
    return Buffer.compare(bytesOf(words), bytesOf(BloomFilter.#wordsOf(other, 'other'))) === 0;
  }
}

/** Of 32, counted in pairs, fours and bytes at once (Hacker's Delight, 5-1). */
export function setBits(word: number): number {
  let x = word - ((word >>> 1) & 0x5555_5555);
  x = (x & 0x3333_3333) + ((x >>> 2) & 0x3333_3333);
  x = (x + (x >>> 4)) & 0x0f0f_0f0f;
  return Math.imul(x, 0x0101_0101) >>> 24;
}
