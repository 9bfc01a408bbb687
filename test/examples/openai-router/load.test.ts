import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { sheet } from '../../../examples/openai-router/fleet/sheet.js';
import { type Answer, modelOf, readStream, streamChat } from '../../../examples/openai-router/load/client.js';
import { measure } from '../../../examples/openai-router/load/measure.js';
import { type Report, reportText } from '../../../examples/openai-router/load/report.js';
import { AGENTIC, makeSessions } from '../../../examples/openai-router/load/sessions.js';
import { added, quantiles, Samples } from '../../../examples/openai-router/load/summary.js';
import { DemoTraffic } from '../../../examples/openai-router/load/traffic.js';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const delta = (part: object) => event({ choices: [{ index: 0, delta: part, finish_reason: null }] });
const USAGE = {
  choices: [],
  usage: { prompt_tokens: 100, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 96 } },
};
const WHOLE = [
  delta({ role: 'assistant', content: '' }),
  delta({ content: 'Hello' }),
  delta({ content: ' you' }),
];
const END = [event(USAGE), 'data: [DONE]\n\n'];

/** An engine: a model, and an answer to all that is asked. */
const engine: RequestListener = (request, response) => {
  if (request.url === '/v1/models') return void response.end('{"data": [{"id": "a-model"}]}');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end([...WHOLE, ...END].join(''));
};

describe('sessions', () => {
  const bodies = (prefix: string, seed: number) =>
    makeSessions(3, prefix, seed).map((session) => {
      const turns = [];
      for (; !session.isOver; session.answered(`answer ${session.turn}`)) turns.push(session.body('m'));
      return turns;
    });
  const lengths = (all: ReturnType<typeof bodies>) =>
    all.map((turns) => turns.map(({ messages }) => messages.map(({ content }) => content.split(' ').length)));

  test('grow turn by turn: each prompt extends the one before with its answer and something new', () => {
    for (const turns of bodies('a', 1)) {
      expect(turns).toHaveLength(AGENTIC.turns);
      for (const [i, { messages }] of turns.entries()) {
        expect(messages).toHaveLength(2 + 2 * i);
        if (i === 0) continue;
        expect(messages.slice(0, -2)).toEqual(turns[i - 1]!.messages);
        expect(messages.at(-2)).toEqual({ role: 'assistant', content: `answer ${i}` });
      }
    }
  });

  test('share their boilerplate and nothing else', () => {
    const [a, b] = [...bodies('a', 1), ...bodies('b', 2)].map(([first]) => first!);
    expect(a!.tools).toEqual(b!.tools);
    expect(a!.messages[0]).toEqual(b!.messages[0]);
    expect(a!.messages[1]).not.toEqual(b!.messages[1]);
  });

  test('are the same for the same seed, and of the same lengths for another prefix', () => {
    expect(bodies('a', 1)).toEqual(bodies('a', 1));
    expect(lengths(bodies('a', 1))).toEqual(lengths(bodies('b', 1)));
    expect(bodies('a', 1)).not.toEqual(bodies('b', 1));
    expect(lengths(bodies('a', 1))).not.toEqual(lengths(bodies('a', 2)));
  });

  test('have the lengths that are asked for, more or less', () => {
    const [session] = makeSessions(1, 'a', 1, {
      boilerplate: 1000,
      task: 100,
      turn: 50,
      turns: 2,
      answer: 8,
    });
    const { messages, tools, max_tokens } = session!.body('m');
    const words = `${messages[0]!.content} ${JSON.stringify(tools)}`.split(' ').length;
    expect(words).toBeGreaterThan(900);
    expect(words).toBeLessThan(1100);
    expect(max_tokens).toBe(8);
  });
});

describe('a stream', () => {
  test('is read to its text and its usage', () => {
    expect(readStream([': wait\n\n', ...WHOLE, ...END].join(''))).toEqual({
      text: 'Hello you',
      usage: { promptTokens: 100, cachedTokens: 96, completionTokens: 2 },
      failure: undefined,
    });
  });

  test.each([
    ['cut off', [], 'the stream was cut off'],
    ['cut off within an event', ['data: {"choi'], 'the stream was cut off'],
    ['ended by an error', [event({ error: { message: 'w0 died' } })], 'w0 died'],
    ['ended by something else', ['data: hello\n\n'], 'not JSON: hello'],
  ])('that is %s is told with the text that came', (_, end, failure) => {
    expect(readStream([...WHOLE, ...end].join(''))).toMatchObject({ text: 'Hello you', failure });
  });
});

