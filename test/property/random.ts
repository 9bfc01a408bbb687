import { Random as Generator } from '../../src/random.js';

/** Reproducible choices. */
export class Random extends Generator {
  /** An integer in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.uniform() * bound);
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
