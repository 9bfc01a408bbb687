import { it } from 'vitest';
import { Random, seedOfRun } from '../../property/random.js';
import { type Weather, World } from './world.js';

const ROUNDS = 100;

it('a stream holds what its engine said, or says that it may not', { timeout: 120_000 }, () => {
  const seed = seedOfRun('event stream');
  for (let round = 0; round < ROUNDS; round++) {
    const random = new Random(seed + round);
    const weather = weatherOf(random);
    try {
      const world = new World(random, weather);
      for (let pause = 0; pause < 4; pause++) {
        const steps = random.between(1, 60);
        for (let step = 0; step < steps; step++) world.step();
        world.calm();
      }
    } catch (error) {
      const where = `KVIDX_SEED=${seed + round}, round 0, ${JSON.stringify(weather)}`;
      (error as Error).message = `${where}: ${(error as Error).message}`;
      throw error;
    }
  }
});

function weatherOf(random: Random): Weather {
  const isReplaying = random.below(4) > 0;
  return {
    isReplaying,
    buffered: random.oneOf([1, 5, 100, 10_000, 10_000, 10_000]),
    liveLoss: random.oneOf([0, 0.05, 0.5]),
    replayLoss: random.oneOf([0, 0, 0.02]),
    repeats: random.oneOf([0, 0.1]),
    isReplayFailing: random.below(2) === 0,
    isLossSeen: random.below(4) > 0,
    isAlike: isReplaying && random.below(6) === 0,
    maxHeldMessages: random.oneOf([1, 10, 10_000]),
  };
}
