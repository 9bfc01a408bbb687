import { describe, expect, it } from 'vitest';
import { Candidates, candidatesFrom, FEATURES } from '../../../src/routing/candidates.js';
import { codeOf } from '../../kv-index/support.js';

const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';

describe('candidatesFrom', () => {
  it('puts what is given into columns, and 0 where nothing is', () => {
    const given = Object.fromEntries(FEATURES.map((feature, i) => [feature, i + 0.5]));
    const candidates = candidatesFrom([given, {}], { inputLength: 100, home: 1 });
    for (const [i, feature] of FEATURES.entries()) expect([...candidates[feature]]).toEqual([i + 0.5, 0]);
    const { count, inputLength, home, hasHome } = candidates;
    expect({ count, inputLength, home, hasHome }).toEqual({
      count: 2,
      inputLength: 100,
      home: 1,
      hasHome: true,
    });
  });

  it('works counted and cacheHitTokens out where they are not given, or undefined', () => {
    const workers = [
      { overlapBlocks: 3 },
      { overlapBlocks: 5 },
      { overlapBlocks: 5, counted: undefined as never, cacheHitTokens: undefined as never },
      { overlapBlocks: 5, counted: 0, cacheHitTokens: 0 },
    ];
    const candidates = candidatesFrom(workers, { inputLength: 100 });
    expect([...candidates.counted]).toEqual([3, 5, 5, 0]);
    expect([...candidates.cacheHitTokens]).toEqual([72, 100, 100, 0]); // 24 tokens a block, 100 at most
    expect([...candidatesFrom(workers, { inputLength: 100, blockSize: 16 }).cacheHitTokens]).toEqual([
      48, 80, 80, 0,
    ]);
  });

  it('knows a home that is none of the workers', () => {
    expect(candidatesFrom([{}], { inputLength: 1 })).toMatchObject({ home: -1, hasHome: false });
    expect(candidatesFrom([{}], { inputLength: 1, hasHome: true })).toMatchObject({
      home: -1,
      hasHome: true,
    });
    expect(candidatesFrom([{}], { inputLength: 1, home: 0, hasHome: false })).toMatchObject({
      hasHome: true,
    });
  });

  it('may be empty', () => {
    expect(candidatesFrom([], { inputLength: 0 }).count).toBe(0);
  });

  it.each<[string, unknown, unknown, string]>([
    ['no array', {}, { inputLength: 1 }, TYPE],
    ['no options', [], undefined, TYPE],
    ['options null', [], null, TYPE],
    ['no inputLength', [], {}, TYPE],
    ['a fraction of a token', [], { inputLength: 0.5 }, RANGE],
    ['blockSize 0', [], { inputLength: 1, blockSize: 0 }, RANGE],
    ['blockSize as text', [], { inputLength: 1, blockSize: '24' }, TYPE],
    ['a home beyond the workers', [{}], { inputLength: 1, home: 1 }, RANGE],
    ['a home of no workers', [], { inputLength: 1, home: 0 }, RANGE],
    ['hasHome as text', [{}], { inputLength: 1, hasHome: 'yes' }, TYPE],
    ['hasHome as text beside a home', [{}], { inputLength: 1, home: 0, hasHome: 'no' }, TYPE],
    ['hasHome null', [{}], { inputLength: 1, hasHome: null }, TYPE],
    ['a hole', new Array(1), { inputLength: 1 }, TYPE],
    ['a null worker', [null], { inputLength: 1 }, TYPE],
    ['a number as worker', [3], { inputLength: 1 }, TYPE],
  ])('refuses %s', (_, workers, options, code) => {
    expect(codeOf(() => candidatesFrom(workers as [], options as never))).toBe(code);
  });

  it.each(FEATURES)('refuses a bad %s, naming worker and feature', (feature) => {
    const put = (value: unknown) => () => candidatesFrom([{}, { [feature]: value }], { inputLength: 1 });
    for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      expect(codeOf(put(value))).toBe(RANGE);
      expect(put(value)).toThrow(`workers[1].${feature}`);
    }
    for (const value of ['1', null, 1n, {}]) expect(codeOf(put(value))).toBe(TYPE);
  });
});

describe('Candidates', () => {
  it('grow when there is no room', () => {
    const candidates = new Candidates(2);
    const { counted } = candidates;
    candidates.reserve(2);
    expect(candidates.counted).toBe(counted);
    candidates.reserve(3);
    for (const feature of FEATURES) expect(candidates[feature]).toHaveLength(3);
  });
});
