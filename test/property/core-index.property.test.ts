import { describe, expect, it } from 'vitest';
import { findAddon } from '../../src/native/load.js';
import { createReferenceSeam } from '../../src/reference/index.js';
import { Contest, type MakeIndex } from './contest.js';
import { Random, seedOfRun } from './random.js';

const OPERATIONS = 200_000;
const OPERATIONS_AN_INDEX = 2_000;
/** Chains of thousands of blocks make operations dear. */
const OPERATIONS_A_LONG_INDEX = 150;

const reference = await createReferenceSeam();
const search = findAddon('kvidx');
if (!('addon' in search)) {
  console.warn(`No addon: the reference index plays against itself. Tried:\n${search.refused.join('\n')}`);
}
const { name, seam } =
  'addon' in search ? { name: 'native', seam: search.addon } : { name: 'reference', seam: reference };

const tested: MakeIndex = (maxSessions) => seam.createIndex({ maxSessions });
const oracle: MakeIndex = (maxSessions) => reference.createIndex({ maxSessions });

describe(`the ${name} index against the reference index`, () => {
  it(`gives the same answers in ${OPERATIONS} random operations`, { timeout: 600_000 }, () => {
    const seed = seedOfRun('core-index');
    let operations = 0;
    for (let round = 0; operations < OPERATIONS; round++) {
      const isLong = round % 16 === 7;
      const contest = new Contest(new Random(seed + round), [tested, oracle], isLong);
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
