import { APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import { chat, errorOf, openRouter, stubWorkers, type TestedRouter, until } from './router-support.js';
import { type AnswerOf, begun, DONE, event, refusing, type StubWorker } from './stub-worker.js';

const dies: AnswerOf = ({ response }) => response.destroy();
const stalls: AnswerOf = () => {};
const beginsAnd = (end: 'destroy' | 'end', text: string): AnswerOf => {
  return async (arrival) => {
    await begun(arrival, text);
    arrival.response[end]();
  };
};
const halfOfOnePiece: AnswerOf = ({ response }) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
  response.write('{"choices":[', () => response.destroy());
};

/** As an engine tells an error when its headers are gone. */
function failed(code: number): string {
  return `data: ${JSON.stringify({ error: { message: `no: ${code}`, type: 't', param: null, code } })}\n\n`;
}

const FULL = { status: 503, code: 'overloaded' };
const FAILED = { status: 502, code: 'upstream_error' };
const LATE = { status: 504, code: 'upstream_timeout' };

/** What a worker does before anything was answered, and what the client is told when all do so. */
const EARLY: readonly [string, AnswerOf, { readonly status: number; readonly code: string }][] = [
  ['answers 503', refusing(503, { 'retry-after': '7' }), FULL],
  ['answers 429', refusing(429), FULL],
  ['answers 500', refusing(500), FAILED],
  ['is silent', stalls, LATE],
  ['is silent behind its headers', (arrival) => begun(arrival, ''), LATE],
  ['dies', dies, FAILED],
  ['dies behind its headers', beginsAnd('destroy', ''), FAILED],
  ['dies within its first event', beginsAnd('destroy', 'data: {"half'), FAILED],
  ['ends before its first event', beginsAnd('end', ''), FAILED],
  ['dies in the middle of an answer in one piece', halfOfOnePiece, FAILED],
  ['fails in the first event of its stream', beginsAnd('end', failed(500) + DONE), FAILED],
  ['is full in the first event of its stream', beginsAnd('end', failed(503) + DONE), FULL],
  ['fails behind comments', beginsAnd('end', `: ping\n\n: ping\n\n${failed(500)}`), FAILED],
  ['dies behind comments', beginsAnd('destroy', ': ping\n\n'), FAILED],
  ['is silent behind comments', (arrival) => begun(arrival, ': ping\n\n'), LATE],
];

const counts = (workers: readonly StubWorker[]) => workers.map(({ arrivals }) => arrivals.length);

