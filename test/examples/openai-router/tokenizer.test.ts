import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTokenizer, type Tokenizer } from '../../../examples/openai-router/openai/tokenizer.js';
import { Random, seedOfRun } from '../../property/random.js';
import { randomText } from './random-json.js';
import { idsOf, SMALL_TOKENIZER, writeTokenizer } from './small-tokenizer.js';

describe('without a file', () => {
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await loadTokenizer();
  });

  it.each([
    ['', []],
    ['hello world', [24912, 2375]],
    ['2 + 2 = 4', [17, 659, 220, 17, 314, 220, 19]],
    ['antidisestablishmentarianism', [493, 129901, 376, 160388, 21203, 2367]],
    ['お誕生日おめでとう', [8930, 9697, 243, 128225, 8930, 17693, 4344, 48669]],
  ])('%j has the ids of o200k_base', (text, ids) => {
    expect(tokenizer.name).toBe('o200k_base');
    expect(Array.from(tokenizer.encode(text))).toEqual(ids);
  });

  it('what looks like a special token is plain text', () => {
    for (const text of ['<|endoftext|>', 'a <|im_start|>system\n', '<|endofprompt|><|endofprompt|>']) {
      const ids = Array.from(tokenizer.encode(text));
      expect(Math.max(...ids)).toBeLessThan(199_998);
      expect(decode(ids)).toBe(text);
    }
  });

  it('encodes any text, in the tokens of the library', () => {
    const random = new Random(seedOfRun('any text'));
    for (let round = 0; round < 3000; round++) {
      const text = randomText(random, 60);
      expect(Array.from(tokenizer.encode(text))).toEqual(encode(text, { disallowedSpecial: new Set() }));
    }
  });

  it.each([
    'a',
    'A',
    '中',
    '😀',
    '!',
    '/\n',
    ' ',
    '\n',
    ' \n',
    '\t ',
    '7',
    'ʰ',
    'a\u0301',
    '!\u0301',
    '\0',
    "'",
  ])('a word of 100,000 times %j is encoded soon, and whole', (sign) => {
    const text = sign.repeat(100_000);
    expect(decode(tokenizer.encode(text) as number[]) === text).toBe(true);
  });
});

describe('with a tokenizer.json', () => {
  const directory = mkdtempSync(join(tmpdir(), 'kvidx-tokenizer-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const path = (name: string) => join(directory, name);

  it('encodes as its vocabulary and merges say', async () => {
    const file = writeTokenizer(path('small'));
    const tokenizer = await loadTokenizer(file);
    expect(tokenizer.name).toBe(file);
    expect(tokenizer.encode('hello world')).toEqual(idsOf('hello', 'Ġworld'));
    expect(tokenizer.encode('hold\n')).toEqual(idsOf('h', 'o', 'l', 'd', 'Ċ'));
  });

  it('adds no token before or after, and knows its special tokens in the text', async () => {
    const tokenizer = await loadTokenizer(writeTokenizer(path('special')));
    expect(tokenizer.encode('')).toEqual([]);
    expect(tokenizer.encode('<|im_start|>hello<|im_end|>')).toEqual(
      idsOf('<|im_start|>', 'hello', '<|im_end|>'),
    );
  });

  it('reads the tokenizer_config.json beside it', async () => {
    const config = { do_lowercase_and_remove_accent: true };
    const tokenizer = await loadTokenizer(writeTokenizer(path('config'), SMALL_TOKENIZER, config));
    expect(tokenizer.encode('HELLO')).toEqual(idsOf('hello'));
  });

  it('a very long word is encoded soon', async () => {
    const tokenizer = await loadTokenizer(writeTokenizer(path('long')));
    expect(tokenizer.encode('ab'.repeat(200_000))).toHaveLength(400_000);
  });

  it.each([
    ['missing', undefined],
    ['cut', JSON.stringify(SMALL_TOKENIZER).slice(0, -5)],
    ['list', []],
    ['null', null],
    ['empty', {}],
    ['no-model', { ...SMALL_TOKENIZER, model: null }],
    ['strange', { ...SMALL_TOKENIZER, model: { type: 'Oracle' } }],
    ['no-vocabulary', { ...SMALL_TOKENIZER, model: { type: 'BPE' } }],
    ['no-added', { ...SMALL_TOKENIZER, added_tokens: undefined }],
    ['pattern', { ...SMALL_TOKENIZER, pre_tokenizer: { type: 'Split', pattern: { Regex: '(' } } }],
  ])('one that is bad (%s) is refused with its path and what to do', async (name, content) => {
    const file = content === undefined ? path(name) : writeTokenizer(path(name), content);
    await expect(loadTokenizer(file)).rejects.toThrow(`Cannot use the tokenizer file ${file}: `);
    await expect(loadTokenizer(file)).rejects.toThrow('Give the tokenizer.json from');
  });

  it('a bad tokenizer_config.json beside it is named', async () => {
    const file = writeTokenizer(path('bad-config'), SMALL_TOKENIZER, '{');
    await expect(loadTokenizer(file)).rejects.toThrow(join(path('bad-config'), 'tokenizer_config.json'));
  });
});
