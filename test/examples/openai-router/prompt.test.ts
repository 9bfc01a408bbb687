import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PromptTokenizer } from '../../../examples/openai-router/openai/prompt.js';
import { readCompletion } from '../../../examples/openai-router/openai/requests.js';
import { loadTokenizer, type Tokenizer } from '../../../examples/openai-router/openai/tokenizer.js';
import { Random, seedOfRun } from '../../property/random.js';
import { randomConversation } from './conversation.js';
import { randomText } from './random-json.js';
import { writeTokenizer } from './small-tokenizer.js';

const GENERATION_PROMPT = '<|im_start|>assistant\n';

const directory = mkdtempSync(join(tmpdir(), 'kvidx-prompt-'));
afterAll(() => rmSync(directory, { recursive: true }));

const TOKENIZERS = [
  ['o200k_base', await loadTokenizer()],
  ['a tokenizer.json', await loadTokenizer(writeTokenizer(directory))],
] as const;

function chat(messages: readonly object[], more: object = {}) {
  return readCompletion('chat', { model: 'm', messages, ...more });
}

function user(content: unknown) {
  return { role: 'user', content };
}

/** A tokenizer of UTF-16 units, which counts what it is asked. */
function countingTokenizer(): Tokenizer & { units: number } {
  return {
    name: 'units',
    units: 0,
    encode(text) {
      this.units += text.length;
      return Array.from(text, (_, i) => text.charCodeAt(i));
    },
  };
}

function isPrefix(short: ArrayLike<number>, long: Uint32Array): boolean {
  return short.length <= long.length && Array.from(short).every((id, i) => id === long[i]);
}

describe.each(TOKENIZERS)('in the tokens of %s', (_, tokenizer) => {
  it('a chat is its messages between marks, and the start of the answer', async () => {
    const tokens = await new PromptTokenizer(tokenizer).tokens(chat([user('hello world')]));
    const pieces = ['<|im_start|>user\n', 'hello world', '<|im_end|>\n', GENERATION_PROMPT];
    expect([...tokens]).toEqual(pieces.flatMap((piece) => Array.from(tokenizer.encode(piece))));
  });

  it('a longer history extends a shorter one', async () => {
    const random = new Random(seedOfRun('longer histories'));
    const answerStart = tokenizer.encode(GENERATION_PROMPT);
    for (let round = 0; round < 100; round++) {
      const prompts = new PromptTokenizer(tokenizer);
      const bodies = randomConversation(random, 8);
      const turns = await Promise.all(bodies.map((body) => prompts.tokens(readCompletion('chat', body))));
      for (const [i, turn] of turns.entries()) {
        const history = turn.subarray(0, turn.length - answerStart.length);
        expect([...turn.subarray(history.length)]).toEqual(Array.from(answerStart));
        for (const later of turns.slice(i + 1)) expect(isPrefix(history, later)).toBe(true);
      }
    }
  });

  it('a prompt and its answer are the start of the next prompt', async () => {
    const random = new Random(seedOfRun('answers'));
    const prompts = new PromptTokenizer(tokenizer);
    for (let round = 0; round < 300; round++) {
      const messages: object[] = [user(randomText(random, 30))];
      const answer = randomText(random, 60);
      const asked = [...(await prompts.tokens(chat(messages))), ...Array.from(tokenizer.encode(answer))];
      const next = chat([...messages, { role: 'assistant', content: answer }, user('go on')]);
      expect(isPrefix(asked, await prompts.tokens(next))).toBe(true);
    }
  });

  it('a long message is one piece, whatever it is made of', async () => {
    const random = new Random(seedOfRun('long messages'));
    for (const text of [randomText(random, 20_000), '😀'.repeat(10_000), 'ab'.repeat(10_000)]) {
      const prompts = new PromptTokenizer(tokenizer);
      const turns = [[user(text)], [user(text), { role: 'assistant', content: 'yes' }, user('go on')]];
      const [first, second] = await Promise.all(turns.map((messages) => prompts.tokens(chat(messages))));
      const answerStart = tokenizer.encode(GENERATION_PROMPT);
      expect(isPrefix(first!.subarray(0, first!.length - answerStart.length), second!)).toBe(true);
      expect(await new PromptTokenizer(tokenizer).tokens(chat(turns[0]!))).toEqual(first);
      const content = Array.from(tokenizer.encode(text));
      const start = tokenizer.encode('<|im_start|>user\n').length;
      expect([...first!.subarray(start, start + content.length)]).toEqual(content);
    }
  });
});

