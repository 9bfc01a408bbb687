import { describe, expect, it } from 'vitest';
import { chat, errorOf, openRouter, stubWorker, stubWorkers, until } from './router-support.js';
import { begun, DONE, event, refusing } from './stub-worker.js';

const LONG = 'word '.repeat(100);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const POLICY = 'kv-aware:overlap=exclusive';

/** Of an answer, once it has come to its end. */
async function expectedTokens(response: Response): Promise<number> {
  await response.text();
  return Number(response.headers.get('x-kvidx-expected-tokens'));
}

describe('a router', () => {
  it('answers as a worker did, and says which, and what it expected there', async () => {
    const [worker] = await stubWorkers(undefined);
    const router = await openRouter([worker!]);
    const body = chat('Hello.', { temperature: 0.5, unheard_of: { a: [1] } });
    const response = await router.post(body, {
      headers: { authorization: 'Bearer é', 'x-request-id': 'mine', 'x-session-id': 's', cookie: 'secret' },
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hello world' } }] });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-kvidx-worker': 'w0',
      'x-kvidx-request-id': expect.stringMatching(UUID),
      'x-kvidx-expected-tokens': '0',
    });
    const { path, body: sent, headers } = worker!.arrivals[0]!;
    expect([path, sent]).toEqual(['/v1/chat/completions', body]);
    expect(headers).toMatchObject({ authorization: 'Bearer é', 'x-request-id': 'mine' });
    expect(headers).not.toHaveProperty('cookie');
    expect(headers).not.toHaveProperty('x-session-id');
    const { decisions, totals } = await router.settled();
    expect(decisions).toMatchObject([
      { session: 's', worker: 'w0', attempts: 1, outcome: 'finished', cachedTokens: 3 },
    ]);
    expect(decisions[0]).not.toHaveProperty('firstTokenMs'); // it came with all others
    expect(totals).toMatchObject({ requests: 1, finished: 1, toldPromptTokens: 10, toldCachedTokens: 3 });
  });

  it('names requests as no other router does, and each attempt anew', async () => {
    const workers = await stubWorkers(refusing(500), undefined);
    const routers = [await openRouter(workers), await openRouter(workers)];
    for (const router of routers) {
      const response = await router.post(chat('Hello.'));
      const { headers } = workers[1]!.arrivals.at(-1)!;
      expect(response.headers.get('x-kvidx-request-id')).toBe(headers['x-request-id']);
    }
    const ids = workers.flatMap(({ arrivals }) => arrivals).map(({ headers }) => headers['x-request-id']);
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(4);
    for (const router of routers) await router.settled();
  });

  it('streams each piece as it comes', async () => {
    const [worker] = await stubWorkers((arrival) => begun(arrival, event('a')));
    const router = await openRouter([worker!]);
    const stream = await router.client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hello.' }],
      stream: true,
    });
    const contents: unknown[] = [];
    for await (const { choices } of stream) {
      contents.push(choices[0]!.delta.content);
      if (contents.length === 1) worker!.arrivals[0]!.response.end(event('b') + event('c') + DONE);
    }
    expect(contents).toEqual(['a', 'b', 'c']);
    await router.settled();
  });

  it('routes texts and token ids, too', async () => {
    const [worker] = await stubWorkers(undefined);
    const router = await openRouter([worker!]);
    const path = '/v1/completions';
    for (const prompt of [LONG, [1, 2, 3, 4, 5]]) {
      expect((await router.post({ model: 'm', prompt }, { path })).status).toBe(200);
    }
    expect(worker!.arrivals.map((arrival) => arrival.path)).toEqual([path, path]);
    const { decisions } = await router.settled();
    expect(decisions.map(({ promptTokens }) => promptTokens)).toEqual([5, expect.any(Number)]);
  });

  it('lists what its workers serve, tells its health, and shows its page', async () => {
    const [worker] = await stubWorkers(undefined);
    const router = await openRouter([worker!], { healthEveryMs: 10 });
    expect(await router.client.models.retrieve('m')).toMatchObject({ id: 'm', object: 'model' });
    await expect(router.client.models.retrieve('other')).rejects.toMatchObject({ code: 'model_not_found' });
    const { data } = await router.client.models.list();
    expect(data.map(({ id }) => id)).toEqual(['m']);
    const health = () => fetch(`${router.url}/health`);
    expect((await health()).status).toBe(200);
    const page = await fetch(router.url);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(await page.text()).toContain('<title>');
    await worker!.stop();
    await until('it is ill', async () => (await health()).status === 503);
  });

  it('cuts off what is under way when it is closed, and ends', async () => {
    const workers = await stubWorkers(
      () => {},
      (arrival) => begun(arrival, event('a')),
    );
    const router = await openRouter(workers);
    const waiting = router.post(chat('Hello.'));
    const streaming = await router.post(chat('Hello.', { stream: true }));
    await router.close();
    const refused = await waiting;
    expect(refused.status).toBe(503);
    expect(await errorOf(refused)).toMatchObject({ type: 'server_error', code: 'shutting_down' });
    const text = await streaming.text();
    expect(text.startsWith(`${event('a')}data: {"error":`)).toBe(true);
    expect(text).toContain('"code":"shutting_down"');
    await Promise.all(workers.map(({ arrivals }) => arrivals[0]!.closed));
    expect(router.stats().requests).toBe(0);
  });
});

