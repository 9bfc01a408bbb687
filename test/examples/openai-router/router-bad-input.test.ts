import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { chat, errorOf, openRouter, stubWorkers, type TestedRouter } from './router-support.js';
import type { StubWorker } from './stub-worker.js';

const CHAT = '/v1/chat/completions';
const TEXT = '/v1/completions';
const MB = 2 ** 20;

async function open(): Promise<{
  router: TestedRouter;
  worker: StubWorker;
  nothingHappened: () => Promise<void>;
}> {
  const [worker] = await stubWorkers(undefined);
  const router = await openRouter([worker!]);
  const nothingHappened = async () => {
    const { totals } = await router.settled();
    expect(Object.values(totals).every((value) => value === 0)).toBe(true);
    expect(router.stats()).toMatchObject({ routed: 0, sessions: 0 });
    expect(worker!.arrivals).toHaveLength(0);
    expect((await router.post(chat('Hello.'))).status).toBe(200);
  };
  return { router, worker: worker!, nothingHappened };
}

const message = (fields: object) => ({ messages: [{ role: 'user', content: 'Hello.', ...fields }] });

describe('what is no request is refused as OpenAI would, and changes nothing', () => {
  it.each<[string, string | Uint8Array, Record<string, string>]>([
    ['not JSON', '{"model":', {}],
    ['nothing', '', {}],
    ['no object', '[1]', {}],
    ['null', 'null', {}],
    ['bytes', Buffer.from([0xff, 0xfe, 0]), {}],
    ['a form', 'model=m&messages=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a file', '--x\r\n\r\nx\r\n--x--', { 'content-type': 'multipart/form-data; boundary=x' }],
  ])('%s', async (_, body, headers) => {
    const { router, nothingHappened } = await open();
    const response = await fetch(router.url + CHAT, { method: 'POST', body: body as string, headers });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ type: 'invalid_request_error', message: /JSON/ });
    await nothingHappened();
  });

  it('a content type that is none', async () => {
    const { router, nothingHappened } = await open();
    const response = await router.post(chat('Hello.'), { headers: { 'content-type': ';;' } });
    expect(response.status).toBe(415);
    await errorOf(response);
    await nothingHappened();
  });

  it.each([
    ['an unknown path', 'GET', '/v1/embeddings', 404],
    ['a path of another method', 'GET', CHAT, 404],
    ['a path that is none', 'GET', '/%zz', 400],
  ])('%s', async (_, method, path, status) => {
    const { router, nothingHappened } = await open();
    const response = await fetch(router.url + path, { method });
    expect(response.status).toBe(status);
    await errorOf(response);
    await nothingHappened();
  });

  it('but JSON is taken under any type, and under none', async () => {
    const { router } = await open();
    for (const type of [
      'text/plain',
      'application/json; charset=utf-8',
      'application/x-www-form-urlencoded',
    ]) {
      expect((await router.post(chat('Hello.'), { headers: { 'content-type': type } })).status).toBe(200);
    }
    const body = Buffer.from(JSON.stringify(chat('Hello.')));
    expect((await fetch(router.url + CHAT, { method: 'POST', body })).status).toBe(200);
  });

  it.each([
    ['what is not HTTP', 'hello\r\n\r\n', 400],
    ['a header that is none', 'GET / HTTP/1.1\r\nno header\r\n\r\n', 400],
    ['a length that is none', `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n{}`, 400],
    ['headers of 32 kB', `GET / HTTP/1.1\r\nHost: x\r\nx: ${'x'.repeat(32_768)}\r\n\r\n`, 431],
  ])('%s', async (_, text, status) => {
    const { router, nothingHappened } = await open();
    const { port, hostname } = new URL(router.url);
    const socket = connect(Number(port), hostname);
    socket.write(text);
    const [head, body] = (await buffer(socket)).toString().split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const response = new Response(body!, {
      headers: { 'content-type': /content-type: (.*)/.exec(head!)![1]! },
    });
    expect(await errorOf(response)).toMatchObject({ type: 'invalid_request_error' });
    await nothingHappened();
  });

  it('a request that breaks off', async () => {
    const { router, nothingHappened } = await open();
    const { port, hostname } = new URL(router.url);
    const socket = connect(Number(port), hostname);
    socket.end(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"model":"m"`);
    await once(socket.resume(), 'close');
    await nothingHappened();
  });
});

describe('a field that is wrong is named, and the request changes nothing', () => {
  it.each<[string, string, object]>([
    ['model', CHAT, { model: undefined }],
    ['model', CHAT, { model: '' }],
    ['model', CHAT, { model: 5 }],
    ['model', CHAT, { model: 'x'.repeat(1000) }],
    ['messages', CHAT, { messages: undefined }],
    ['messages', CHAT, { messages: 'Hello.' }],
    ['messages', CHAT, { messages: [] }],
    ['messages[0]', CHAT, { messages: [null] }],
    ['messages[0].role', CHAT, message({ role: 5 })],
    ['messages[0].content', CHAT, message({ content: 5 })],
    ['messages[0].content[0]', CHAT, message({ content: [5] })],
    ['messages[0].content[0].text', CHAT, message({ content: [{ type: 'text', text: [] }] })],
    ['messages[0].name', CHAT, message({ name: 5 })],
    ['messages[0].tool_call_id', CHAT, message({ role: 'tool', tool_call_id: [] })],
    ['stream', CHAT, { stream: 'yes' }],
    ['stream_options', CHAT, { stream_options: true }],
    ['stream_options.include_usage', CHAT, { stream_options: { include_usage: 1 } }],
    ['max_tokens', CHAT, { max_tokens: -1 }],
    ['max_completion_tokens', CHAT, { max_completion_tokens: '5' }],
    ['user', CHAT, { user: ['a'] }],
    ['prompt_cache_key', CHAT, { prompt_cache_key: {} }],
    ['cache_salt', CHAT, { cache_salt: '' }],
    ['cache_salt', CHAT, { cache_salt: 'lone \ud800' }],
    ['prompt', TEXT, { prompt: undefined }],
    ['prompt', TEXT, { prompt: {} }],
    ['prompt', TEXT, { prompt: '' }],
    ['prompt', TEXT, { prompt: ['one', 'two'] }],
    ['prompt[1]', TEXT, { prompt: [1, -1] }],
    ['prompt[0]', TEXT, { prompt: [2 ** 32] }],
  ])('%s (%s %j)', async (param, path, fields) => {
    const { router, nothingHappened } = await open();
    const response = await router.post({ ...chat('Hello.'), prompt: 'Hello.', ...fields }, { path });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ param, type: 'invalid_request_error' });
    await nothingHappened();
  });

  it('but what engines take is theirs to refuse', async () => {
    const { router, worker } = await open();
    const bodies = [
      message({ content: undefined }),
      message({ content: ['Hello.'] }),
      message({ content: [{ type: 'image_url', image_url: null, uuid: 'a' }] }),
      message({ role: 'assistant', tool_calls: {} }),
      { tools: { any: 'JSON' } },
      { max_tokens: 0 },
    ].map((fields) => ({ ...chat('Hello.'), ...fields }));
    for (const body of bodies) expect((await router.post(body)).status).toBe(200);
    expect(worker.arrivals.map(({ body }) => body)).toEqual(JSON.parse(JSON.stringify(bodies)));
    await router.settled();
  });

  it('an unknown model', async () => {
    const { router, nothingHappened } = await open();
    const response = await router.post({ ...chat('Hello.'), model: 'gpt-\ud800' });
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatchObject({ param: 'model', code: 'model_not_found' });
    await nothingHappened();
  });

  it.each<[string, object, Record<string, string>]>([
    ['that begins with NUL', { user: '\0a' }, {}],
    ['of a lone surrogate', { prompt_cache_key: 'a\udfff' }, {}],
    ['of 10 kB', { user: 'x'.repeat(10_000) }, {}],
    ['of 10 kB in its header', {}, { 'x-session-id': 'x'.repeat(10_000) }],
  ])('a session %s', async (_, fields, headers) => {
    const { router, nothingHappened } = await open();
    const response = await router.post(chat('Hello.', fields), { headers });
    expect(response.status).toBe(400);
    await errorOf(response);
    await nothingHappened();
  });

  it('but any other name will do', async () => {
    const { router } = await open();
    const names = ['a\0b', '__proto__', ' ', '☃', '"};', 'x'.repeat(512)];
    for (const user of names) expect((await router.post(chat('Hello.', { user }))).status).toBe(200);
    await router.post(chat('Hello.'), { headers: { 'x-session-id': 'é' } });
    const { decisions } = await router.settled();
    expect(decisions.map(({ session }) => session)).toEqual([...names, 'é'].reverse());
    expect(router.stats().sessions).toBe(7);
  });
});

describe('a body of 10 MB', () => {
  it('is refused as too large, by its length', async () => {
    const { router, nothingHappened } = await open();
    const response = await router.post(chat('x'.repeat(10 * MB)));
    expect(response.status).toBe(413);
    expect(await errorOf(response)).toMatchObject({ code: 'request_too_large', message: /8388608/ });
    await nothingHappened();
  });

  it('is refused as too large when it comes without its length', async () => {
    const { router, nothingHappened } = await open();
    const pieces = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 160; i++) controller.enqueue(Buffer.alloc(MB / 16, 'x'));
        controller.close();
      },
    });
    const request: RequestInit & { duplex: 'half' } = { method: 'POST', body: pieces, duplex: 'half' };
    const response = await fetch(router.url + CHAT, request);
    expect(response.status).toBe(413);
    expect(await errorOf(response)).toMatchObject({ code: 'request_too_large' });
    await nothingHappened();
  });

  it('is an error of that status to the official client', async () => {
    const { router } = await open();
    const messages = [{ role: 'user' as const, content: 'x'.repeat(10 * MB) }];
    const asked = router.client.chat.completions.create({ model: 'm', messages });
    await expect(asked).rejects.toMatchObject({ status: 413, code: 'request_too_large' });
  });
});

it('a chat of several thousand messages is served', async () => {
  const { router, worker } = await open();
  const messages = Array.from({ length: 6000 }, (_, i) => ({
    role: i % 2 ? 'assistant' : 'user',
    content: `No. ${i}`,
  }));
  const response = await router.post({ model: 'm', messages });
  expect(response.status).toBe(200);
  expect(worker.arrivals[0]!.body).toEqual({ model: 'm', messages });
  const { totals } = await router.settled();
  expect(totals.promptTokens).toBeGreaterThan(6000 * 6);
});

it('a prompt of one long word is served', async () => {
  const { router } = await open();
  expect((await router.post(chat('x'.repeat(MB / 4)))).status).toBe(200);
  await router.settled();
});
