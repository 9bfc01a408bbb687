import { describe, expect, it } from 'vitest';
import { type Completion, chunksOf, type Message, MODEL, user, WorkerClient } from './worker-client.js';

const SYSTEM: Message = { role: 'system', content: 'You are a terse assistant. '.repeat(20) };

describe('a chat', () => {
  it('streams a role, tokens, a reason and what it used', async () => {
    const worker = await WorkerClient.start();
    const response = await worker.chat([user('Hello.')], {
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 5,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const chunks = chunksOf(await response.text());
    const choices = chunks.slice(0, -1).map(({ choices: [choice, ...more] }) => {
      expect(more).toEqual([]);
      return choice!;
    });
    expect(choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
    expect(choices.map(({ finish_reason }) => finish_reason)).toEqual([
      null,
      null,
      null,
      null,
      null,
      'length',
    ]);
    expect(new Set(chunks.map(({ id, object }) => `${object} ${id}`)).size).toBe(1);
    expect(chunks[0]).toMatchObject({ object: 'chat.completion.chunk', model: MODEL });
    const { promptTokens } = await worker.held([user('Hello.')]);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: 5,
        total_tokens: promptTokens + 5,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    });
  });

  it('tells what it used only where it is asked to', async () => {
    const worker = await WorkerClient.start();
    const chunks = chunksOf(await (await worker.chat([user('Hello.')], { stream: true })).text());
    expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true);
  });

  it('gets the same answer in one piece, and another one to another prompt', async () => {
    const worker = await WorkerClient.start();
    const whole = await worker.complete([user('Hello.')]);
    const streamed = await worker.chat([user('Hello.')], { stream: true });
    const pieces = chunksOf(await streamed.text()).map(({ choices }) => choices[0]!.delta!.content);
    const { message, finish_reason } = whole.choices[0]!;
    expect(message).toEqual({ role: 'assistant', content: pieces.join('') });
    expect(message!.content).toMatch(/^\w+( \w+){31}$/);
    expect(finish_reason).toBe('stop');
    expect(whole).toMatchObject({ object: 'chat.completion', usage: { completion_tokens: 32 } });
    const other = await worker.complete([user('Hello!')]);
    expect(other.choices[0]!.message!.content).not.toBe(message!.content);
  });

  it.each([{}, { max_tokens: 23 }])(
    'finds all full blocks of the turn before, its answer too: %j',
    async (more) => {
      const worker = await WorkerClient.start();
      const history: Message[] = [SYSTEM];
      let before = 0;
      for (let turn = 0; turn < 5; turn++) {
        history.push(user(`Question ${turn}: what is next?`));
        const { choices, usage } = await worker.complete(history, more);
        const { cached_tokens } = usage!.prompt_tokens_details;
        expect(cached_tokens).toBe(before - (before % 4));
        history.push(choices[0]!.message!);
        // Of an answer that was cut off the last token was never an input.
        before =
          usage!.prompt_tokens + usage!.completion_tokens - (choices[0]!.finish_reason === 'length' ? 1 : 0);
        expect((await worker.held(history)).heldTokens).toBe(before - (before % 4));
      }
      expect(await worker.state()).toMatchObject({ served: 5, running: 0, waiting: 0 });
    },
  );

  it('shares what it begins with, but not under another salt', async () => {
    const worker = await WorkerClient.start();
    await worker.complete([SYSTEM, user('One.')]);
    const { heldTokens } = await worker.held([SYSTEM, user('Two.')]);
    expect(heldTokens).toBeGreaterThan(100);
    const salted = { cache_salt: 'mine' };
    expect((await worker.held([SYSTEM, user('Two.')], salted)).heldTokens).toBe(0);
    expect((await worker.complete([SYSTEM, user('One.')], salted)).usage).toMatchObject({
      prompt_tokens_details: { cached_tokens: 0 },
    });
  });

  it('is answered beside others, whose prompts are prefilled one after the other', async () => {
    const worker = await WorkerClient.start({ prefillTokensPerS: 20_000 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => worker.complete([SYSTEM, user(`Question ${i}`)])),
    );
    // Whoever's turn came first had nothing to find, all others the beginning.
    const cached = answers
      .map(({ usage }) => usage!.prompt_tokens_details.cached_tokens)
      .toSorted((a, b) => a - b);
    expect(cached[0]).toBe(0);
    expect(cached[1]).toBeGreaterThan(100);
    const { served, cachedTokens, promptTokens } = await worker.state();
    expect([served, cachedTokens]).toEqual([20, cached.reduce((sum, tokens) => sum + tokens)]);
    expect(promptTokens).toBe(answers.reduce((sum, { usage }) => sum + usage!.prompt_tokens, 0));
  });

  it('goes to a worker with room', async () => {
    const worker = await WorkerClient.start({ maxRunning: 2 });
    await worker.mode('stall');
    const gone = new AbortController();
    const stalled = [1, 2].map((i) => worker.chat([user(`${i}`)], {}, gone.signal).catch(() => {}));
    await worker.until({ running: 2 });
    await worker.mode('ok');
    const refused = await worker.chat([user('3')]);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ error: { type: 'server_error', code: 'overloaded' } });
    gone.abort();
    await Promise.all(stalled);
    await worker.until({ running: 0 });
    await worker.complete([user('3')]);
  });
});

