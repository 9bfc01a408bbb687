import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PromptTokenizer } from '../../../examples/openai-router/openai/prompt.js';
import { chat, openRouter, stubWorkers, type TestedRouter, until } from './router-support.js';
import { type AnswerOf, begun, DONE, event, refusing } from './stub-worker.js';

const stalls: AnswerOf = () => {};
const BODY = chat('Hello.', { stream: true });

/** A client that reads only when it is told to. */
async function ask(router: TestedRouter): Promise<IncomingMessage> {
  const asking = request(`${router.url}/v1/chat/completions`, { method: 'POST' });
  asking.end(JSON.stringify(BODY));
  const [response] = await once(asking, 'response');
  return response;
}

/** Writes as long as somebody takes it; `sent` are the bytes that were taken. */
function endless() {
  const text = event('x'.repeat(65_536));
  const told = { sent: 0 };
  const answer: AnswerOf = async (arrival) => {
    await begun(arrival, '');
    const { response } = arrival;
    while (!response.destroyed) {
      if (!response.write(text)) await Promise.race([once(response, 'drain'), arrival.closed]);
      told.sent += text.length;
    }
  };
  return { told, answer };
}

describe('a client that hangs up', () => {
  it('before the first byte ends its request at the worker, and nothing is tried again', async () => {
    const workers = await stubWorkers(stalls, undefined);
    const router = await openRouter(workers);
    const controller = new AbortController();
    const asked = router.post(BODY, { signal: controller.signal });
    await until('it is there', () => workers[0]!.arrivals.length === 1);
    expect(router.stats()).toMatchObject({ requests: 1, workers: [{ numRequests: 1 }, { numRequests: 0 }] });
    controller.abort();
    await expect(asked).rejects.toThrow();
    await workers[0]!.arrivals[0]!.closed;
    const { totals, decisions } = await router.settled();
    expect(totals).toMatchObject({ requests: 1, abandoned: 1, retries: 0 });
    expect(decisions).toMatchObject([{ outcome: 'abandoned', error: 'the client hung up' }]);
    expect(workers[1]!.arrivals).toHaveLength(0);
  });

  it('while its prompt is read ends that, and no worker hears of it', async () => {
    const read = vi.spyOn(PromptTokenizer.prototype, 'tokens');
    onTestFinished(() => read.mockRestore());
    read.mockImplementationOnce(async (_request, signal) => {
      await once(signal!, 'abort');
      throw signal!.reason;
    });
    const [worker] = await stubWorkers(undefined);
    const router = await openRouter([worker!]);
    const controller = new AbortController();
    const asked = router.post(BODY, { signal: controller.signal });
    await until('it is read', () => read.mock.calls.length === 1);
    controller.abort();
    await expect(asked).rejects.toThrow();
    await expect(read.mock.results[0]!.value).rejects.toThrow('the client hung up');
    expect((await router.settled()).totals).toMatchObject({ requests: 0, refused: 0 });
    expect(worker!.arrivals).toHaveLength(0);
  });

  it('while another worker is tried ends that', async () => {
    const workers = await stubWorkers(refusing(503), stalls, undefined);
    const router = await openRouter(workers);
    const controller = new AbortController();
    const asked = router.post(BODY, { signal: controller.signal });
    await until('it is there', () => workers[1]!.arrivals.length === 1);
    controller.abort();
    await expect(asked).rejects.toThrow();
    await workers[1]!.arrivals[0]!.closed;
    expect((await router.settled()).decisions).toMatchObject([{ outcome: 'abandoned', attempts: 2 }]);
    expect(workers[2]!.arrivals).toHaveLength(0);
  });

  it('in the middle of a stream ends it at the worker', async () => {
    const [worker] = await stubWorkers((arrival) => begun(arrival, event('a')));
    const router = await openRouter([worker!]);
    const stream = await router.client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hello.' }],
      stream: true,
    });
    for await (const { choices } of stream) {
      expect(choices[0]!.delta.content).toBe('a');
      break; // which hangs up
    }
    await worker!.arrivals[0]!.closed;
    expect((await router.settled()).totals).toMatchObject({ abandoned: 1, finished: 0, failed: 0 });
  });

  it('in the middle of a stream leaves its prompt at the worker, where the router expects it', async () => {
    const workers = await stubWorkers((arrival) => begun(arrival, event('a')));
    const router = await openRouter(workers);
    const body = chat('word '.repeat(100), { stream: true });
    const expected: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const controller = new AbortController();
      const { headers } = await router.post(body, { signal: controller.signal });
      expected.push(Number(headers.get('x-kvidx-expected-tokens')) >= 100);
      controller.abort();
      await router.settled();
    }
    expect(expected).toEqual([false, true]);
    expect((await router.state()).totals).toMatchObject({ abandoned: 2, finished: 0 });
    expect(router.stats()).toMatchObject({ finished: 2, errors: 0 });
  });

  it('when it has all of its stream was served', async () => {
    const workers = await stubWorkers((arrival) => begun(arrival, event('a') + DONE)); // which does not end
    const router = await openRouter(workers);
    const response = await ask(router);
    let text = '';
    for await (const piece of response) {
      text += piece;
      if (text.endsWith(DONE)) break; // which hangs up
    }
    await workers[0]!.arrivals[0]!.closed;
    expect((await router.settled()).totals).toMatchObject({ finished: 1, abandoned: 0, failed: 0 });
  });

  it('ends all that it asked for on its connection, also what waits in line', async () => {
    const [worker] = await stubWorkers((arrival) => begun(arrival, event('a')));
    const router = await openRouter([worker!]);
    const { hostname, port } = new URL(router.url);
    const socket = connect(Number(port), hostname);
    const body = JSON.stringify(BODY);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
    const AT_ONCE = 12;
    socket.write((head + body).repeat(AT_ONCE));
    await until('they are there', () => worker!.arrivals.length === AT_ONCE);
    await once(socket, 'data');
    socket.destroy();
    await Promise.all(worker!.arrivals.map(({ closed }) => closed));
    expect((await router.settled()).totals).toMatchObject({ requests: AT_ONCE, abandoned: AT_ONCE });
  });

  it('in the middle of an endless stream ends it as well', async () => {
    const { answer } = endless();
    const [worker] = await stubWorkers(answer);
    const router = await openRouter([worker!]);
    const response = await ask(router);
    await once(response, 'data');
    response.destroy();
    await worker!.arrivals[0]!.closed;
    expect((await router.settled()).totals).toMatchObject({ abandoned: 1 });
  });

  it('is no trouble to the others', async () => {
    const [worker] = await stubWorkers(({ body, response }) => {
      if (body.user === 'stays') response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    const router = await openRouter([worker!]);
    const controller = new AbortController();
    const gone = Array.from({ length: 20 }, () => router.post(BODY, { signal: controller.signal }));
    await until('they are there', () => worker!.arrivals.length === 20);
    controller.abort();
    await Promise.allSettled(gone);
    expect((await router.post(chat('Hello.', { user: 'stays' }))).status).toBe(200);
    expect((await router.settled()).totals).toMatchObject({ abandoned: 20, finished: 1 });
  });
});

