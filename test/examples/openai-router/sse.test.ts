import { describe, expect, it } from 'vitest';
import {
  endsInDone,
  errorIn,
  hasData,
  Tail,
  WholeEvents,
} from '../../../examples/openai-router/router/sse.js';

const cut = (bytes: Buffer, length: number) =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, i) =>
    bytes.subarray(i * length, (i + 1) * length),
  );

describe('whole events of a stream', () => {
  const texts = [
    'data: {"content":"héllo ☃ 🎉"}',
    ': a comment',
    'event: x\ndata: 1\ndata: 2',
    'data: [DONE]',
  ];

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('are the same however the stream is cut into pieces, with %s', (_, eol) => {
    const stream = Buffer.from(texts.map((text) => text.replaceAll('\n', eol) + eol + eol).join(''));
    for (let length = 1; length <= stream.length; length++) {
      const events = new WholeEvents();
      const pushed = cut(stream, length).map((piece) => events.push(piece).toString());
      const given = pushed.filter((text) => text !== '');
      expect(given.join('')).toBe(stream.toString());
      for (const text of given) expect(text.endsWith(eol + eol)).toBe(true);
      expect(events.rest().length).toBe(0);
    }
  });

  it('come as soon as each is whole, several at once where they came so', () => {
    const events = new WholeEvents();
    expect(events.push(Buffer.from('data: 1\n')).toString()).toBe('');
    expect(events.push(Buffer.from('\ndata: 2\n\ndata:')).toString()).toBe('data: 1\n\ndata: 2\n\n');
    expect(events.rest().toString()).toBe('data:');
    expect(events.push(Buffer.from(' 3\n\n')).toString()).toBe('data: 3\n\n');
  });

  it('leave out an event of which the end never came', () => {
    const events = new WholeEvents();
    expect(events.push(Buffer.from('data: 1\n\ndata: {"half')).toString()).toBe('data: 1\n\n');
    expect(events.rest().toString()).toBe('data: {"half');
  });
});

it.each([
  ['data: [DONE]\n\n', true],
  ['data:[DONE]\r\n\r\n', true],
  ['data: {"choices":[]}\n\ndata: [DONE]\n\n', true],
  ['data: [DONE]', true],
  ['', false],
  ['data: {"choices":[]}\n\n', false],
  ['data: {"content":"\\ndata: [DONE]"}\n\n', false],
  ['data: [DONE]\n\ndata: {"choices":[]}\n\n', false],
])('%j ends a complete stream: %s', (text, isEnd) => {
  expect(endsInDone(Buffer.from(text))).toBe(isEnd);
});

it.each([
  ['data: 1\n\n', true],
  [': ping\n\ndata:1\n\n', true],
  ['event: x\r\ndata: 1\r\n\r\n', true],
  [': ping - data: 1\n\n', false],
  ['event: ping\n\n', false],
])('%j says anything: %s', (text, says) => {
  expect(hasData(Buffer.from(text))).toBe(says);
});

describe('an error in a stream', () => {
  const told = (...data: unknown[]) =>
    errorIn(Buffer.from(data.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')));

  it('is found wherever it stands, with its status as HTTP would have it', () => {
    expect(told({ choices: [] }, { error: { message: 'no', code: 400 } })).toEqual({
      status: 400,
      message: 'no',
    });
    expect(told({ error: { message: 'full', code: '503' } })).toEqual({ status: 503, message: 'full' });
    for (const code of [undefined, null, 'server_error', 7, 200])
      expect(told({ error: { message: 'no', code } })).toEqual({ status: 500, message: 'no' });
    expect(told({ error: 'no' })).toEqual({ status: 500, message: '"no"' });
    expect(errorIn(Buffer.from('event: error\r\ndata:{"error":{"message":"é"}}\r\n\r\n'))).toMatchObject({
      message: 'é',
    });
  });

  it('is none where a model speaks of one, or an engine tells that there is none', () => {
    expect(told({ choices: [{ delta: { content: 'data: {"error":{"message":"no"}}' } }] })).toBeUndefined();
    expect(told({ choices: [{ finish_reason: 'error' }] }, { error: null }, 'error')).toBeUndefined();
    expect(errorIn(Buffer.from('data: "error"\n\ndata: [DONE]\n\ndata: null "error"\n\n'))).toBeUndefined();
  });
});

describe('the usage that a worker tells', () => {
  const usage = (cached: number) =>
    `"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":${cached}}}`;
  const told = (...pieces: string[]) => {
    const tail = new Tail();
    for (const piece of pieces) tail.push(Buffer.from(piece));
    return tail.usage();
  };
  const cached = (cachedTokens: number) => ({ promptTokens: 9, cachedTokens });

  it('stands at the end of an answer in one piece, and in one of the last two pieces of a stream', () => {
    expect(told(`{"choices":[{"text":"${'x'.repeat(100_000)}"}],${usage(7)},"more":{}}`)).toEqual(cached(7));
    expect(told('data: {}\n\n', `data: {${usage(0)}}\n\n`, 'data: [DONE]\n\n')).toEqual(cached(0));
    expect(told(`data: {${usage(5)}}\n\ndata: [DONE]\n\n`)).toEqual(cached(5));
  });

  it('is the last, where each chunk has one, or only the last is not null', () => {
    expect(told(`data: {${usage(1)}}\n\n`, `data: {${usage(2)}}\n\n`)).toEqual(cached(2));
    expect(told(`data: {"usage": null}\n\ndata: {${usage(3)}}\n\n`)).toEqual(cached(3));
  });

  it('is not taken from what it wrote, and is nothing where it told nothing, or not of what', () => {
    expect(told(JSON.stringify({ choices: [{ text: usage(3) }] }))).toBeUndefined();
    expect(told('{"usage":{"prompt_tokens":9,"prompt_tokens_details":null}}')).toBeUndefined();
    expect(told('{"usage":{"prompt_tokens_details":{"cached_tokens":3}}}')).toBeUndefined();
    expect(
      told('{"usage":{"prompt_tokens":"9","prompt_tokens_details":{"cached_tokens":-3}}}'),
    ).toBeUndefined();
    expect(told()).toBeUndefined();
  });
});
