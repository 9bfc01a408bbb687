import { describe, expect, it } from 'vitest';
import { reference, tested } from './backends.js';
import { Contest } from './contest.js';
import { Random, seedOfRun } from './random.js';

const OPERATIONS = 300_000;
const OPERATIONS_AN_INDEX = 2_000;
/** Chains of thousands of blocks make operations dear. */
const OPERATIONS_A_LONG_INDEX = 150;

/** Answers that a run has to have met, or it has shown little. */
const EVENTS = [
  ...['ok', 'unknownWorker', 'parentOnBounded', 'orphaned', 'rejected', 'evicted'].flatMap((event) => [
    `store: ${event}`,
    `replace: ${event}`,
  ]),
  ...['ok', 'unknownWorker', 'notEmpty', 'otherMode', 'pinned', 'evicted'].map(
    (event) => `setCapacity: ${event}`,
  ),
  ...['ok', 'unknownWorker', 'notEmpty', 'otherMode'].map((event) => `countReferences: ${event}`),
  ...['refresh', 'pin', 'unpin', 'remove'].flatMap((call) => [`${call}: applied`, `${call}: unknown`]),
  ...['ended', 'rejected', 'evicted'].map((event) => `own: ${event}`),
  ...['none', 'capacity', 'bound', 'ttl'].map((cause) => `evictedBy: ${cause}`),
  'expire: some',
];

describe(`the ${tested.name} index against the reference index`, () => {
  it(`gives the same answers in ${OPERATIONS} random operations`, { timeout: 600_000 }, () => {
    const seed = seedOfRun('core-index');
    const met = new Set<string>();
    let operations = 0;
    for (let round = 0; operations < OPERATIONS; round++) {
      const isLong = round % 16 === 7;
      const contest = new Contest(new Random(seed + round), [tested, reference], isLong);
      try {
        contest.play(isLong ? OPERATIONS_A_LONG_INDEX : OPERATIONS_AN_INDEX);
        contest.finish();
      } catch (error) {
        throw new Error(`KVIDX_SEED=${seed}, round ${round}: ${(error as Error).message}`, { cause: error });
      }
      operations += contest.operations;
      for (const event of contest.met) met.add(event);
    }
    expect(operations).toBeGreaterThanOrEqual(OPERATIONS);
    expect(EVENTS.filter((event) => !met.has(event))).toEqual([]);
  });
});