describe('a prompt', () => {
  const prompts = new PromptTokenizer(countingTokenizer());
  const textOf = async (messages: object[], more?: object) =>
    String.fromCharCode(...(await prompts.tokens(chat(messages, more))));

  it('starts with the tools', async () => {
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const plain = await textOf([user('hi')]);
    expect(await textOf([user('hi')], { tools })).toBe(
      `<|im_start|>tools\n${JSON.stringify(tools[0])}<|im_end|>\n${plain}`,
    );
    expect(await textOf([user('hi')], { tools: [] })).toBe(plain);
  });

  it('differs wherever a message does', async () => {
    const image = (url: string) => [{ type: 'image_url', image_url: { url } }];
    const messages = [
      user('a'),
      user('b'),
      { role: 'system', content: 'a' },
      { ...user('a'), name: 'ann' },
      { role: 'tool', content: 'a', tool_call_id: 'c1' },
      { role: 'tool', content: 'a', tool_call_id: 'c2' },
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: 'a', tool_calls: [{ id: 'c1' }] },
      { role: 'assistant', content: 'a', tool_calls: [{ id: 'c2' }] },
      user(image('a')),
      user(image('b')),
    ];
    const texts = await Promise.all(messages.map((message) => textOf([message])));
    expect(new Set(texts).size).toBe(messages.length);
  });

  it('of a text completion is the text as it stands, or the ids', async () => {
    const tokens = async (prompt: unknown) => [
      ...(await prompts.tokens(readCompletion('text', { model: 'm', prompt }))),
    ];
    expect(await tokens('<|im_start|>')).toEqual(Array.from('<|im_start|>', (sign) => sign.charCodeAt(0)));
    expect(await tokens([0, 7, 2 ** 32 - 1])).toEqual([0, 7, 2 ** 32 - 1]);
  });
});

describe('the cache of pieces', () => {
  it('lets a growing chat cost only what is new', async () => {
    const tokenizer = countingTokenizer();
    const prompts = new PromptTokenizer(tokenizer);
    const history = Array.from({ length: 20 }, (_, i) => user(`${i}`.padEnd(1000)));
    await prompts.tokens(chat(history));
    const before = tokenizer.units;
    await prompts.tokens(chat(history));
    await prompts.tokens(chat([...history, user('x'.repeat(500))]));
    expect(tokenizer.units - before).toBe(500);
  });

  it('stays within its bound and changes no prompt', async () => {
    const maxCacheBytes = 20_000;
    const random = new Random(seedOfRun('small cache'));
    const [[, tokenizer]] = TOKENIZERS;
    const small = new PromptTokenizer(tokenizer, { maxCacheBytes });
    const none = new PromptTokenizer(tokenizer, { maxCacheBytes: 1 });
    for (let round = 0; round < 100; round++)
      for (const body of randomConversation(random, 5)) {
        const request = readCompletion('chat', body);
        expect(await small.tokens(request)).toEqual(await none.tokens(request));
        expect(small.cacheBytes).toBeLessThanOrEqual(maxCacheBytes);
      }
    expect(small.cacheBytes).toBeGreaterThan(maxCacheBytes / 2);
    expect(none.cacheBytes).toBe(0);
  });

  it('is not filled by one piece that is larger than it', async () => {
    const prompts = new PromptTokenizer(countingTokenizer(), { maxCacheBytes: 10_000 });
    await prompts.tokens(chat([user('short')]));
    const kept = prompts.cacheBytes;
    await prompts.tokens(chat([user('x'.repeat(10_000))]));
    expect(prompts.cacheBytes).toBe(kept);
  });

  it('is out of reach of who writes into a prompt', async () => {
    const prompts = new PromptTokenizer(countingTokenizer());
    const request = chat([user('hi')]);
    const first = await prompts.tokens(request);
    const copy = first.slice();
    first.fill(0);
    expect(await prompts.tokens(request)).toEqual(copy);
  });
});

