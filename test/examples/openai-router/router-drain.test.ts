import { expect, it } from 'vitest';
import { chat, errorOf, openRouter, stubWorkers, until } from './router-support.js';
import { begun, DONE, event, type StubWorker } from './stub-worker.js';

/** A router with one stream under way. */
async function streaming() {
  const [worker] = (await stubWorkers((arrival) => begun(arrival, event('a')))) as [StubWorker];
  const router = await openRouter([worker]);
  const stream = await router.post(chat('Hello.', { stream: true }));
  return { worker, router, stream };
}

it('a router that ends says so, takes no requests, and lets those under way end', async () => {
  const { worker, router, stream } = await streaming();
  expect((await fetch(`${router.url}/health`)).status).toBe(200);
  const closed = router.close(60_000);
  const health = await fetch(`${router.url}/health`);
  expect([health.status, await health.json()]).toEqual([503, { status: 'shutting down', up: 1 }]);
  const refused = await router.post(chat('Hello.'));
  expect(refused.status).toBe(503);
  expect(await errorOf(refused)).toMatchObject({ code: 'shutting_down' });
  expect(await router.state()).toMatchObject({ totals: { requests: 1, finished: 0 } });
  expect(worker.arrivals).toHaveLength(1);
  worker.arrivals[0]!.response.end(event('b') + DONE);
  expect(await stream.text()).toBe(event('a') + event('b') + DONE);
  await closed;
  await expect(fetch(`${router.url}/health`)).rejects.toThrow();
});

it('a router that ends has patience for so long, also when it is asked again with less', async () => {
  for (const patiences of [[0], [20], [60_000, 0]]) {
    const { worker, router, stream } = await streaming();
    const closed = Promise.all(patiences.map((patience) => router.close(patience)));
    expect(await stream.text()).toMatch(/^data: .*\n\ndata: \{"error":.*"code":"shutting_down"\}\}\n\n$/);
    await closed;
    await until('its worker sees no request', () => worker.arrivals[0]!.response.closed);
  }
});