describe('a worker that fails before it answered', () => {
  it.each(EARLY)('is replaced by another one: it %s', async (_, answer, told) => {
    const workers = await stubWorkers(answer, undefined);
    const router = await openRouter(workers, told === LATE ? { firstByteMs: 400, answerMs: 400 } : {});
    for (const stream of [true, false]) {
      const response = await router.post(chat('Hello.', { stream }));
      expect(response.status).toBe(200);
      expect(response.headers.get('x-kvidx-worker')).toBe('w1');
      expect(await response.text()).toContain('Hello');
    }
    const { totals, decisions } = await router.settled();
    expect(totals).toMatchObject({ requests: 2, finished: 2, failed: 0 });
    expect(decisions.at(-1)).toMatchObject({ worker: 'w1', attempts: 2, outcome: 'finished' });
    expect(workers[1]!.arrivals).toHaveLength(2);
  });

  it.each(EARLY)(
    'is tried once, as every other one, and the client is told: all %s',
    async (_, answer, told) => {
      const workers = await stubWorkers(answer, answer, answer);
      const router = await openRouter(workers, told === LATE ? { firstByteMs: 50 } : {});
      const response = await router.post(chat('Hello.', { stream: true }));
      expect(response.status).toBe(told.status);
      const { code, message } = await errorOf(response);
      expect([code, message]).toEqual([told.code, expect.stringMatching(/^Worker w2 .*\.$/)]);
      expect(counts(workers)).toEqual([1, 1, 1]);
      const { totals, decisions } = await router.settled();
      expect(totals).toMatchObject({ requests: 1, failed: 1, retries: 2 });
      expect(decisions).toMatchObject([{ attempts: 3, outcome: 'failed', error: message }]);
    },
  );

  it('is replaced so many times at most: a request that kills engines does not get to all', async () => {
    for (const [maxAttempts, attempts] of [
      [undefined, 3],
      [1, 1],
      [9, 5],
    ] as const) {
      const workers = await stubWorkers(dies, dies, dies, dies, dies);
      const router = await openRouter(workers, maxAttempts && { maxAttempts });
      expect((await router.post(chat('Hello.'))).status).toBe(502);
      expect(counts(workers).reduce((sum, count) => sum + count)).toBe(attempts);
      const { totals, decisions } = await router.settled();
      expect(totals).toMatchObject({ failed: 1, retries: attempts - 1 });
      expect(decisions).toMatchObject([{ attempts, outcome: 'failed' }]);
    }
  });

  it('is not replaced where a whole answer did not come in time: it would take another one as long', async () => {
    const workers = await stubWorkers(stalls, stalls);
    const router = await openRouter(workers, { answerMs: 50 });
    const response = await router.post(chat('Hello.'));
    expect(response.status).toBe(504);
    expect(await errorOf(response)).toMatchObject({ code: 'upstream_timeout' });
    await workers[0]!.arrivals[0]!.closed;
    expect(counts(workers)).toEqual([1, 0]);
    expect((await router.settled()).totals).toMatchObject({ failed: 1, retries: 0 });
  });

  it('says when to come again, where all are full', async () => {
    for (const [headers, seconds] of [
      [{ 'retry-after': '7' }, '7'],
      [{}, '1'],
    ] as const) {
      const router = await openRouter(await stubWorkers(refusing(503, headers)));
      const response = await router.post(chat('Hello.'));
      expect(response.headers.get('retry-after')).toBe(seconds);
      await router.settled();
    }
  });

  it('refuses connections, and gets nothing more', async () => {
    const workers = await stubWorkers(undefined, undefined);
    const router = await openRouter(workers);
    await workers[0]!.stop();
    for (let i = 0; i < 4; i++) {
      const response = await router.post(chat('Hello.'));
      expect([response.status, response.headers.get('x-kvidx-worker')]).toEqual([200, 'w1']);
    }
    const { totals, workers: told } = await router.settled();
    expect(totals).toMatchObject({ finished: 4, retries: 1 });
    expect(told[0]).toMatchObject({ status: 'down', reason: 'refuses connections' });
    await workers[1]!.stop();
    expect((await router.post(chat('Hello.'))).status).toBe(502);
    await until('it is down', async () => (await router.state()).workers[1]!.status === 'down');
    for (const path of ['/v1/chat/completions', '/debug/route']) {
      const response = await router.post(chat('Hello.'), { path });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await errorOf(response)).toMatchObject({ code: 'overloaded' });
    }
    await router.settled();
  });

  it('is not replaced where the first event of its stream blames the request', async () => {
    const workers = await stubWorkers(beginsAnd('end', failed(400) + DONE), undefined);
    const router = await openRouter(workers);
    const response = await router.post(chat('Hello.', { stream: true }));
    expect(await response.text()).toBe(failed(400) + DONE);
    expect(counts(workers)).toEqual([1, 0]);
    expect((await router.settled()).totals).toMatchObject({ failed: 1, retries: 0 });
  });

  it.each([400, 401, 404, 422])('is not replaced where the request is at fault: %i', async (status) => {
    const workers = await stubWorkers(refusing(status), undefined);
    const router = await openRouter(workers);
    const response = await router.post(chat('Hello.', { stream: true }));
    expect(response.status).toBe(status);
    expect(await errorOf(response)).toMatchObject({ message: `no: ${status}` });
    expect(counts(workers)).toEqual([1, 0]);
    expect((await router.settled()).decisions).toMatchObject([
      { outcome: 'failed', error: `answered ${status}` },
    ]);
    // What was not computed keeps no others away.
    expect(router.stats().workers).toMatchObject([{ work: 0 }, { work: 0 }]);
  });
});

