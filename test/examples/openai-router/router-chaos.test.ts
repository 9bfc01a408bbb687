import { expect, it } from 'vitest';
import { chat, openRouter, stubWorkers, type TestedRouter, until } from './router-support.js';
import { type AnswerOf, begun, DONE, event, refusing, streamed, whole } from './stub-worker.js';

const REQUESTS = 300;
const AT_ONCE = 20;

/** Numbers below `most`, always the same. */
function dice(seed: number) {
  let state = seed;
  return (most: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % most;
  };
}

const usual: AnswerOf = (arrival) => (arrival.body.stream ? streamed('a', 'b') : whole)(arrival);
const TROUBLE: readonly AnswerOf[] = [
  refusing(503, { 'retry-after': '2' }),
  refusing(500),
  refusing(400),
  () => {},
  ({ response }) => response.destroy(),
  (arrival) => begun(arrival, event('a')),
  async (arrival) => {
    await begun(arrival, event('a'));
    arrival.response.destroy();
  },
  async (arrival) => {
    await begun(arrival, `${event('a')}data: {"half`);
    arrival.response.end();
  },
];

/** How a request ended for its client. */
async function ask(router: TestedRouter, user: string, stream: boolean, patienceMs: number | undefined) {
  const signal = patienceMs === undefined ? undefined : AbortSignal.timeout(patienceMs);
  try {
    const response = await router.post(chat('Hello.', { user, stream }), signal && { signal });
    const text = await response.text();
    if (response.status !== 200) return `${response.status} ${JSON.parse(text).error.message}`;
    const last = text.trimEnd().split('\n\n').at(-1)!;
    return last.startsWith('data: {"error"') ? `broken ${last}` : text.endsWith(stream ? DONE : '}');
  } catch {
    return signal?.aborted ? 'hung up' : 'cut off';
  }
}

it('whatever workers and clients do, each request ends, is tried once a worker at most, and leaves nothing behind', async () => {
  const roll = dice(1);
  const answer: AnswerOf = (arrival) => {
    const troubles = roll(3) > 0 ? [usual] : TROUBLE;
    return troubles[roll(troubles.length)]!(arrival);
  };
  const workers = await stubWorkers(answer, answer, answer);
  const router = await openRouter(workers, {
    firstByteMs: 300,
    answerMs: 300,
    idleMs: 300,
    healthEveryMs: 20,
  });
  const outcomes: unknown[] = [];
  let next = 0;
  const client = async () => {
    while (next < REQUESTS) {
      const i = next++;
      if (i % 60 === 30) {
        await workers[1]!.stop();
        await workers[1]!.start();
      }
      outcomes.push(await ask(router, `${i}`, roll(2) === 0, roll(10) === 0 ? roll(50) : undefined));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  expect(outcomes).toHaveLength(REQUESTS);
  for (const outcome of outcomes) {
    if (outcome === true || outcome === 'hung up') continue;
    expect(outcome).toMatch(
      /^(503|502|504|broken data: .*"message":") ?(Worker w\d |No worker )|^400 no: 400$/,
    );
  }
  expect(outcomes.filter((outcome) => outcome === true).length).toBeGreaterThan(REQUESTS / 2);
  for (const { arrivals } of workers) {
    const users = arrivals.map(({ body }) => body.user);
    expect(new Set(users).size).toBe(users.length);
  }
  const { totals } = await router.settled();
  expect(totals.finished).toBeGreaterThanOrEqual(outcomes.filter((outcome) => outcome === true).length);
  expect(router.stats().ignoredHooks).toMatchObject({ repeated: 0, outOfOrder: 0 });
  await until('workers see no request', () =>
    workers.every(({ arrivals }) => arrivals.every(({ response }) => response.closed)),
  );
});
