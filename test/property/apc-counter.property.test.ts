import { describe, expect, it } from 'vitest';
import { reference, tested } from './backends.js';
import { Random, seedOfRun } from './random.js';
import { Requests } from './requests.js';

/** Both counters count the same requests and must answer alike. */
class CounterPair {
  readonly #counters;
  readonly #places: number;
  readonly #what: string;
  #requests = 0;

  constructor(capacities: readonly number[], what: string) {
    const ascending = Float64Array.from(new Set(capacities)).sort();
    this.#counters = [tested, reference].map((seam) => seam.createApcCounter(ascending));
    this.#places = 2 + ascending.length;
    this.#what = what;
  }

  add(session: number, ids: BigUint64Array): void {
    const [actual, expected] = this.#counters.map((counter) => {
      const hits = new Uint32Array(this.#places);
      counter.add(session, ids, hits);
      return [...hits, counter.uniqueBlocks()];
    });
    expect(actual, `${this.#what}, request ${this.#requests++} of ${ids.length} ids`).toEqual(expected);
  }

  close(): void {
    for (const counter of this.#counters) counter.close();
  }
}

describe(`the ${tested.name} APC counter against the reference counter`, () => {
  it('counts the same hits at every capacity', { timeout: 120_000 }, () => {
    const seed = seedOfRun('apc-counter');
    for (let round = 0; round < 40; round++) {
      const random = new Random(seed + round);
      const capacities = Array.from({ length: random.below(8) }, () =>
        random.between(1, random.oneOf([20, 500, 20_000])),
      );
      const pair = new CounterPair(capacities, `KVIDX_SEED=${seed}, round ${round}`);
      const requests = new Requests(random, random.oneOf([2, 6, 40, 200]), random.oneOf([2, 6, 100]));
      for (let i = 0; i < 400; i++) {
        const { session, ids } = requests.next();
        pair.add(session, ids);
      }
      pair.close();
    }
  });

  /** A run of the native index holds 4,096 blocks at most. */
  it.each([4095, 4096, 4097, 20_000])('counts the same hits of requests with %i new ids', (count) => {
    const pair = new CounterPair([1, 4095, 4096, 4097, count - 1, count, count + 1, 3 * count], 'long');
    let nextId = 1n;
    const fresh = (n: number) => BigUint64Array.from({ length: n }, () => nextId++);
    const extend = (known: BigUint64Array, n: number) => BigUint64Array.of(...known, ...fresh(n));

    const first = fresh(count);
    pair.add(1, first);
    pair.add(1, first);
    pair.add(2, first);
    const grown = extend(first, count);
    pair.add(1, grown);
    pair.add(2, first);
    pair.add(1, grown);
    const branch = extend(first.subarray(0, count - 1), count);
    pair.add(3, branch);
    pair.add(1, grown);
    pair.add(3, branch.subarray(0, 4096));
    pair.add(0, fresh(count));
    pair.add(3, branch);
    pair.add(2, extend(first.subarray(0, 1), count));
    pair.add(1, grown);
    pair.close();
  });

  it('counts the same hits of long requests that grow, branch and come back', { timeout: 120_000 }, () => {
    const seed = seedOfRun('apc-counter-long');
    for (let round = 0; round < 10; round++) {
      const random = new Random(seed + round);
      const pair = new CounterPair([100, 4096, 5000, 30_000, 200_000], `KVIDX_SEED=${seed}, round ${round}`);
      const prompts: BigUint64Array[] = [BigUint64Array.of()];
      let nextId = 1n;
      for (let i = 0; i < 25; i++) {
        const from = random.oneOf(prompts);
        const known = random.oneOf([0, 1, 4095, 4096, 4097, from.length, random.below(from.length + 1)]);
        const count = random.oneOf([0, 1, 4095, 4096, 4097, 20_000]);
        const fresh = BigUint64Array.from({ length: count }, () => nextId++);
        const ids = BigUint64Array.of(...from.subarray(0, known), ...fresh);
        prompts.push(ids);
        pair.add(random.below(4), ids);
      }
      pair.close();
    }
  });
});