describe('a request', () => {
  test('asks for a stream with usage, names its session, and tells what came with it', async () => {
    let asked: { body: Record<string, unknown>; session: unknown } | undefined;
    const url = await listen(async (request, response) => {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
      asked = { body, session: request.headers['x-session-id'] };
      response.writeHead(200, {
        'x-kvidx-worker': 'w1',
        'x-kvidx-request-id': 'r7',
        'x-kvidx-expected-tokens': '72',
      });
      response.end([...WHOLE, ...END].join(''));
    });
    const answer = await streamChat(url, { model: 'm' }, { session: 's' });
    expect(asked).toEqual({
      body: { model: 'm', stream: true, stream_options: { include_usage: true } },
      session: 's',
    });
    expect(answer).toMatchObject({ status: 200, worker: 'w1', requestId: 'r7', expectedTokens: 72 });
    expect(answer).toMatchObject({ text: 'Hello you', usage: { cachedTokens: 96 }, error: undefined });
    expect(answer.firstMs).toBeLessThanOrEqual(answer.totalMs);
  });

  test('that is refused tells the message of the error', async () => {
    const url = await listen((_, response) => {
      response.writeHead(503);
      response.end('{"error": {"message": "all are full"}}');
    });
    const answer = await streamChat(url, {});
    expect(answer).toMatchObject({ status: 503, text: '', error: '503: all are full', firstMs: undefined });
  });

  test('that nobody answers, and one whose connection breaks, tell so', async () => {
    const url = await listen((_, response) => {
      response.writeHead(200);
      response.write(WHOLE.join(''), () => response.destroy());
    });
    expect(await streamChat(url, {})).toMatchObject({
      status: 200,
      text: 'Hello you',
      error: expect.any(String),
    });
    expect(await streamChat('http://127.0.0.1:1', {})).toMatchObject({ status: undefined, error: /REFUSED/ });
  });

  test('ends with its signal, with what came before', async () => {
    const abort = new AbortController();
    const url = await listen((_, response) => {
      response.writeHead(200);
      response.write(WHOLE.join(''), () => abort.abort());
    });
    const answer = await streamChat(url, {}, { signal: abort.signal });
    expect(answer.error).toMatch('AbortError');
  });

  test('for a model says which server does not tell one', async () => {
    expect(await modelOf(await listen(engine))).toBe('a-model');
    const other = await listen((_, response) => void response.end('<html>'));
    await expect(modelOf(other)).rejects.toThrow(`${other}/v1/models does not tell a model`);
  });
});

