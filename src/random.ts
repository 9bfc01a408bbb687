/** `[probability, value]` pairs, ascending from 0 to 1: a distribution as its quantiles, linear in between. */
export type Quantiles = readonly (readonly [number, number])[];

/**
 * xoshiro128** (Blackman and Vigna, prng.di.unimi.it, xoshiro128starstar.c 1.1), seeded through the 32-bit finalizer
 * of MurmurHash3 over a Weyl sequence. Only 32-bit integers and exact divisions, and no function that a platform may
 * round its own way: the same numbers everywhere.
 */
export class Random {
  private readonly state = new Uint32Array(4);

  /** `seed`: 0 to 2^32 − 1. */
  constructor(seed: number) {
    let weyl = seed;
    for (let i = 0; i < 4; i++) {
      weyl = (weyl + 0x9e3779b9) >>> 0;
      this.state[i] = mix(weyl);
    }
  }

  /** From 0 (included) to 1 (excluded), in steps of 2^−32. */
  uniform(): number {
    const s = this.state;
    const result = Math.imul(rotate(Math.imul(s[1]!, 5), 7), 9) >>> 0;
    const t = s[1]! << 9;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= t;
    s[3] = rotate(s[3]!, 11);
    return result / 2 ** 32;
  }

  /** A whole number drawn from a distribution, times `scale`. */
  draw(quantiles: Quantiles, scale = 1): number {
    const p = this.uniform();
    const i = quantiles.findIndex(([probability]) => probability > p);
    const [p0, v0] = quantiles[i - 1]!;
    const [p1, v1] = quantiles[i]!;
    return Math.round((v0 + ((v1 - v0) * (p - p0)) / (p1 - p0)) * scale);
  }
}

function rotate(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}

function mix(x: number): number {
  let h = x;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