describe('a text', () => {
  const complete = async (worker: WorkerClient, prompt: unknown, more: object = {}): Promise<Completion> => {
    const response = await worker.post('/v1/completions', { model: MODEL, prompt, ...more });
    expect(response.status).toBe(200);
    return (await response.json()) as Completion;
  };

  it('goes on behind a space, so that what follows it finds it', async () => {
    const worker = await WorkerClient.start();
    const prompt = 'Once upon a time there was a router';
    const { object, choices, usage } = await complete(worker, prompt);
    expect(object).toBe('text_completion');
    expect(choices[0]!.text).toMatch(/^( \w+){32}$/);
    const next = await complete(worker, `${prompt}${choices[0]!.text} and so on`);
    const known = usage!.prompt_tokens + usage!.completion_tokens;
    expect(next.usage!.prompt_tokens_details.cached_tokens).toBe(known - (known % 4));
  });

  it('may be token ids', async () => {
    const worker = await WorkerClient.start();
    const ids = Array.from({ length: 42 }, (_, i) => 7 * i);
    expect((await complete(worker, ids, { max_tokens: 1 })).usage).toMatchObject({ prompt_tokens: 42 });
    const held = await worker.post('/fake/held?kind=text', { model: MODEL, prompt: [...ids, 1, 2, 3] });
    expect(await held.json()).toEqual({ promptTokens: 45, heldTokens: 40 });
  });

  it('streams', async () => {
    const worker = await WorkerClient.start();
    const body = { model: MODEL, prompt: 'Once', stream: true, max_tokens: 3 };
    const chunks = chunksOf(await (await worker.post('/v1/completions', body)).text());
    expect(chunks.map(({ object }) => object)).toEqual(Array(3).fill('text_completion'));
    expect(chunks.map(({ choices }) => choices[0]!.finish_reason)).toEqual([null, null, 'length']);
  });
});

describe('the cache', () => {
  it('is bounded: what was used longest ago goes', async () => {
    const worker = await WorkerClient.start({ capacity: 100 });
    const prompts = Array.from({ length: 6 }, (_, i) => [user(`${i} ${'word '.repeat(100)}`)]);
    for (const messages of prompts) await worker.complete(messages);
    const held = await Promise.all(prompts.map((messages) => worker.held(messages)));
    expect(held[0]!.heldTokens).toBeLessThan(20); // what all begin with
    expect(held.at(-1)!.heldTokens).toBeGreaterThan(100);
    expect((await worker.state()).blocks).toBe(100);
  });

  it('is not changed by who asks what it holds', async () => {
    const worker = await WorkerClient.start();
    await worker.complete([user('Hello.')]);
    const before = await worker.state();
    const held = await worker.held([SYSTEM, user('Hello.')]);
    expect(await worker.held([SYSTEM, user('Hello.')])).toEqual(held);
    expect(await worker.state()).toEqual(before);
  });
});

it('tells what it serves, and that it is well', async () => {
  const { worker } = await WorkerClient.start();
  expect((await fetch(`${worker.url}/health`)).status).toBe(200);
  expect(await (await fetch(`${worker.url}/v1/models`)).json()).toMatchObject({
    object: 'list',
    data: [{ id: MODEL, object: 'model', parent: null }],
  });
});
