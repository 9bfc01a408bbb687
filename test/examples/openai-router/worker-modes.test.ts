import { describe, expect, it } from 'vitest';
import { user, WorkerClient } from './worker-client.js';

const QUESTION = [user('What do you do?')];

/** What came of a stream before it ended, and how it did. */
async function readStream(response: Response): Promise<{ events: number; error: unknown }> {
  let text = '';
  try {
    for await (const bytes of response.body!) text += Buffer.from(bytes);
    return { events: text.split('\n\n').length - 1, error: undefined };
  } catch (error) {
    return { events: text.split('\n\n').length - 1, error };
  }
}

describe('a worker that is made to be', () => {
  it('slow answers all the same', async () => {
    const worker = await WorkerClient.start();
    await worker.mode('slow');
    expect((await worker.complete(QUESTION)).usage!.completion_tokens).toBe(32);
  });

  it('full refuses', async () => {
    const worker = await WorkerClient.start();
    await worker.mode('full');
    const response = await worker.chat(QUESTION, { stream: true });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'overloaded' } });
  });

  it('in error answers 500', async () => {
    const worker = await WorkerClient.start();
    await worker.mode('error');
    const response = await worker.chat(QUESTION);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { type: 'server_error', message: expect.any(String) },
    });
  });

  it.each([true, false])('stalled never answers, until the client hangs up (stream: %s)', async (stream) => {
    const worker = await WorkerClient.start();
    await worker.mode('stall');
    const client = new AbortController();
    const answer = worker.chat(QUESTION, { stream }, client.signal);
    await worker.until({ running: 1 });
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await worker.until({ running: 0, served: 0 });
  });

  it('broken cuts the connection in the middle of an answer', async () => {
    const worker = await WorkerClient.start();
    await worker.mode('break');
    const { events, error } = await readStream(await worker.chat(QUESTION, { stream: true }));
    expect([events, error]).toEqual([5, expect.any(TypeError)]);
    await expect(worker.chat(QUESTION)).rejects.toThrow('fetch failed');
    await worker.until({ running: 0, served: 0 });
  });

  it('broken leaves a part even of an answer of one token', async () => {
    const worker = await WorkerClient.start();
    await worker.mode('break');
    const { events, error } = await readStream(await worker.chat(QUESTION, { stream: true, max_tokens: 1 }));
    expect([events, error]).toEqual([0, expect.any(TypeError)]);
  });

  it('hanging says nothing more in the middle of an answer, until the client hangs up', async () => {
    const worker = await WorkerClient.start();
    await worker.mode('hang');
    const client = new AbortController();
    const response = await worker.chat(QUESTION, { stream: true }, client.signal);
    let text = '';
    for await (const bytes of response.body!) {
      text += Buffer.from(bytes);
      if (text.split('\n\n').length === 6) break;
    }
    expect(text).not.toContain('[DONE]');
    await worker.until({ running: 0, served: 0 });
  });

  it('dead ends its process', async () => {
    const deaths: string[] = [];
    const worker = await WorkerClient.start({}, () => deaths.push('died'));
    await worker.mode('die');
    expect(deaths).toEqual(['died']);
  });

  it('dead later ends it with a request', async () => {
    const deaths: string[] = [];
    const worker = await WorkerClient.start({}, () => deaths.push('died'));
    await worker.mode('die', 1);
    await worker.complete(QUESTION);
    expect(deaths).toEqual([]);
    await worker.complete(QUESTION);
    expect(deaths).toEqual(['died']);
  });

  it('something after some requests serves these as before', async () => {
    const worker = await WorkerClient.start();
    await worker.mode('full', 2);
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await worker.chat(QUESTION, { max_tokens: 1 })).status);
    expect(statuses).toEqual([200, 200, 503, 503]);
    expect(await worker.state()).toMatchObject({ mode: 'full', served: 2 });
    await worker.mode('ok');
    await worker.complete(QUESTION);
  });
});

describe('a client that hangs up', () => {
  it('while it waits, or is prefilled, frees its place at once', async () => {
    const worker = await WorkerClient.start({ prefillTokensPerS: 100 });
    const clients = Array.from({ length: 3 }, () => new AbortController());
    const long = user('word '.repeat(20_000));
    const answers: Promise<Response>[] = [];
    for (const [i, { signal }] of clients.entries()) {
      answers.push(worker.chat([user(`${i}`), long], { stream: true }, signal));
      await worker.until({ running: 1, waiting: i });
    }
    clients[1]!.abort(); // waits
    await worker.until({ running: 1, waiting: 1 });
    clients[0]!.abort(); // is prefilled: the next one's turn
    await worker.until({ running: 1, waiting: 0 });
    clients[2]!.abort();
    await worker.until({ running: 0, waiting: 0, served: 0, blocks: 0 });
    await Promise.allSettled(answers);
  });

  it('in the middle of a stream frees its place at once', async () => {
    const worker = await WorkerClient.start({ tokenMs: 60_000 });
    const client = new AbortController();
    const response = await worker.chat(QUESTION, { stream: true }, client.signal);
    await response.body!.getReader().read();
    expect(await worker.state()).toMatchObject({ running: 1, served: 0 });
    client.abort();
    await worker.until({ running: 0, served: 0 });
  });

  it('before an answer in one piece frees its place at once', async () => {
    const worker = await WorkerClient.start({ tokenMs: 60_000 });
    const client = new AbortController();
    const answer = worker.chat(QUESTION, {}, client.signal);
    await worker.until({ running: 1 });
    client.abort();
    await expect(answer).rejects.toThrow('aborted');
    await worker.until({ running: 0, served: 0 });
  });
});

it('a worker that is closed cuts off what is under way', async () => {
  const client = await WorkerClient.start({ tokenMs: 60_000 });
  const response = await client.chat(QUESTION, { stream: true });
  const streamed = readStream(response);
  await client.worker.close();
  expect((await streamed).error).toBeInstanceOf(TypeError);
});
