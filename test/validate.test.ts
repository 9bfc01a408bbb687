import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  checkAnswers,
  checkChoice,
  checkHash,
  checkHashes,
  checkInteger,
  checkOut,
  checkTokens,
} from '../src/validate.js';

const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';
const LENGTH = 'ERR_KVIDX_LENGTH_MISMATCH';

describe('checkTokens', () => {
  it('answers a Uint32Array itself and a plain array as a copy', () => {
    const tokens = Uint32Array.of(1, 2);
    expect(checkTokens(tokens)).toBe(tokens);
    expect(checkTokens([0, 2 ** 32 - 1])).toEqual(Uint32Array.of(0, 2 ** 32 - 1));
    expect(checkTokens([])).toHaveLength(0);
    expect(checkTokens(new Uint32Array(0))).toHaveLength(0);
    expect(checkTokens(runInNewContext('Uint32Array.of(7)'))).toHaveLength(1);
  });

  it.each<[string, unknown, string, string]>([
    ['NaN', [1, Number.NaN], RANGE, 'tokens[1]'],
    ['a fraction', [1.5], RANGE, 'tokens[0]'],
    ['a negative id', [1, 2, -1], RANGE, 'tokens[2]'],
    ['2^32', [2 ** 32], RANGE, 'tokens[0]'],
    ['a bigint', [1n], TYPE, 'tokens[0]'],
    ['a hole', new Array(2), TYPE, 'tokens[0]'],
    ['an Int32Array', new Int32Array(2), TYPE, 'Int32Array'],
    ['a string', '12', TYPE, 'tokens'],
    ['undefined', undefined, TYPE, 'tokens'],
    ['a detached array', detached(new Uint32Array(4)), TYPE, 'attached'],
    ['a detached empty array', detached(new Uint32Array(0)), TYPE, 'attached'],
    ['a shared array', new Uint32Array(new SharedArrayBuffer(8)), TYPE, 'unshared'],
  ])('refuses %s', (_, tokens, code, named) => {
    expectError(() => checkTokens(tokens), code, named);
  });
});

describe('checkHashes', () => {
  it('answers a BigUint64Array itself', () => {
    const hashes = BigUint64Array.of(0n);
    expect(checkHashes(hashes)).toBe(hashes);
  });

  it.each<[string, unknown]>([
    ['a BigInt64Array', new BigInt64Array(1)],
    ['a plain array', [1n]],
    ['a detached array', detached(new BigUint64Array(1))],
    ['a shared array', new BigUint64Array(new SharedArrayBuffer(8))],
  ])('refuses %s', (_, hashes) => {
    expectError(() => checkHashes(hashes, 'seq'), TYPE, 'seq');
  });
});

describe('checkAnswers', () => {
  it('refuses more answers than an array can have', () => {
    expect(checkAnswers(2 ** 20, 2 ** 9)).toBe(2 ** 29);
    expect(checkAnswers(0, 2 ** 32)).toBe(0);
    expectError(() => checkAnswers(2 ** 20, 2 ** 9 + 1), RANGE, 'requests');
  });
});

describe('checkOut', () => {
  it("answers the caller's array, or a new one", () => {
    const out = new Uint32Array(2);
    expect(checkOut(out, Uint32Array, 2)).toBe(out);
    expect(checkOut(undefined, Float64Array, 3)).toEqual(new Float64Array(3));
  });

  it.each<[string, unknown, string]>([
    ['another dtype', new Int32Array(2), TYPE],
    ['a plain array', [0, 0], TYPE],
    ['null', null, TYPE],
    ['a detached array', detached(new Uint32Array(2)), TYPE],
    ['a longer array', new Uint32Array(3), LENGTH],
  ])('refuses %s', (_, out, code) => {
    expectError(() => checkOut(out, Uint32Array, 2), code, 'out');
  });
});

describe('checkHash', () => {
  it.each<[bigint | number, bigint]>([
    [0, 0n],
    [-1, 2n ** 64n - 1n],
    [2 ** 53 - 1, 2n ** 53n - 1n],
    [2n ** 64n - 1n, 2n ** 64n - 1n],
    [-(2n ** 63n), 2n ** 63n],
  ])('reads %s', (hash, u64) => {
    expect(checkHash(hash)).toBe(u64);
  });

  it.each<[string, unknown, string]>([
    ['2^64', 2n ** 64n, RANGE],
    ['-2^63 - 1', -(2n ** 63n) - 1n, RANGE],
    ['a Number above 2^53', 2 ** 53 + 2, RANGE],
    ['a fraction', 0.5, RANGE],
    ['NaN', Number.NaN, RANGE],
    ['a string', '1', TYPE],
  ])('refuses %s', (_, hash, code) => {
    expectError(() => checkHash(hash), code, 'hash');
  });
});

describe('checkInteger', () => {
  it('answers what lies within the bounds', () => {
    expect(checkInteger('n', 3, 1, 3)).toBe(3);
  });

  it.each<[unknown, string]>([
    [0, RANGE],
    [4, RANGE],
    [1.5, RANGE],
    [Number.NaN, RANGE],
    [Number.POSITIVE_INFINITY, RANGE],
    ['2', TYPE],
    [2n, TYPE],
    [undefined, TYPE],
  ])('refuses %s', (value, code) => {
    expectError(() => checkInteger('n', value, 1, 3), code, 'n must be');
  });
});

function detached<T extends { buffer: ArrayBufferLike }>(array: T): T {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}

function expectError(act: () => unknown, code: string, named: string): void {
  expect(act).toThrow(expect.objectContaining({ code, message: expect.stringContaining(named) }));
}

describe('checkChoice', () => {
  it('answers one of the words, and names them where it is none', () => {
    expect(checkChoice('tier', 'gpu', ['gpu', 'cpu'])).toBe('gpu');
    for (const [value, code] of [
      ['', RANGE],
      ['disk', RANGE],
      [undefined, TYPE],
      [0, TYPE],
      [['gpu'], TYPE],
    ] as const) {
      expect(() => checkChoice('tier', value, ['gpu', 'cpu'])).toThrow(
        expect.objectContaining({ code, message: expect.stringContaining('one of gpu, cpu') }),
      );
    }
  });
});
