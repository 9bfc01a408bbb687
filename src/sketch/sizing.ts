import { invalidArgType, outOfRange } from '../errors.js';
import { grouped } from '../text.js';
import { checkInteger } from '../validate.js';

/*
 * How large a split-block Bloom filter must be. n keys in z blocks of 256 bits: a block gets k of them with the Poisson
 * probability of mean λ = n / z, each sets one of 32 bits in each of its 8 words, and a key that is not there finds all its
 * 8 bits set with probability (1 − (31/32)^k)^8.
 */

/** Blocks of the largest filter: 1 GiB. */
export const MAX_FILTER_BLOCKS = 2 ** 25;
export const DEFAULT_TARGET_FPP = 0.01;

const BLOCK_BITS = 256;
const MIN_TARGET_FPP = 1e-6;
const MAX_TARGET_FPP = 0.5;
const BINOMIALS = [1, 8, 28, 56, 70, 56, 28, 8, 1] as const;

/** A target rate of false positives, 10^−6 … 0.5. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkTargetFpp(value: unknown, what = 'targetFpp'): number {
  return checkRate(what, value, MIN_TARGET_FPP, MAX_TARGET_FPP);
}

/**
 * Bits a key that a rate of false positives asks for, 10^−6 … 0.5: the smallest b with
 * Σ_k Poisson(k; 256 / b) · (1 − (31/32)^k)^8 ≤ p. 5.99, 10.53 and 16.89 for 10, 1 and 0.1 %.
 */
export function bitsPerKey(p: number): number {
  if (p !== lastRate.p) lastRate = { p: checkTargetFpp(p, 'p'), bits: searchBits(p) };
  return lastRate.bits;
}

/** Of one rate, as a rule, and the search takes 40 µs. */
let lastRate = { p: Number.NaN, bits: Number.NaN };

function searchBits(p: number): number {
  let tooFew = 1;
  let enough = 256;
  for (;;) {
    const middle = (tooFew + enough) / 2;
    if (middle <= tooFew || middle >= enough) return enough;
    if (rateAtMean(BLOCK_BITS / middle) <= p) enough = middle;
    else tooFew = middle;
  }
}

/**
 * Blocks of the filter for so many keys, at least one. ERR_KVIDX_OUT_OF_RANGE: they would be more than the largest filter
 * has, 2^25.
 */
export function filterBlocks(keys: number, p: number): number {
  checkInteger('keys', keys, 0, Number.MAX_SAFE_INTEGER);
  const z = Math.max(1, Math.ceil((keys * bitsPerKey(p)) / BLOCK_BITS));
  if (z > MAX_FILTER_BLOCKS) {
    throw outOfRange('keys', `at most ${grouped(keyCapacity(MAX_FILTER_BLOCKS, p))} at a rate of ${p}`, keys);
  }
  return z;
}

/** Keys that a filter of z blocks holds at a rate of false positives. */
export function keyCapacity(z: number, p: number): number {
  return Math.floor((checkZ(z) * BLOCK_BITS) / bitsPerKey(p));
}

/**
 * Bits by the closed formula that Parquet's writers use, −8 n / ln(1 − p^(1/8)), rounded down as they do
 * (github.com/apache/arrow-rs, parquet/src/bloom_filter). It takes the bits of a block as independent: filters of that
 * size answer yes wrongly to 11.3, 1.46 and 0.21 % where 10, 1 and 0.1 % are asked for. Only to compare with them.
 */
export function parquetBits(n: number, p: number): number {
  checkInteger('n', n, 0, Number.MAX_SAFE_INTEGER);
  return Math.floor((-8 * n) / Math.log(1 - checkTargetFpp(p, 'p') ** (1 / 8)));
}

/** The rate of false positives that so many keys in z blocks will have, on average over keys. Exact to some 10^−14. */
export function expectedFpp(keys: number, z: number): number {
  return rateAtMean(checkInteger('keys', keys, 0, Number.MAX_SAFE_INTEGER) / checkZ(z));
}

/**
 * Blocks that a leading count goes too far on average, where each block past the true end tests positive with probability
 * p, 0 … 1, and the request does not end before: Σ_i p^i = p / (1 − p).
 */
export function expectedInflation(p: number): number {
  checkRate('p', p, 0, 1);
  return p / (1 - p);
}

export function checkZ(z: unknown, lowest = 1): number {
  return checkInteger('z', z, lowest, MAX_FILTER_BLOCKS);
}

function checkRate(what: string, value: unknown, lowest: number, highest: number): number {
  if (typeof value !== 'number') throw invalidArgType(what, 'a number', value);
  if (!(value >= lowest && value <= highest)) throw outOfRange(what, `from ${lowest} to ${highest}`, value);
  return value;
}

/**
 * Σ_k Poisson(k; λ) · (1 − q^k)^8 with q = 31/32. By the binomial theorem, and because the mean of q^(jk) is
 * e^(−λ (1 − q^j)), that is Σ_j (−1)^j · C(8, j) · e^(−λ (1 − q^j)). The coefficients sum to 0, so e^x − 1 does for e^x, and
 * loses no digits where λ is small.
 */
function rateAtMean(lambda: number): number {
  const sum = BINOMIALS.reduce((rest, ways, j) => {
    const term = ways * Math.expm1(-lambda * (1 - (31 / 32) ** j));
    return j % 2 === 0 ? rest + term : rest - term;
  }, 0);
  return Math.min(1, Math.max(0, sum));
}
