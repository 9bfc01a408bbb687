import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Random, seedOfRun } from '../../property/random.js';
import { ExchangeWorld } from './exchange-world.js';

const WORLDS = 2000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('whatever is lost, repeated, reordered, refused or begun anew', () => {
  it('a sketch is what the publisher once had, never goes back, and comes to what it has', async () => {
    const seed = seedOfRun('sketch exchange');
    for (let round = 0; round < WORLDS; round++) {
      const random = new Random(seed + round);
      vi.spyOn(Math, 'random').mockImplementation(() => random.uniform()); // chance in pauses
      const world = new ExchangeWorld(random);
      try {
        for (let steps = random.between(10, 80); steps > 0; steps--) await world.step();
        await world.heal();
        if (random.oneIn(2)) await world.publishFull();
        else await world.settle();
        await world.close();
        expect(vi.getTimerCount()).toBe(0);
      } catch (error) {
        (error as Error).message = `KVIDX_SEED=${seed + round}, round 0: ${(error as Error).message}`;
        throw error;
      }
    }
  }, 600_000);
});
