import { expect, test } from 'vitest';
import { Random, seedOfRun } from '../../property/random.js';
import { Player } from './player.js';

const ROUNDS = 100;
const STEPS_A_ROUND = 500;

/** What a run has to have met, or it has shown little. */
const EVENTS = [
  ...['onDispatch', 'onFirstToken', 'onFinish', 'onError', 'onReject'].flatMap((hook) => [
    `${hook}: true`,
    `${hook}: false`,
  ]),
  ...['new', 'up before', 'draining before', 'down before'].map((when) => `addWorker: ${when}`),
  ...['fail', 'remove'].flatMap((how) => [`${how}: with requests`, `${how}: idle`]),
  'route: no workers',
  'reroute: another',
  'reroute: none left',
  'assign: not up',
  'endSession',
  'expire',
  'home',
  'cached',
  'migrated',
];

test(`a router agrees with its model in ${ROUNDS * STEPS_A_ROUND} random calls`, { timeout: 600_000 }, () => {
  const seed = seedOfRun('router');
  const met = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const player = new Player(new Random((seed + round) % 2 ** 32), round, met);
    let step = 0;
    try {
      for (; step < STEPS_A_ROUND; step++) player.step();
      player.finish();
    } catch (error) {
      const where = `KVIDX_SEED=${seed}, round ${round}, step ${step}`;
      throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
    }
  }
  expect(EVENTS.filter((event) => !met.has(event))).toEqual([]);
});
