import { describe, expect, it } from 'vitest';
import { hasKvidxCode, invalidArgType, KvidxError, outOfRange } from '../src/errors.js';
import { counted } from '../src/text.js';

describe('messages', () => {
  it.each<[unknown, string]>([
    [[], 'an Array'],
    [new Int32Array(1), 'an Int32Array'],
    [new Uint32Array(1), 'a Uint32Array'],
    [new Map(), 'a Map'],
    [{}, 'an Object'],
    [Object.create(null), 'an object'],
    [() => {}, 'a function'],
    [Symbol('s'), 'Symbol(s)'],
    [null, 'null'],
    [7n, '7n'],
    ['7', '"7"'],
  ])('say what they got: %o', (value, words) => {
    expect(invalidArgType('x', 'a string', value).message).toBe(`x must be a string, got ${words}`);
    expect(outOfRange('x', 'a string', value).message).toBe(`x must be a string, got ${words}`);
  });

  it('count one thing in the singular', () => {
    expect([0, 1, 2, 1234].map((n) => counted(n, 'block'))).toEqual([
      '0 blocks',
      '1 block',
      '2 blocks',
      '1,234 blocks',
    ]);
  });
});

describe('a code of kvidx', () => {
  it('is known on any kind of error', () => {
    expect(hasKvidxCode(new KvidxError('ERR_KVIDX_CLOSED', 'closed'))).toBe(true);
    expect(hasKvidxCode(invalidArgType('x', 'a string', 1))).toBe(true);
    expect(hasKvidxCode(Object.assign(new Error('full'), { code: 'ERR_KVIDX_CAPACITY' }))).toBe(true);
    for (const other of [
      Object.assign(new Error('gone'), { code: 'ENOENT' }),
      new Error('bug'),
      null,
      'text',
    ])
      expect(hasKvidxCode(other)).toBe(false);
  });
});