describe('a client that does not read', () => {
  it('is given up, and so is its request at the worker; what it did not take is not kept', async () => {
    const { answer, told } = endless();
    const [worker] = await stubWorkers(answer);
    const router = await openRouter([worker!], { idleMs: 500 });
    const response = await ask(router);
    await worker!.arrivals[0]!.closed;
    await expect(buffer(response)).rejects.toThrow('aborted');
    expect(response.complete).toBe(false);
    const { decisions } = await router.settled();
    expect(decisions).toMatchObject([{ outcome: 'abandoned', error: 'the client did not read for 500 ms' }]);
    // Buffers of four sockets and little more: what the kernel grants them is the most of it.
    expect(told.sent).toBeLessThan(64 * 2 ** 20);
  });

  it('for a while gets all of it', async () => {
    const texts = Array.from({ length: 100 }, (_, i) => event(`${i}`.repeat(30_000)));
    const [worker] = await stubWorkers(async (arrival) => {
      await begun(arrival, '');
      arrival.response.end(texts.join('') + DONE);
    });
    const router = await openRouter([worker!]);
    const response = await ask(router);
    await until('the router waits for it', () => router.stats().workers[0]!.ongoingDecodeTokens > 0);
    response.setEncoding('utf8');
    let given = '';
    for await (const text of response) given += text;
    expect(given).toBe(texts.join('') + DONE);
    expect((await router.settled()).totals).toMatchObject({ finished: 1 });
  });
});
