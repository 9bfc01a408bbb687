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
  it('a chat is its messages between marks, and the start of the answer', () => {
    const tokens = new PromptTokenizer(tokenizer).tokens(chat([user('hello world')]));
    const pieces = ['<|im_start|>user\n', 'hello world', '<|im_end|>\n', GENERATION_PROMPT];
    expect([...tokens]).toEqual(pieces.flatMap((piece) => Array.from(tokenizer.encode(piece))));
  });

  it('a longer history extends a shorter one', () => {
    const random = new Random(seedOfRun('longer histories'));
    const answerStart = tokenizer.encode(GENERATION_PROMPT);
    for (let round = 0; round < 100; round++) {
      const prompts = new PromptTokenizer(tokenizer);
      const turns = randomConversation(random, 8).map((body) => prompts.tokens(readCompletion('chat', body)));
      for (const [i, turn] of turns.entries()) {
        const history = turn.subarray(0, turn.length - answerStart.length);
        expect([...turn.subarray(history.length)]).toEqual(Array.from(answerStart));
        for (const later of turns.slice(i + 1)) expect(isPrefix(history, later)).toBe(true);
      }
    }
  });

  it('a prompt and its answer are the start of the next prompt', () => {
    const random = new Random(seedOfRun('answers'));
    const prompts = new PromptTokenizer(tokenizer);
    for (let round = 0; round < 300; round++) {
      const messages: object[] = [user(randomText(random, 30))];
      const answer = randomText(random, 60);
      const asked = [...prompts.tokens(chat(messages)), ...Array.from(tokenizer.encode(answer))];
      const next = chat([...messages, { role: 'assistant', content: answer }, user('go on')]);
      expect(isPrefix(asked, prompts.tokens(next))).toBe(true);
    }
  });
});

describe('a prompt', () => {
  const prompts = new PromptTokenizer(countingTokenizer());
  const textOf = (messages: object[], more?: object) =>
    String.fromCharCode(...prompts.tokens(chat(messages, more)));

  it('starts with the tools', () => {
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const plain = textOf([user('hi')]);
    expect(textOf([user('hi')], { tools })).toBe(
      `<|im_start|>tools\n${JSON.stringify(tools[0])}<|im_end|>\n${plain}`,
    );
    expect(textOf([user('hi')], { tools: [] })).toBe(plain);
  });

  it('differs wherever a message does', () => {
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
    expect(new Set(messages.map((message) => textOf([message]))).size).toBe(messages.length);
  });

  it('of a text completion is the text as it stands, or the ids', () => {
    const tokens = (prompt: unknown) => [...prompts.tokens(readCompletion('text', { model: 'm', prompt }))];
    expect(tokens('<|im_start|>')).toEqual(Array.from('<|im_start|>', (sign) => sign.charCodeAt(0)));
    expect(tokens([0, 7, 2 ** 32 - 1])).toEqual([0, 7, 2 ** 32 - 1]);
  });
});

describe('the cache of pieces', () => {
  it('lets a growing chat cost only what is new', () => {
    const tokenizer = countingTokenizer();
    const prompts = new PromptTokenizer(tokenizer);
    const history = Array.from({ length: 20 }, (_, i) => user(`${i}`.padEnd(1000)));
    prompts.tokens(chat(history));
    const before = tokenizer.units;
    prompts.tokens(chat(history));
    prompts.tokens(chat([...history, user('x'.repeat(500))]));
    expect(tokenizer.units - before).toBe(500);
  });

  it('stays within its bound and changes no prompt', () => {
    const maxCacheBytes = 20_000;
    const random = new Random(seedOfRun('small cache'));
    const [[, tokenizer]] = TOKENIZERS;
    const small = new PromptTokenizer(tokenizer, { maxCacheBytes });
    const none = new PromptTokenizer(tokenizer, { maxCacheBytes: 1 });
    for (let round = 0; round < 100; round++)
      for (const body of randomConversation(random, 5)) {
        const request = readCompletion('chat', body);
        expect(small.tokens(request)).toEqual(none.tokens(request));
        expect(small.cacheBytes).toBeLessThanOrEqual(maxCacheBytes);
      }
    expect(small.cacheBytes).toBeGreaterThan(maxCacheBytes / 2);
    expect(none.cacheBytes).toBe(0);
  });

  it('is not filled by one piece that is larger than it', () => {
    const prompts = new PromptTokenizer(countingTokenizer(), { maxCacheBytes: 10_000 });
    prompts.tokens(chat([user('short')]));
    const kept = prompts.cacheBytes;
    prompts.tokens(chat([user('x'.repeat(10_000))]));
    expect(prompts.cacheBytes).toBe(kept);
  });

  it('is out of reach of who writes into a prompt', () => {
    const prompts = new PromptTokenizer(countingTokenizer());
    const request = chat([user('hi')]);
    const first = prompts.tokens(request);
    const copy = first.slice();
    first.fill(0);
    expect(prompts.tokens(request)).toEqual(copy);
  });
});
