import { createServer } from 'node:net';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Failure } from '../../../examples/openai-router/router/upstream.js';
import { until } from './router-support.js';
import { type AnswerOf, begun, DONE, EVENT_STREAM, event, refusing, whole } from './stub-worker.js';
import { call, failureOf, open, seenBy, textOf } from './upstream-support.js';

describe('an answer of a worker', () => {
  it('begins with its first whole event, and goes on by whole events, whatever pieces they came in', async () => {
    const stream = [event('héllo ☃'), event('b'), event('c'), DONE].join('').replaceAll('\n', '\r\n');
    const bytes = Buffer.from(stream);
    const { answer } = await open(async (arrival) => {
      await begun(arrival, '');
      for (let i = 0; i < bytes.length; i += 7)
        await new Promise((sent) => arrival.response.write(bytes.subarray(i, i + 7), sent));
      arrival.response.end();
    });
    const { status, contentType, pieces } = await answer();
    expect([status, contentType]).toEqual([200, EVENT_STREAM['content-type']]);
    const texts = await textOf({ pieces });
    expect(texts.join('')).toBe(stream);
    for (const text of texts) expect(text.endsWith('\r\n\r\n')).toBe(true);
  });

  it('comes in one piece where it is no stream', async () => {
    const { answer } = await open(whole);
    const { contentType, pieces } = await answer();
    expect(contentType).toBe('application/json');
    const texts = await textOf({ pieces });
    expect(texts).toHaveLength(1);
    expect(JSON.parse(texts[0]!)).toMatchObject({ usage: { total_tokens: 12 } });
  });

  it('may end with a last event that nothing stands behind', async () => {
    const { answer } = await open(({ response }) =>
      response.writeHead(200, EVENT_STREAM).end(`${event('a')}data: [DONE]`),
    );
    expect((await textOf(await answer())).join('')).toBe(`${event('a')}data: [DONE]`);
  });

  it('begins with what its first event says: comments before it are no beginning', async () => {
    const { worker, answer } = await open((arrival) => begun(arrival, ': ping\n\n'));
    const asked = answer();
    await until('the request is there', () => worker.arrivals.length > 0);
    const { response } = worker.arrivals[0]!;
    await new Promise((sent) => response.write(': ping\n\n', sent));
    response.end(`${event('a')}: ping\n\n${DONE}`);
    const { pieces } = await asked;
    expect((await textOf({ pieces })).join('').replace(/^(: ping\n\n)+/, '')).toBe(
      `${event('a')}: ping\n\n${DONE}`,
    );
  });

  it('may tell of an error behind its beginning, or of one that is the fault of the request', async () => {
    const failed = (code: number) => `data: ${JSON.stringify({ error: { message: 'no', code } })}\n\n`;
    for (const [first, rest] of [
      [failed(400), DONE],
      [event('a'), failed(500) + DONE],
    ] as const) {
      const { worker, answer } = await open((arrival) => begun(arrival, first));
      const { status, isStream, pieces } = await answer();
      expect([status, isStream]).toEqual([200, true]);
      worker.arrivals[0]!.response.end(rest);
      expect((await textOf({ pieces })).join('')).toBe(first + rest);
    }
  });

  it('is relayed as it is where it refuses the request', async () => {
    const { answer } = await open(refusing(400));
    const { status, pieces } = await answer();
    expect(status).toBe(400);
    expect((await textOf({ pieces })).join('')).toContain('no: 400');
  });
});

describe('a worker that does not answer', () => {
  it.each<[string, number, object, Failure, number | undefined]>([
    ['429', 429, { 'retry-after': '7' }, 'refused', 7],
    ['503', 503, {}, 'refused', undefined],
    ['503 until some day', 503, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, 'refused', undefined],
    ['500', 500, {}, 'error', undefined],
    ['502', 502, { 'retry-after': '7' }, 'error', 7],
  ])('says why: %s', async (_, status, headers, failure, retryAfterS) => {
    const { answer } = await open(refusing(status, headers as Record<string, string>));
    const message = `answered ${status}: no: ${status}`;
    expect(await failureOf(answer())).toMatchObject({ failure, message, retryAfterS });
  });

  it.each<[number | string, Failure]>([
    [500, 'error'],
    ['internal', 'error'],
    [429, 'refused'],
  ])('says why in the first event of its stream: %s', async (code, failure) => {
    const told = `data: ${JSON.stringify({ error: { message: 'no', code } })}\n\n`;
    const { worker, answer } = await open((arrival) => begun(arrival, `: ping\n\n${told}`));
    expect(await failureOf(answer())).toMatchObject({
      failure,
      message: `answered ${Number(code) || 500}: no`,
    });
    await seenBy(worker);
  });

  it('and says so at length is cut short', async () => {
    const { answer } = await open(({ response }) => response.writeHead(500).end('<p>'.repeat(10_000)));
    const { message } = await failureOf(answer());
    expect(message).toMatch(/^answered 500: <p><p>/);
    expect(message.length).toBeLessThan(400);
  });

  it('refuses connections, or takes none', async () => {
    const { worker, answer } = await open();
    await worker.stop();
    expect(await failureOf(answer())).toMatchObject({ failure: 'cut', message: 'refuses connections' });
  });

  it('breaks off before anything whole has come', async () => {
    const halves = ['', 'data: {"half'];
    for (const half of halves) {
      const { answer } = await open(async (arrival) => {
        await begun(arrival, half);
        arrival.response.destroy();
      });
      expect(await failureOf(answer())).toMatchObject({ failure: 'cut' });
    }
    const { answer } = await open(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
      response.write('{"choices":[', () => response.destroy());
    });
    expect(await failureOf(answer())).toMatchObject({ failure: 'cut' });
  });

  it('is not named by its address in what clients are told; the cause is kept for a log', async () => {
    const cause = Object.assign(new Error('getaddrinfo ENOTFOUND gpu-7.internal'), { code: 'ENOTFOUND' });
    const dispatcher = new Agent({ connect: (_options, done) => done(cause, null) });
    onTestFinished(() => dispatcher.destroy());
    const failure = await failureOf(call('http://gpu-7.internal:8000').answer({ dispatcher }));
    expect(failure).toMatchObject({ message: 'cut the connection (ENOTFOUND)', cause });
  });

  it('speaks another language', async () => {
    const server = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const { failure, message } = await failureOf(call(`http://127.0.0.1:${port}`).answer());
    server.close();
    expect([failure, message]).toEqual(['cut', expect.stringMatching(/^cut the connection \(\w+\)$/)]);
  });

  it.each<[string, AnswerOf]>([
    ['nothing', () => {}],
    ['only its headers', (arrival) => begun(arrival, '')],
    ['only comments', (arrival) => begun(arrival, ': ping\n\n')],
    ['half an event', (arrival) => begun(arrival, 'data: {')],
    ['half of one piece', ({ response }) => response.write('{"choices":[')],
    ['half a refusal', ({ response }) => response.writeHead(500).write('{"error":')],
  ])('is given up after a time, and sees it: %s', async (_, silent) => {
    const { worker, answer } = await open(silent);
    const { failure, message } = await failureOf(answer({ patienceMs: 200 }));
    expect([failure, message]).toEqual(['silent', 'did not answer within 200 ms']);
    await seenBy(worker);
  });
});
