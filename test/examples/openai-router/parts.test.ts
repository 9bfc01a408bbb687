import { readFileSync } from 'node:fs';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { partsOf } from '../../../examples/openai-router/openai/parts.js';
import { Random, seedOfRun } from '../../property/random.js';
import { randomText } from './random-json.js';

const file = (name: string) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
const random = new Random(seedOfRun('texts in parts'));

/** Sentences of signs that are picked at random. */
function sentences(from: number, to: number, count: number): string {
  const word = () => String.fromCodePoint(...Array.from({ length: 20 }, () => random.between(from, to)));
  return Array.from({ length: count }, () => `${word()}，${word()}。`).join('');
}

const TEXTS: [string, string][] = [
  ['prose', file('README.md')],
  ['source code', file('src/index.ts') + file('examples/openai-router/openai/requests.ts')],
  ['JSON in one line', JSON.stringify(file('README.md').split('\n'))],
  ['base64', Buffer.from(file('README.md')).toString('base64')],
  ['Chinese', sentences(0x4e00, 0x9000, 500)],
  ['Korean', sentences(0xac00, 0xd7a3, 500)],
  ['any code points', randomText(random, 50_000)],
  ['one word', 'x'.repeat(20_000)],
  ['blanks', ' \n'.repeat(10_000)],
  ['emoji', '😀'.repeat(10_000)],
  ['signs in turn', 'a1-'.repeat(7_000)],
  ['lone surrogates', '\ud800 a'.repeat(5_000)],
];

describe.each(TEXTS)('parts of %s', (_, text) => {
  const parts = [...partsOf(text)];

  it('are the text, bounded, and of one part each', () => {
    expect(parts.join('') === text).toBe(true);
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) {
      expect(part.length).toBeLessThan(3_000);
      expect([...partsOf(part)]).toEqual([part]);
    }
  });
});

it.each(TEXTS.slice(0, 6))('%s has the tokens of its parts', (_, text) => {
  const whole = encode(text);
  expect([...partsOf(text)].flatMap((part) => encode(part))).toEqual(whole);
});

it('an empty text has no parts', () => {
  expect([...partsOf('')]).toEqual([]);
});
