import { describe, expect, it } from 'vitest';
import { APPLIED } from '../../src/native/seam.js';
import { reference, tested } from './backends.js';
import { NamesContest } from './names-contest.js';
import { Random, seedOfRun } from './random.js';

const OPERATIONS = 60_000;
const OPERATIONS_AN_INDEX = 1_000;
/** Events of hundreds of blocks make operations dear. */
const OPERATIONS_A_LONG_INDEX = 300;

describe(`names of an engine on the ${tested.name} index against the reference`, () => {
  it(`gives the same answers in ${OPERATIONS} random operations`, { timeout: 600_000 }, () => {
    const seed = seedOfRun('engine-names');
    const met = new Set<string>();
    let operations = 0;
    for (let round = 0; operations < OPERATIONS; round++) {
      const isLong = round % 8 === 7;
      try {
        const contest = new NamesContest(new Random(seed + round), [tested, reference], isLong);
        contest.play(isLong ? OPERATIONS_A_LONG_INDEX : OPERATIONS_AN_INDEX);
        contest.close();
        operations += contest.operations;
        for (const event of contest.met) met.add(event);
      } catch (error) {
        throw new Error(`KVIDX_SEED=${seed}, round ${round}: ${(error as Error).message}`, { cause: error });
      }
    }
    const hoped = [...Object.keys(APPLIED), 'unknownWorker', 'swept', 'departed', 'came back'];
    expect(hoped.filter((event) => !met.has(event))).toEqual([]);
  });
});
