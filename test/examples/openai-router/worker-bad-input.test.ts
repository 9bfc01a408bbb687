import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MODEL, user, WorkerClient } from './worker-client.js';

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: unknown;
    readonly code: unknown;
  };
}

async function errorOf(response: Response): Promise<ErrorBody['error'] & { status: number }> {
  const { error, ...more } = (await response.json()) as ErrorBody;
  expect(more).toEqual({});
  expect(error.message).toMatch(/\S/);
  return { status: response.status, ...error };
}

describe('a request that cannot be served is refused as OpenAI would, and changes nothing:', () => {
  const CHAT = '/v1/chat/completions';
  it.each<[string, string, unknown, object]>([
    ['not JSON', CHAT, '{"model":', { status: 400, type: 'invalid_request_error' }],
    ['nothing', CHAT, '', { status: 400 }],
    ['no object', CHAT, '[1]', { status: 400 }],
    ['no messages', CHAT, { model: MODEL }, { status: 400, param: 'messages' }],
    [
      'another model',
      CHAT,
      { model: 'gpt-5', messages: [user('Hello.')] },
      { status: 404, code: 'model_not_found', param: 'model' },
    ],
    [
      'an answer beyond the context',
      CHAT,
      { model: MODEL, messages: [user('Hello.')], max_tokens: 1e9 },
      { status: 400, param: 'messages' },
    ],
    [
      'an answer of no tokens',
      CHAT,
      { model: MODEL, messages: [user('Hello.')], max_tokens: 0 },
      { status: 400, param: 'max_tokens' },
    ],
    ['a body of 33 MB', CHAT, `"${'x'.repeat(33 * 2 ** 20)}"`, { status: 413, code: 'request_too_large' }],
    ['no prompt', '/v1/completions', { model: MODEL }, { status: 400, param: 'prompt' }],
    ['an unknown path', '/v1/embeddings', {}, { status: 404, type: 'invalid_request_error' }],
    ['an unknown mode', '/fake/mode', { mode: 'toString' }, { status: 400, param: 'mode' }],
    ['no mode', '/fake/mode', 'null', { status: 400, param: 'mode' }],
    ['a wrong count', '/fake/mode', { mode: 'full', after: -1 }, { status: 400, param: 'after' }],
    ['nothing to hold', '/fake/held', {}, { status: 400, param: 'model' }],
  ])('%s', async (_, path, body, expected) => {
    const worker = await WorkerClient.start();
    const before = await worker.state();
    expect(await errorOf(await worker.post(path, body))).toMatchObject(expected);
    expect(await worker.state()).toEqual(before);
  });

  it('a body of another type', async () => {
    const { worker } = await WorkerClient.start();
    const response = await fetch(`${worker.url}${CHAT}`, { method: 'POST', body: 'model=x' });
    expect(await errorOf(response)).toMatchObject({ status: 400, type: 'invalid_request_error' });
  });

  it('a path that is no path', async () => {
    const { worker } = await WorkerClient.start();
    expect(await errorOf(await fetch(`${worker.url}/%zz`))).toMatchObject({ status: 400 });
  });
});

it('a client that leaves while its prompt is tokenised does not count, and others are served meanwhile', async () => {
  const client = await WorkerClient.start();
  const logged = vi.spyOn(process.stderr, 'write');
  onTestFinished(() => logged.mockRestore());
  const leaves = new AbortController();
  const gone = client.chat([user('a long text '.repeat(300_000))], {}, leaves.signal);
  await client.complete([user('Hello.')]);
  const before = await client.state();
  leaves.abort();
  await expect(gone).rejects.toThrow(/abort/);
  expect(await client.held([user('Hello.')])).toMatchObject({ promptTokens: expect.any(Number) });
  expect(await client.state()).toEqual(before);
  expect(logged).not.toHaveBeenCalled();
});

it('a request that breaks off does not count', async () => {
  const client = await WorkerClient.start();
  const { port, hostname } = new URL(client.worker.url);
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
      socket.end(`${head}Content-Length: 1000\r\n\r\n{"model":`);
    });
    socket.resume().on('close', () => resolve());
  });
  expect(await client.state()).toMatchObject({ running: 0, waiting: 0, promptTokens: 0 });
});

it.each([
  { port: 70_000 },
  { tokenizer: 'package.json' },
  { tokenizer: 'no-such-file' },
  { eventsPort: 0, host: 'no.such.host.invalid' },
])('a worker that cannot start says why: %j', async (options) => {
  await expect(WorkerClient.start(options)).rejects.toThrow(/\S/);
});
