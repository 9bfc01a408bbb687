import { describe, expect, it } from 'vitest';
import { reference, tested } from './backends.js';
import { Contest } from './contest.js';
import { Random, seedOfRun } from './random.js';

const OPERATIONS = 200_000;
const OPERATIONS_AN_INDEX = 2_000;
/** Chains of thousands of blocks make operations dear. */
const OPERATIONS_A_LONG_INDEX = 150;

describe(`the ${tested.name} index against the reference index`, () => {
  it(`gives the same answers in ${OPERATIONS} random operations`, { timeout: 600_000 }, () => {
    const seed = seedOfRun('core-index');
    let operations = 0;
    for (let round = 0; operations < OPERATIONS; round++) {
      const isLong = round % 16 === 7;
      const contest = new Contest(new Random(seed + round), [tested, reference], isLong);
      try {
        contest.play(isLong ? OPERATIONS_A_LONG_INDEX : OPERATIONS_AN_INDEX);
      } catch (error) {
        throw new Error(`KVIDX_SEED=${seed}, round ${round}: ${(error as Error).message}`, { cause: error });
      }
      operations += contest.operations;
    }
    expect(operations).toBeGreaterThanOrEqual(OPERATIONS);
  });
});