describe('a session', () => {
  it.each([
    ['its header', { 'x-session-id': 'header' }, { prompt_cache_key: 'key', user: 'user' }, 'header'],
    [
      'its key, where the header is empty',
      { 'x-session-id': '' },
      { prompt_cache_key: 'key', user: 'u' },
      'key',
    ],
    ['its user, where there is no key', {}, { prompt_cache_key: '', user: 'user' }, 'user'],
    ['nothing', {}, {}, undefined],
  ])('is named by %s', async (_, headers, fields, session) => {
    const router = await openRouter(await stubWorkers(undefined));
    await router.post(chat('Hello.', fields), { headers: headers as Record<string, string> });
    expect((await router.settled()).decisions[0]!.session).toBe(session);
    expect(router.stats().sessions).toBe(session === undefined ? 0 : 1);
  });

  it('goes back to its worker with its longer prompt, which is expected there', async () => {
    const router = await openRouter(await stubWorkers(undefined, undefined, undefined), { policy: POLICY });
    const homes = new Map<string, string | null>();
    const messages = new Map<string, object[]>();
    for (let turn = 0; turn < 3; turn++) {
      for (const session of ['a', 'b', 'c']) {
        const history = [
          ...(messages.get(session) ?? []),
          { role: 'user', content: `${session}${turn} ${LONG}` },
        ];
        messages.set(session, [...history, { role: 'assistant', content: 'Hello world' }]);
        const response = await router.post(
          { model: 'm', messages: history },
          { headers: { 'x-session-id': session } },
        );
        const worker = response.headers.get('x-kvidx-worker');
        if (turn > 0) expect(worker).toBe(homes.get(session));
        homes.set(session, worker);
        expect(await expectedTokens(response)).toBeGreaterThanOrEqual(100 * turn);
      }
    }
    expect(new Set(homes.values()).size).toBe(3);
    await router.settled();
  });
});

describe('prompts are kept apart', () => {
  it('by adapter and by salt, and found again under the same', async () => {
    const models = [{ id: 'm', parent: null }, { id: 'adapter', parent: 'm' }, { id: 'alias' }];
    const router = await openRouter([await stubWorker({ models })]);
    const expected = async (model: string, more: object = {}) =>
      expectedTokens(await router.post({ ...chat(LONG, more), model }));
    expect(await expected('m')).toBe(0);
    const all = await expected('m');
    expect(all).toBeGreaterThanOrEqual(100);
    expect(await expected('alias')).toBe(all); // another name of the same model
    for (const [model, more] of [
      ['adapter', {}],
      ['m', { cache_salt: 'x' }],
      ['m', { cache_salt: 'y' }],
      ['adapter', { cache_salt: 'x' }],
    ] as const) {
      expect(await expected(model, more)).toBe(0);
      expect(await expected(model, more)).toBe(all);
    }
    await router.settled();
  });

  it('by worker, where these serve different models', async () => {
    const workers = await Promise.all(
      [['a'], ['b'], ['a', 'b']].map((ids) => stubWorker({ models: ids.map((id) => ({ id })) })),
    );
    const router = await openRouter(workers);
    const served = async (model: string) => {
      const response = await router.post({ ...chat('Hello.'), model });
      return response.headers.get('x-kvidx-worker');
    };
    const worked = { a: new Set<unknown>(), b: new Set<unknown>() };
    for (let i = 0; i < 12; i++) {
      worked.a.add(await served('a'));
      worked.b.add(await served('b'));
    }
    expect([worked.a, worked.b]).toEqual([new Set(['w0', 'w2']), new Set(['w1', 'w2'])]);
    const { totals, models, decisions } = await router.settled();
    expect(models).toEqual(['a', 'b']);
    expect(totals).toMatchObject({ requests: 24, finished: 24, retries: 0 });
    expect(decisions.every(({ attempts }) => attempts === 1)).toBe(true);
  });
});

interface Told {
  readonly tokens: number;
  readonly explanation: { readonly candidates: readonly unknown[] };
}

/** Without what changes by itself: the present, and work, which is worth less as time goes by. */
function timeless(value: object): unknown {
  return JSON.parse(JSON.stringify(value, (key, field) => (key === 'nowAt' || key === 'work' ? 0 : field)));
}

describe('/debug/route', () => {
  it('tells where a request would go, and changes nothing', async () => {
    const workers = await stubWorkers(undefined, undefined);
    const router = await openRouter(workers, { policy: POLICY });
    const body = chat(LONG, { user: 'a' });
    const first = await router.post(body);
    await first.text();
    const before = [router.stats(), await router.state()];
    for (let i = 0; i < 3; i++) {
      const told = (await (await router.post(body, { path: '/debug/route' })).json()) as Told;
      expect(told).toMatchObject({
        session: 'a',
        blocks: Math.floor(told.tokens / 4),
        withoutModel: [],
        explanation: { worker: first.headers.get('x-kvidx-worker') },
        index: { reason: 'hit' },
      });
      expect(told.explanation.candidates).toHaveLength(2);
    }
    const after = [router.stats(), await router.state()];
    expect(after.map(timeless)).toEqual(before.map(timeless));
    expect(workers.flatMap(({ arrivals }) => arrivals)).toHaveLength(1);
  });

  it('takes texts as well', async () => {
    const router = await openRouter(await stubWorkers(undefined));
    const response = await router.post(
      { model: 'm', prompt: [1, 2, 3, 4, 5] },
      { path: '/debug/route?kind=text' },
    );
    expect(await response.json()).toMatchObject({ tokens: 5, blocks: 1 });
  });

  it('names the workers that do not serve the model', async () => {
    const workers = [await stubWorker(), await stubWorker({ models: [{ id: 'other' }] })];
    const router = await openRouter(workers);
    const response = await router.post(chat('Hello.'), { path: '/debug/route' });
    expect(await response.json()).toMatchObject({ withoutModel: ['w1'] });
  });
});
