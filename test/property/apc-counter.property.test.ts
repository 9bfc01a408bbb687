import { describe, expect, it } from 'vitest';
import { reference, tested } from './backends.js';
import { Random, seedOfRun } from './random.js';
import { Requests } from './requests.js';

describe(`the ${tested.name} APC counter against the reference counter`, () => {
  it('counts the same hits at every capacity', { timeout: 120_000 }, () => {
    const seed = seedOfRun('apc-counter');
    for (let round = 0; round < 40; round++) {
      const random = new Random(seed + round);
      const capacities = Float64Array.from(
        new Set(
          Array.from({ length: random.below(8) }, () => random.between(1, random.oneOf([20, 500, 20_000]))),
        ),
      ).sort();
      const requests = new Requests(random, random.oneOf([2, 6, 40]), random.oneOf([2, 6, 100]));
      const counters = [tested, reference].map((seam) => seam.createApcCounter(capacities));
      for (let i = 0; i < 400; i++) {
        const { session, ids } = requests.next();
        const [actual, expected] = counters.map((counter) => {
          const hits = new Uint32Array(2 + capacities.length);
          counter.add(session, ids, hits);
          return Array.from(hits);
        });
        expect(actual, `KVIDX_SEED=${seed}, round ${round}, request ${i}`).toEqual(expected);
      }
      const [actual, expected] = counters.map((counter) => counter.uniqueBlocks());
      expect(actual).toBe(expected);
      for (const counter of counters) counter.close();
    }
  });
});
