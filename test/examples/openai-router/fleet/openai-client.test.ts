import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DecisionTold } from '../../../../examples/openai-router/router/state.js';
import { officialClient } from './official-client.js';
import { QuietFleet } from './quiet-fleet.js';

const MODEL = 'kvidx-fake';
const QUESTION = [{ role: 'user' as const, content: 'Which way does the water run, and why does it?' }];
/** Of some 6,000 tokens, more than the policy's floor of 200 blocks: a session with less may be moved to an idle worker. */
const LONG = 'and so the water runs '.repeat(1_200);

let quiet: QuietFleet;
let client: OpenAI;
/** That a worker got, all tests together. */
let requests = 0;

beforeAll(async () => {
  quiet = await QuietFleet.start({});
  client = officialClient(quiet.fleet.routerUrl, 'chat-1');
});
afterEach(async () => {
  await setMode('ok');
  await quiet.expectSettled(requests);
});
afterAll(() => quiet?.fleet.stop());

async function setMode(mode: string, after = 0): Promise<void> {
  for (const { url } of quiet.fleet.workers) {
    await fetch(`${url}/fake/mode`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ mode, after }),
    });
  }
}

async function latest(): Promise<DecisionTold> {
  return (await quiet.state()).decisions[0]!;
}

/** What the call throws. */
async function errorOf(call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await call.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(OpenAI.APIError);
  return error;
}

describe('the official client', () => {
  test('lists the models', async () => {
    const models = await client.models.list();
    expect(models.data.map(({ id, object }) => ({ id, object }))).toEqual([{ id: MODEL, object: 'model' }]);
  });

  test('gets the answer of a chat, with what it used', async () => {
    requests++;
    const { choices, usage, object, model } = await client.chat.completions.create({
      model: MODEL,
      messages: QUESTION,
      max_completion_tokens: 12,
    });
    expect({ object, model }).toEqual({ object: 'chat.completion', model: MODEL });
    expect(choices).toHaveLength(1);
    expect(choices[0]).toMatchObject({ index: 0, finish_reason: 'length', message: { role: 'assistant' } });
    expect(choices[0]!.message.content).toMatch(/^\w+( \w+)+$/);
    expect(usage).toMatchObject({ completion_tokens: 12, prompt_tokens_details: { cached_tokens: 0 } });
    expect(usage!.total_tokens).toBe(usage!.prompt_tokens + 12);
  });

  test('streams a chat, whose text is that of the whole answer', async () => {
    requests += 2;
    const body = { model: MODEL, messages: QUESTION, max_tokens: 12 };
    const whole = await client.chat.completions.create(body);
    const stream = await client.chat.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const texts = chunks.flatMap(({ choices }) => choices[0]?.delta.content || []);
    expect(texts).toHaveLength(12);
    expect(texts.join('')).toBe(whole.choices[0]!.message.content);
    expect(chunks[0]!.choices[0]!.delta.role).toBe('assistant');
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('length');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  });

  test('completes texts, in one piece and streamed', async () => {
    requests += 2;
    const body = { model: MODEL, prompt: 'Once upon a time', max_tokens: 5 };
    const whole = await client.completions.create(body);
    expect(whole).toMatchObject({ object: 'text_completion', usage: { completion_tokens: 5 } });
    expect(whole.choices[0]).toMatchObject({ index: 0, finish_reason: 'length' });
    const stream = await client.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(whole.choices[0]!.text);
    expect(usage).toEqual(whole.usage);
  });

  test('names its session by a default header, and finds more in the cache turn by turn', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    const cached: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      requests++;
      messages.push({ role: 'user', content: `${turn} ${LONG}` });
      const { choices, usage } = await client.chat.completions.create({ model: MODEL, messages });
      messages.push(choices[0]!.message);
      cached.push(usage!.prompt_tokens_details!.cached_tokens!);
      expect(await latest()).toMatchObject({ session: 'chat-1', cachedTokens: cached.at(-1) });
      if (turn > 0) expect(cached[turn]).toBeGreaterThan(cached[turn - 1]! + 5_000);
    }
  });

  test('goes away in the middle of a stream, and so does the request at the worker', async () => {
    requests++;
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: QUESTION,
      max_tokens: 10_000,
      stream: true,
    });
    for await (const { choices } of stream) if (choices[0]?.delta.content) stream.controller.abort();
    await quiet.expectSettled(requests); // long before 10,000 tokens of 10 ms
    expect(await latest()).toMatchObject({ outcome: 'abandoned' });
  });
});

describe('the official client raises', () => {
  test('NotFoundError for a model that there is not', async () => {
    const error = await errorOf(client.chat.completions.create({ model: 'gpt-9', messages: QUESTION }));
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
    expect(error.message).toContain('gpt-9');
  });

  test('BadRequestError for what is no request, which names the field', async () => {
    const messages = [...QUESTION, { role: 'user', content: 7 }] as unknown as typeof QUESTION;
    const error = await errorOf(client.chat.completions.create({ model: MODEL, messages }));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'messages[1].content' });
  });

  test('what a worker found wrong, as the worker said it', async () => {
    requests++;
    const error = await errorOf(
      client.chat.completions.create({ model: MODEL, messages: QUESTION, max_tokens: 1_000_000 }),
    );
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error.message).toContain('maximum context length');
  });

  test('APIError in the middle of a stream when the worker breaks off', async () => {
    requests++;
    await setMode('break');
    const stream = await client.chat.completions.create({ model: MODEL, messages: QUESTION, stream: true });
    let text = '';
    const error = await errorOf(
      (async () => {
        for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
      })(),
    );
    expect(text).toMatch(/^\w+( \w+){3}$/);
    expect(error).not.toBeInstanceOf(OpenAI.APIConnectionError);
    expect(error).toMatchObject({ type: 'server_error', code: 'upstream_error' });
    expect(error.message).toMatch(/^Worker w\d cut the connection/);
  });

  test('InternalServerError when no worker takes the request, each of which was asked once', async () => {
    requests++;
    await setMode('full');
    const before = (await quiet.state()).totals.retries;
    const error = await errorOf(client.chat.completions.create({ model: MODEL, messages: QUESTION }));
    expect(error).toBeInstanceOf(OpenAI.InternalServerError);
    expect(error).toMatchObject({ status: 503, code: 'overloaded' });
    expect(error.headers!.get('retry-after')).toBe('1');
    expect((await quiet.state()).totals.retries).toBe(before + 2);
  });

  test('nothing when it may try again, and the workers take it then', async () => {
    requests += 2;
    await setMode('full');
    await setMode('ok', 1);
    const answer = await client.chat.completions.create(
      { model: MODEL, messages: QUESTION },
      { maxRetries: 1 },
    );
    expect(answer.choices[0]!.message.content).not.toBe('');
  });
});
