import { describe, expect, test } from 'vitest';
import { hasKvidxCode } from '../../../src/errors.js';
import { Random, seedOfRun } from '../../property/random.js';
import { Crowd, type Journey, type World } from './crowd.js';
import { VirtualClock } from './support.js';
import { fakeWorld, realWorld } from './worlds.js';

const ROUNDS = 40;
const REQUESTS = 60;

const WORLDS: Record<string, (clock: VirtualClock) => World> = {
  'a fake router': fakeWorld,
  'the router, kv-aware': (clock) => realWorld('kv-aware:overlap=fair:k=200:by=work', () => clock.now()),
  'the router, lpwl': (clock) => realWorld('lpwl', () => clock.now()),
  'the router, sticky': (clock) => realWorld('sticky', () => clock.now()),
};

describe.each(Object.entries(WORLDS))('a crowd of dispatches over %s', (name, makeWorld) => {
  test('is asked, seeded and released as promised, and comes to its end', { timeout: 120_000 }, async () => {
    const seed = seedOfRun(`dispatch over ${name}`);
    for (let round = 0; round < ROUNDS; round++) {
      const clock = new VirtualClock();
      const world = makeWorld(clock);
      const crowd = new Crowd(new Random(seed + round), world, clock);
      await crowd.run(REQUESTS);
      const what = `KVIDX_SEED=${seed}, round ${round}`;
      expect([...crowd.problems, ...problemsOf(crowd)], what).toEqual([]);
      await endsWell(crowd, world, what);
    }
  });
});

function problemsOf(crowd: Crowd): string[] {
  const problems: string[] = [];
  expect(crowd.journeys.size).toBe(REQUESTS);
  for (const journey of crowd.journeys.values()) {
    const found = [
      ...[isSettled(journey), asksEachOnce(journey), endsInTime(journey, crowd)],
      ...[failsForAReason(journey), tellsItsAttempts(journey)],
    ];
    for (const problem of found) if (problem) problems.push(`${journey.requestId} ${problem}`);
  }
  for (const { requestId, worker, released } of crowd.admissions) {
    const { result } = crowd.journeys.get(requestId)!;
    const taken = result?.worker === worker;
    const right = taken ? released === 0 || result.as === 'fallback' : released === 1;
    if (!right || released > 1) problems.push(`${requestId} was released ${released} times on ${worker}`);
  }
  return problems;
}

const isSettled = ({ endedAt }: Journey) => (endedAt === undefined ? 'waits for ever' : undefined);

function asksEachOnce({ asked }: Journey): string | undefined {
  return new Set(asked).size === asked.length ? undefined : `asked ${asked}`;
}

function endsInTime({ asked, startedAt, endedAt }: Journey, { options }: Crowd): string | undefined {
  const { admitTimeoutMs, maxPauseMs, maxBackoffMs, seedDeadlineMs } = options;
  const bound = asked.length * (admitTimeoutMs + Math.max(maxPauseMs, maxBackoffMs) + seedDeadlineMs);
  const took = endedAt! - startedAt;
  return took <= bound + 1e-6 ? undefined : `took ${took} ms, which is above ${bound} ms`;
}

function failsForAReason({ result, error, aborted, ended }: Journey): string | undefined {
  if (result || (error === 'aborted' && aborted)) return undefined;
  if (hasKvidxCode(error) && error.code === 'ERR_KVIDX_NO_WORKERS') return undefined;
  if (hasKvidxCode(error) && error.code === 'ERR_KVIDX_OUT_OF_RANGE' && ended) return undefined;
  return `failed: ${error}`;
}

function tellsItsAttempts({ result, asked }: Journey): string | undefined {
  if (!result) return undefined;
  const { as, worker, attempts } = result;
  const told = attempts.map((attempt) => attempt.worker);
  if (String(told) !== String(asked)) return `asked ${asked}, tells ${told}`;
  const last = attempts.at(-1);
  const right = as === 'fallback' || (last?.outcome === as && last.worker === worker);
  return right ? undefined : `ended as ${as} on ${worker}, after ${JSON.stringify(last)}`;
}

/** When all requests have ended, nothing is left of them anywhere. */
async function endsWell({ clock, dispatcher, journeys }: Crowd, world: World, what: string): Promise<void> {
  for (const requestId of journeys.keys()) world.router.onError(requestId);
  await clock.drain();
  expect(world.leftovers(), what).toBe(0);
  const { dispatched, aborted, failed, ...rest } = dispatcher.stats();
  expect(rest, what).toMatchObject({ pending: 0, seeds: [] });
  const results = [...journeys.values()].filter(({ result }) => result);
  const sum = Object.values(dispatched).reduce((total, count) => total + count, 0);
  expect(sum, what).toBe(results.length);
  expect(aborted + failed, what).toBeLessThanOrEqual(journeys.size - results.length);
}