describe('a worker that fails in the middle of a stream', () => {
  const read = async (router: TestedRouter) => {
    const stream = await router.client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hello.' }],
      stream: true,
    });
    const contents: unknown[] = [];
    try {
      for await (const { choices } of stream) contents.push(choices[0]!.delta.content);
    } catch (error) {
      return { contents, error };
    }
    return { contents, error: undefined };
  };

  it.each<[string, AnswerOf, string]>([
    ['is silent', (arrival) => begun(arrival, event('a')), 'upstream_timeout'],
    ['dies', beginsAnd('destroy', event('a')), 'upstream_error'],
    ['dies within an event', beginsAnd('destroy', `${event('a')}data: {"half`), 'upstream_error'],
    ['ends without [DONE]', beginsAnd('end', event('a')), 'upstream_error'],
    ['ends within an event', beginsAnd('end', `${event('a')}data: {"half`), 'upstream_error'],
  ])('is an error to the official client, and nothing is tried again: it %s', async (_, answer, code) => {
    const workers = await stubWorkers(answer, undefined);
    const router = await openRouter(workers, code === LATE.code ? { idleMs: 50 } : {});
    const { contents, error } = await read(router);
    expect(contents).toEqual(['a']);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ code, type: 'server_error', error: { message: /^Worker w0 .*\.$/ } });
    expect(counts(workers)).toEqual([1, 0]);
    const { totals, decisions } = await router.settled();
    expect(totals).toMatchObject({ failed: 1, retries: 0 });
    expect(decisions).toMatchObject([{ outcome: 'failed', attempts: 1, error: /^Worker w0/ }]);
    expect(router.stats().ignoredHooks).toEqual({ unknown: 0, repeated: 0, outOfOrder: 0 });
  });

  it.each<[string, string]>([
    ['and ends as if nothing were', DONE],
    ['and ends at once', ''],
  ])('may tell it itself, %s: that is forwarded, and its request has failed', async (_, end) => {
    const workers = await stubWorkers((arrival) => begun(arrival, event('a')), undefined);
    const router = await openRouter(workers);
    const response = await router.post(chat('Hello.', { stream: true }));
    workers[0]!.arrivals[0]!.response.end(failed(500) + end);
    expect(await response.text()).toBe(event('a') + failed(500) + end);
    const { totals, decisions } = await router.settled();
    expect(totals).toMatchObject({ failed: 1, finished: 0, abandoned: 0, retries: 0 });
    expect(decisions).toMatchObject([{ outcome: 'failed', error: 'answered with an error: no: 500' }]);
    expect(router.stats()).toMatchObject({ errors: 1, finished: 0 });
  });

  it('and whose client leaves at the error that it told has failed', async () => {
    const workers = await stubWorkers((arrival) => begun(arrival, event('a')));
    const router = await openRouter(workers);
    const reading = read(router);
    await until('it is there', () => workers[0]!.arrivals.length === 1);
    const { response, closed } = workers[0]!.arrivals[0]!;
    await until('it is answered', () => router.stats().workers[0]!.ongoingDecodeTokens > 0);
    response.write(failed(500)); // and nothing more
    expect((await reading).error).toMatchObject({ message: 'no: 500' });
    await closed;
    expect((await router.settled()).totals).toMatchObject({ failed: 1, abandoned: 0 });
  });

  it('ends its text with an event of the error, whatever ended the lines before', async () => {
    const text = event('a').replaceAll('\n', '\r\n');
    const router = await openRouter(await stubWorkers(beginsAnd('destroy', `${text}data: {"half`)));
    const given = await (await router.post(chat('Hello.', { stream: true }))).text();
    expect(given.startsWith(text)).toBe(true);
    expect(given.slice(text.length)).toMatch(/^data: \{"error":\{"message":"Worker w0 [^\n]*\}\n\n$/);
    await router.settled();
  });
});