describe('the tokens of a long text', () => {
  const LONG = 'a few words '.repeat(50_000);
  /** Takes longer for each part than its share of a turn of the event loop. */
  function slowTokenizer(): Tokenizer & { calls: number } {
    return {
      name: 'slow',
      calls: 0,
      encode(text) {
        this.calls++;
        for (const begin = performance.now(); performance.now() - begin < 5; );
        return [text.length];
      },
    };
  }
  const turnOfTheLoop = () => new Promise<void>((resolve) => setImmediate(resolve));

  it('leave turns to others, also where several are asked for at once', async () => {
    const tokenizer = slowTokenizer();
    const prompts = new PromptTokenizer(tokenizer);
    let isReady = false;
    const texts = ['a', 'b', 'c'].map((start) => start + 'some words '.repeat(2_000));
    const all = Promise.all(texts.map((text) => prompts.tokens(chat([user(text)])))).then(() => {
      isReady = true;
    });
    let most = 0;
    for (let before = 0; !isReady; before = tokenizer.calls) {
      await turnOfTheLoop();
      most = Math.max(most, tokenizer.calls - before);
    }
    await all;
    expect(tokenizer.calls).toBeGreaterThan(50);
    expect(most).toBeLessThanOrEqual(2);
  });

  it('let a short one pass', async () => {
    const prompts = new PromptTokenizer(slowTokenizer());
    const gone = new AbortController();
    const long = prompts.tokens(chat([user(LONG)]), gone.signal);
    await prompts.tokens(chat([user('short')]));
    gone.abort(new Error('gone'));
    await expect(long).rejects.toThrow('gone');
  });

  it('are given up when the signal aborts, with its reason', async () => {
    const tokenizer = slowTokenizer();
    const prompts = new PromptTokenizer(tokenizer);
    for (const request of [chat([user(LONG)]), readCompletion('text', { model: 'm', prompt: LONG })]) {
      const gone = new AbortController();
      const tokens = prompts.tokens(request, gone.signal);
      await turnOfTheLoop();
      gone.abort(new Error('gone'));
      await expect(tokens).rejects.toThrow('gone');
      const { calls } = tokenizer;
      await turnOfTheLoop();
      await turnOfTheLoop();
      expect(tokenizer.calls).toBe(calls);
      expect(calls).toBeLessThan(30);
    }
  });

  it('are found once for all who ask at once, and by another one when the first leaves', async () => {
    const tokenizer = countingTokenizer();
    const prompts = new PromptTokenizer(tokenizer);
    const request = chat([user(LONG)]);
    const [first, second] = [new AbortController(), new AbortController()];
    const asked = [
      prompts.tokens(request, first.signal),
      prompts.tokens(request, second.signal),
      prompts.tokens(request),
      prompts.tokens(request),
    ];
    const settled = Promise.allSettled(asked);
    await turnOfTheLoop();
    second.abort(new Error('second gone'));
    await expect(asked[1]).rejects.toThrow('second gone');
    first.abort(new Error('first gone'));
    await expect(asked[0]).rejects.toThrow('first gone');
    const before = tokenizer.units;
    await settled;
    expect(await asked[2]).toEqual(await asked[3]);
    expect(tokenizer.units - before).toBeLessThan(1.1 * LONG.length);
    const text = Array.from(await asked[2]!, (unit) => String.fromCharCode(unit)).join('');
    expect(text === `<|im_start|>user\n${LONG}<|im_end|>\n${GENERATION_PROMPT}`).toBe(true);
  });

  it('are there without a turn of the event loop where they are cached', async () => {
    const prompts = new PromptTokenizer(countingTokenizer());
    await prompts.tokens(chat([user(LONG)]));
    let turns = 0;
    setImmediate(() => turns++);
    await prompts.tokens(chat([user(LONG)]));
    expect(turns).toBe(0);
  });
});
