import { describe, expect, it } from 'vitest';
import type { CoreIndexOptions } from '../../src/native/seam.js';
import { reference, tested } from './backends.js';
import { Contest } from './contest.js';
import { Random, seedOfRun } from './random.js';

const ROUNDS = 60;
const OPERATIONS = 400;
const UNBOUNDED: CoreIndexOptions = { maxSessions: 0, maxBlocks: 0, evictedHistory: 100 };

/** A file says when its blocks were named only if it was written with `maxBlocks`; both backends must make the same of it. */
describe(`snapshots moved between bounds, the ${tested.name} index against the reference index`, () => {
  const play = (name: string, options: (random: Random) => CoreIndexOptions[]) => {
    const seed = seedOfRun(name);
    let operations = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const random = new Random(seed + round);
      const [first, ...others] = options(random);
      const contest = new Contest(random, [tested, reference], round % 20 === 7, first);
      try {
        contest.play(OPERATIONS);
        for (const next of others) {
          contest.moveTo(next);
          contest.play(OPERATIONS);
        }
        contest.finish();
      } catch (error) {
        throw new Error(`KVIDX_SEED=${seed}, round ${round}: ${(error as Error).message}`, { cause: error });
      }
      operations += contest.operations;
    }
    expect(operations).toBeGreaterThan(ROUNDS * OPERATIONS);
  };
  const bounded = (random: Random) => ({ ...UNBOUNDED, maxBlocks: random.oneOf([1, 7, 60, 400, 5000]) });

  it('stamps the blocks of an unbounded index alike, and evicts the same', { timeout: 120_000 }, () => {
    play('unbounded-to-bounded', (random) => [UNBOUNDED, bounded(random)]);
  });

  it('goes on without maxBlocks as if there had never been stamps', { timeout: 120_000 }, () => {
    play('bounded-to-unbounded', (random) => [bounded(random), UNBOUNDED]);
  });

  it('keeps what was named last where the bound differs', { timeout: 120_000 }, () => {
    play('bounded-to-bounded', (random) => [bounded(random), bounded(random), UNBOUNDED, bounded(random)]);
  });
});
