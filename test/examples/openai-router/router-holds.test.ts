import { expect, it } from 'vitest';
import { chat, openRouter, stubWorkers, until } from './router-support.js';
import { type AnswerOf, begun, DONE, event, refusing, type StubWorker, whole } from './stub-worker.js';

const REQUESTS = 60;

/** A stream that goes on, so that who has it is busier than who refuses all. */
const busy: AnswerOf = (arrival) =>
  arrival.body.user === 'stays' ? begun(arrival, event('a')) : whole(arrival);

it.each<[string, AnswerOf]>([
  ['500', refusing(500)],
  ['503', refusing(503)],
  ['503 with retry-after', refusing(503, { 'retry-after': '1' })],
])(
  'a worker that answers %s at once is tried by few requests, though it has the least load, and gets requests when it works',
  async (_, answer) => {
    const workers = await stubWorkers(answer, busy, busy);
    const [ill, ...well] = workers as [StubWorker, ...StubWorker[]];
    const router = await openRouter(workers, { policy: 'load-only' });
    const streams = [];
    for (const _each of well)
      streams.push(await router.post(chat('Hello.', { user: 'stays', stream: true })));
    expect(well.map(({ arrivals }) => arrivals.length)).toEqual([1, 1]);
    for (let i = 0; i < REQUESTS; i++) {
      const response = await router.post(chat(`Hello, ${i}.`));
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello world')]);
    }
    expect(ill.arrivals.length).toBeGreaterThan(0);
    expect(ill.arrivals.length).toBeLessThan(REQUESTS / 6);
    expect((await router.state()).totals.retries).toBe(ill.arrivals.length);
    ill.answer = whole;
    await until('it gets requests again', async () => {
      const response = await router.post(chat('Hello again.'));
      await response.text();
      return response.headers.get('x-kvidx-worker') === 'w0';
    });
    expect((await router.state()).workers[0]).not.toHaveProperty('holdMs');
    for (const { arrivals } of well) arrivals[0]!.response.end(DONE);
    for (const stream of streams) await stream.text();
    expect((await router.settled()).totals).toMatchObject({ failed: 0, refused: 0 });
  },
);

it('workers that are on hold are tried after all where no other is left', async () => {
  const workers = await stubWorkers(refusing(503, { 'retry-after': '60' }), refusing(500));
  const router = await openRouter(workers);
  for (let i = 1; i <= 3; i++) {
    expect((await router.post(chat('Hello.'))).status).toBeGreaterThanOrEqual(500);
    expect(workers.map(({ arrivals }) => arrivals.length)).toEqual([i, i]);
  }
  const [first] = (await router.settled()).workers;
  expect(first!.holdMs).toBeGreaterThan(0);
  expect(first!.holdMs).toBeLessThanOrEqual(60_000);
  for (const worker of workers) worker.answer = whole;
  expect((await router.post(chat('Hello.'))).status).toBe(200);
  await router.settled();
});