describe('what was measured', () => {
  const answer = (firstMs: number, totalMs: number, error?: string): Answer => ({
    status: 200,
    worker: undefined,
    requestId: undefined,
    expectedTokens: undefined,
    text: '',
    usage: { promptTokens: 100, cachedTokens: 80, completionTokens: 11 },
    firstMs,
    totalMs,
    error,
  });
  const summary = (...answers: Answer[]) => {
    const samples = new Samples();
    for (const each of answers) samples.add(each);
    return samples.summary();
  };

  test('has quantiles by nearest rank', () => {
    expect(quantiles(Array.from({ length: 200 }, (_, i) => 200 - i))).toEqual({ median: 100, p99: 198 });
    expect(quantiles([5])).toEqual({ median: 5, p99: 5 });
    expect(quantiles([])).toEqual({ median: Number.NaN, p99: Number.NaN });
  });

  test('leaves out the times and the tokens of requests that failed', () => {
    expect(summary(answer(10, 110), answer(20, 120), answer(1, 2, 'w0 died'), answer(30, 130))).toEqual({
      requests: 4,
      failed: 1,
      promptTokens: 300,
      cachedTokens: 240,
      firstMs: { median: 20, p99: 30 },
      totalMs: { median: 120, p99: 130 },
      tokenMs: 10,
    });
  });

  const report = (failed: boolean, isSaturated: boolean): Report => {
    const [direct, router] = [
      summary(answer(10, 110)),
      summary(answer(12, 115), answer(1, 2, failed ? 'x' : undefined)),
    ];
    const machine = { cpu: 'A CPU', cores: 2, busy: 0.5, lateMs: 1, isSaturated };
    const counts = { streams: 32, rounds: 4, turns: 6, seed: 7 };
    const failures = failed ? ['through the router: w0 died'] : [];
    return { ...counts, direct, router, added: added(direct, router), failures, machine };
  };

  test('is told with what the router adds', () => {
    const text = reportText(report(true, false));
    expect(text).toMatch(/first byte of the text, median │ 10\.00 ms │ 12\.00 ms │ 2\.00 ms/);
    expect(text).toMatch(/end of the answer, p99 +│ 110\.0 ms │ 115\.0 ms │ 5\.00 ms/);
    expect(text).toContain('32 streams at once, turns of each: 6, rounds: 4, prompts of 100 tokens');
    expect(text).toContain('80.0 % direct, 80.0 % through the router');
    expect(text).not.toContain('saturated');
  });

  test('names failures, and a machine that had no time', () => {
    expect(reportText(report(true, true))).toContain('failed requests: 1\n  through the router: w0 died');
    expect(reportText(report(false, true))).toContain('The machine was saturated');
    expect(reportText(report(false, false))).not.toContain('failed requests');
  });
});

describe('measuring', () => {
  const few = { streams: 2, rounds: 2, turns: 2, seed: 1 };

  test('sends as much on one path as on the other, and does not count what warms up', async () => {
    const requests = { direct: 0, router: 0 };
    const counting = (path: 'direct' | 'router') =>
      listen((request, response) => {
        if (request.method === 'POST') requests[path] += 1;
        engine(request, response);
      });
    const [routerUrl, ...workerUrls] = await Promise.all(
      ['router', 'direct', 'direct'].map((path) => counting(path as 'direct')),
    );
    const { direct, router, failures } = await measure({ ...few, routerUrl: routerUrl!, workerUrls });
    expect(requests).toEqual({ direct: 12, router: 12 });
    expect([direct.requests, router.requests, direct.failed + router.failed]).toEqual([8, 8, 0]);
    expect(failures).toEqual([]);
  });

  test('goes on when a request fails, and tells why', async () => {
    let requests = 0;
    const routerUrl = await listen((request, response) => {
      if (request.method === 'POST' && ++requests === 6) return void response.writeHead(500).end('broken');
      engine(request, response);
    });
    const { router, failures } = await measure({ ...few, routerUrl, workerUrls: [await listen(engine)] });
    expect(router).toMatchObject({ failed: 1 });
    expect(failures).toEqual(['through the router: 500: broken']);
  });

  test('ends at once when already the first requests fail', async () => {
    const workerUrls = ['http://127.0.0.1:1'];
    const measured = measure({ ...few, routerUrl: await listen(engine), workerUrls });
    await expect(measured).rejects.toThrow(/failed while warming up\ndirect: .*REFUSED/);
  });
});

test('demo traffic ends when it is told to, whether it is answered or not', async () => {
  const traffic = ['http://127.0.0.1:1', await listen(() => {})].map((url) => new DemoTraffic(url, 'm'));
  await Promise.all(traffic.map((each) => each.stop()));
});

test('the sheet has lines for a shell, with JSON in them', () => {
  const workers = [{ name: 'w0', url: 'http://127.0.0.1:8081', isRunning: true }];
  const text = sheet({ routerUrl: 'http://127.0.0.1:8080', workers }, 'a-model');
  const lines = text.split('\n').filter((line) => line.startsWith('  curl '));
  const bodies = lines.map((line) => JSON.parse(/'(\{.*\})'$/.exec(line)![1]!));
  expect(bodies.map(({ model, stream, mode }) => [model, stream, mode])).toEqual([
    ['a-model', undefined, undefined],
    ['a-model', true, undefined],
    ['a-model', undefined, undefined],
    [undefined, undefined, 'slow'],
  ]);
});
