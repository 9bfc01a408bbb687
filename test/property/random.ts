/** Reproducible choices: xorshift32 (Marsaglia, "Xorshift RNGs", 2003). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 0x9e3779b9;
    for (let i = 0; i < 8; i++) this.below(1);
  }

  /** An integer in [0, bound). */
  below(bound: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state % bound;
  }

  /** An integer in [from, to]. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  oneOf<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}

/** The seed of this run: KVIDX_SEED replays one. */
export function seedOfRun(name: string): number {
  const given = process.env.KVIDX_SEED;
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
  console.info(`${name}: KVIDX_SEED=${seed}`);
  return seed;
}
