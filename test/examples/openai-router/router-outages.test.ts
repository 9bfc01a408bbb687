import { describe, expect, it } from 'vitest';
import { chat, errorOf, openRouter, stubWorker, stubWorkers, until } from './router-support.js';
import { type AnswerOf, begun, DONE, event, type StubWorker, streamed } from './stub-worker.js';

const stalls: AnswerOf = () => {};

describe('a worker that goes down', () => {
  it('loses the requests that wait there to another one, at once', async () => {
    const [ill, well] = (await stubWorkers(stalls, undefined)) as [StubWorker, StubWorker];
    const router = await openRouter([ill, well], { healthEveryMs: 10 });
    const asked = Array.from({ length: 6 }, () => router.post(chat('Hello.')));
    await until('half of them wait', () => ill.arrivals.length === 3);
    ill.healthStatus = 500;
    for (const response of await Promise.all(asked)) {
      expect([response.status, response.headers.get('x-kvidx-worker')]).toEqual([200, 'w1']);
    }
    await Promise.all(ill.arrivals.map(({ closed }) => closed));
    const { totals, workers } = await router.settled();
    expect(workers[0]).toMatchObject({ status: 'down', reason: 'answers /health with 500' });
    expect(totals).toMatchObject({ finished: 6, retries: 3 });
  });

  it('may end the streams that it has begun', async () => {
    const worker = await stubWorker({ answer: (arrival) => begun(arrival, event('a')) });
    const router = await openRouter([worker, await stubWorker()], { healthEveryMs: 10 });
    const response = await router.post(chat('Hello.', { stream: true }));
    worker.healthStatus = 500;
    await until('it is down', async () => (await router.state()).workers[0]!.status === 'down');
    worker.arrivals[0]!.response.end(event('b') + DONE);
    expect(await response.text()).toBe(event('a') + event('b') + DONE);
    expect((await router.settled()).totals).toMatchObject({ finished: 1 });
  });

  it('gets requests again when it is back, and nothing is expected there', async () => {
    const workers = await stubWorkers(undefined, undefined);
    const router = await openRouter(workers, { healthEveryMs: 10 });
    const ask = async () => {
      const response = await router.post(chat('word '.repeat(100)));
      await response.text();
      const { headers } = response;
      return [headers.get('x-kvidx-worker'), Number(headers.get('x-kvidx-expected-tokens')) > 0];
    };
    const status = async () => (await router.state()).workers[0]!.status;
    expect([await ask(), await ask()]).toEqual([
      ['w0', false],
      ['w1', false],
    ]);
    expect([await ask(), await ask()]).toEqual([
      ['w0', true],
      ['w1', true],
    ]);
    await workers[0]!.stop();
    await until('it is down', async () => (await status()) === 'down');
    expect([await ask(), await ask()]).toEqual([
      ['w1', true],
      ['w1', true],
    ]);
    await workers[0]!.start();
    await until('it is back', async () => (await status()) === 'up');
    expect((await router.state()).workers[0]).toMatchObject({ residentBlocks: 0 });
    expect([await ask(), await ask()]).toEqual(
      expect.arrayContaining([
        ['w0', false],
        ['w1', true],
      ]),
    );
    await router.settled();
  });

  it('together with all others leaves nothing behind, and they come back to work', async () => {
    const workers = await stubWorkers(stalls, stalls);
    const router = await openRouter(workers, { healthEveryMs: 10 });
    const waiting = Array.from({ length: 8 }, () => router.post(chat('Hello.')));
    await until('they wait', () => workers.flatMap(({ arrivals }) => arrivals).length === 8);
    await Promise.all(workers.map((worker) => worker.stop()));
    for (const response of await Promise.all(waiting)) {
      expect([502, 503]).toContain(response.status);
      await errorOf(response);
    }
    await router.settled();
    for (const worker of workers) worker.answer = streamed('a');
    await Promise.all(workers.map((worker) => worker.start()));
    await until('they are back', async () =>
      (await router.state()).workers.every(({ status }) => status === 'up'),
    );
    expect((await router.post(chat('Hello.', { stream: true }))).status).toBe(200);
    await router.settled();
  });
});
