import { describe, expect, test } from 'vitest';
import { type AdmitQuestion, admit } from '../../src/routing/admit.js';
import { codeOf } from '../kv-index/support.js';

/** A resident session: 100 blocks of 10 tokens of a prompt of 1,500 are here; the pool is 10,000, so ρ · pool = 9,500. */
const RESIDENT: AdmitQuestion = {
  inputLength: 1500,
  residentBlocks: 100,
  blockSize: 10,
  sessionKnown: true,
  firstTurn: false,
  pinnedTokens: 0,
  poolTokens: 10_000,
};
const STRANGER: AdmitQuestion = { ...RESIDENT, sessionKnown: false, residentBlocks: 0 };

describe('a resident session', () => {
  test('is direct when it fits', () => {
    expect(admit(RESIDENT)).toEqual({
      admitted: true,
      as: 'direct',
      residentTokens: 1000,
      requiredTokens: 1500,
      availableTokens: 9500,
      recommendedPauseMs: undefined,
    });
  });

  test('is direct with 60 % of the pool: what it has here is not counted beside its prompt', () => {
    // 5,990 of 6,000 tokens are here. 6,000 ≤ 9,500; the resident tokens counted again would be 11,990.
    expect(admit({ ...RESIDENT, inputLength: 6000, residentBlocks: 599 })).toMatchObject({
      admitted: true,
      as: 'direct',
      residentTokens: 5990,
      requiredTokens: 6000,
      availableTokens: 9500,
    });
  });

  test('is direct up to all that may be pinned, and not a token beyond', () => {
    // 8,000 + 1,500 = 9,500 = ρ · pool.
    expect(admit({ ...RESIDENT, pinnedTokens: 8000 })).toMatchObject({ as: 'direct', availableTokens: 1500 });
    expect(admit({ ...RESIDENT, pinnedTokens: 8001 })).toMatchObject({
      admitted: false,
      reason: 'no-d-capacity',
      requiredTokens: 1500,
      availableTokens: 1499,
    });
  });

  test('may append τ tokens, and not one more', () => {
    // 1,500 − 1,000 = 500.
    expect(admit(RESIDENT, { maxAppendTokens: 500 })).toMatchObject({ as: 'direct' });
    expect(admit(RESIDENT, { maxAppendTokens: 499 })).toMatchObject({
      admitted: false,
      reason: 'real-large-append',
      residentTokens: 1000,
      requiredTokens: 1500,
      availableTokens: 9500,
    });
  });

  test('may append 8,192 tokens by default', () => {
    const roomy = { ...RESIDENT, poolTokens: 1_000_000 };
    expect(admit({ ...roomy, inputLength: 9192 })).toMatchObject({ as: 'direct' });
    expect(admit({ ...roomy, inputLength: 9193 })).toMatchObject({ reason: 'real-large-append' });
  });

  test('is refused for its append before its size', () => {
    // 100,000 tokens fit nowhere here, and 99,000 are more than may be appended.
    expect(admit({ ...RESIDENT, inputLength: 100_000 })).toMatchObject({ reason: 'real-large-append' });
  });

  test('has at most its prompt here: resident blocks beyond it do not count', () => {
    expect(admit({ ...RESIDENT, inputLength: 995 })).toMatchObject({
      as: 'direct',
      residentTokens: 995,
      requiredTokens: 995,
    });
  });

  test('does not pin again what a sibling of its prompt has pinned', () => {
    // 9,000 pinned, 1,000 of them of this prompt: 9,000 + 1,500 − 1,000 = 9,500.
    expect(admit({ ...RESIDENT, pinnedTokens: 9000, pinnedPromptTokens: 1000 })).toMatchObject({
      as: 'direct',
      requiredTokens: 500,
      availableTokens: 500,
    });
    expect(admit({ ...RESIDENT, pinnedTokens: 9000, pinnedPromptTokens: 999 })).toMatchObject({
      reason: 'no-d-capacity',
      requiredTokens: 501,
      availableTokens: 500,
    });
  });

  test('needs room for its answer', () => {
    // 7,500 + 1,500 + 500 = 9,500.
    expect(admit({ ...RESIDENT, pinnedTokens: 7500, reservedOutput: 500 })).toMatchObject({ as: 'direct' });
    expect(admit({ ...RESIDENT, pinnedTokens: 7500, reservedOutput: 501 })).toMatchObject({
      reason: 'no-d-capacity',
      requiredTokens: 2001,
      availableTokens: 2000,
    });
  });

  test('is refused when more is pinned than may be, even if all it needs is pinned already', () => {
    const pinned = { pinnedTokens: 9501, pinnedPromptTokens: 1500 };
    expect(admit({ ...RESIDENT, ...pinned })).toMatchObject({
      reason: 'no-d-capacity',
      requiredTokens: 0,
      availableTokens: -1,
    });
  });
});

describe('any other session', () => {
  test('is a seed on its first turn, a reseed later', () => {
    expect(admit({ ...STRANGER, firstTurn: true })).toMatchObject({ as: 'seed', residentTokens: 0 });
    expect(admit(STRANGER)).toMatchObject({ as: 'reseed' });
  });

  test('is what is known here but was evicted', () => {
    expect(admit({ ...RESIDENT, residentBlocks: 0 })).toMatchObject({ as: 'reseed', residentTokens: 0 });
  });

  test('is what others brought the beginning of', () => {
    expect(admit({ ...RESIDENT, sessionKnown: false, firstTurn: true })).toMatchObject({
      as: 'seed',
      residentTokens: 1000,
      requiredTokens: 1500,
    });
  });

  test('may bring any number of tokens that fit, and not one more', () => {
    const roomy = { ...STRANGER, poolTokens: 100_000 };
    expect(admit({ ...roomy, inputLength: 95_000 })).toMatchObject({ as: 'reseed', availableTokens: 95_000 });
    expect(admit({ ...roomy, inputLength: 95_001 })).toMatchObject({
      admitted: false,
      reason: 'session-not-resident-no-capacity',
      requiredTokens: 95_001,
    });
  });

  test('is admitted with an empty prompt', () => {
    expect(admit({ ...RESIDENT, inputLength: 0 })).toMatchObject({ as: 'reseed', requiredTokens: 0 });
  });
});

describe('the pause of a refusal for want of room', () => {
  test('is what the missing tokens take to come free', () => {
    // 9,000 + 1,500 − 9,500 = 1,000 missing; 4,000 a second.
    expect(admit({ ...STRANGER, pinnedTokens: 9000, freeTokensPerSecond: 4000 })).toMatchObject({
      reason: 'session-not-resident-no-capacity',
      recommendedPauseMs: 250,
    });
    expect(admit({ ...RESIDENT, pinnedTokens: 9000, freeTokensPerSecond: 3000 })).toMatchObject({
      reason: 'no-d-capacity',
      recommendedPauseMs: 334,
    });
  });

  test('is unknown without a rate, and when it would be for ever', () => {
    const pause = (question: AdmitQuestion) => admit(question).recommendedPauseMs;
    expect(pause({ ...STRANGER, pinnedTokens: 9000 })).toBeUndefined();
    expect(pause({ ...STRANGER, pinnedTokens: 9000, freeTokensPerSecond: 0 })).toBeUndefined();
    expect(pause({ ...STRANGER, inputLength: 9501, freeTokensPerSecond: 100 })).toBeUndefined();
    expect(pause({ ...STRANGER, inputLength: 9500, pinnedTokens: 1, freeTokensPerSecond: 100 })).toBe(10);
  });

  test('is not given to a large append: waiting does not make it smaller', () => {
    const answer = admit({ ...RESIDENT, freeTokensPerSecond: 1 }, { maxAppendTokens: 0 });
    expect(answer).toMatchObject({ reason: 'real-large-append', recommendedPauseMs: undefined });
  });
});

test('a share that binary rounds loses no token', () => {
  // 0.57 × 100 is 56.99999999999999 in floating point.
  const question = { ...STRANGER, inputLength: 57, poolTokens: 100 };
  expect(admit(question, { poolShare: 0.57 })).toMatchObject({ as: 'reseed', availableTokens: 57 });
  expect(admit({ ...question, inputLength: 58 }, { poolShare: 0.57 })).toMatchObject({ admitted: false });
  expect(admit({ ...question, inputLength: 100 }, { poolShare: 1 })).toMatchObject({ availableTokens: 100 });
});

test('blocks have 24 tokens by default', () => {
  const { blockSize, ...question } = RESIDENT;
  expect(admit({ ...question, residentBlocks: 10 }).residentTokens).toBe(240);
});

describe('bad input', () => {
  const TYPE = 'ERR_KVIDX_INVALID_ARG_TYPE';
  const RANGE = 'ERR_KVIDX_OUT_OF_RANGE';
  const codeWith = (part: object) => codeOf(() => admit({ ...RESIDENT, ...part } as AdmitQuestion));

  test.each([
    ...['inputLength', 'residentBlocks', 'blockSize', 'pinnedTokens', 'poolTokens', 'reservedOutput'],
    ...['pinnedPromptTokens'],
  ])('%s is a whole number of tokens or blocks', (field) => {
    for (const value of ['5', null, 5n, {}, true]) expect(codeWith({ [field]: value })).toBe(TYPE);
    for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
      expect(codeWith({ [field]: value })).toBe(RANGE);
  });

  test('flags are booleans', () => {
    for (const value of [0, 'true', null, undefined]) {
      expect(codeWith({ sessionKnown: value })).toBe(TYPE);
      expect(codeWith({ firstTurn: value })).toBe(TYPE);
    }
  });

  test('no more of the prompt is pinned than the prompt has, or than is pinned', () => {
    expect(codeWith({ pinnedTokens: 2000, pinnedPromptTokens: 1501 })).toBe(RANGE);
    expect(codeWith({ pinnedTokens: 100, pinnedPromptTokens: 101 })).toBe(RANGE);
  });

  test('blocks and the pool are not empty; rates and limits are in range', () => {
    expect(codeWith({ blockSize: 0 })).toBe(RANGE);
    expect(codeWith({ poolTokens: 0 })).toBe(RANGE);
    expect(codeWith({ freeTokensPerSecond: -1 })).toBe(RANGE);
    expect(codeWith({ freeTokensPerSecond: 'fast' })).toBe(TYPE);
    for (const poolShare of [0, -1, 1.01, Number.NaN])
      expect(codeOf(() => admit(RESIDENT, { poolShare }))).toBe(RANGE);
    expect(codeOf(() => admit(RESIDENT, { poolShare: '1' as never }))).toBe(TYPE);
    expect(codeOf(() => admit(RESIDENT, { maxAppendTokens: -1 }))).toBe(RANGE);
    expect(codeOf(() => admit(RESIDENT, 8192 as never))).toBe(TYPE);
  });

  test('a question is an object', () => {
    for (const question of [undefined, null, 5, 'x'])
      expect(codeOf(() => admit(question as never))).toBe(TYPE);
  });
});

describe('the session’s sketch', () => {
  const sketch = Uint8Array.of(1, 2, 3);

  test('comes with every answer where it is asked for, and is made once', () => {
    let made = 0;
    const counting = {
      sketch: () => {
        made += 1;
        return sketch;
      },
    };
    for (const question of [RESIDENT, STRANGER, { ...RESIDENT, inputLength: 1_000_000 }]) {
      expect(admit({ ...question, ...counting }).sketch).toBe(sketch);
      expect(admit(question)).not.toHaveProperty('sketch');
    }
    expect(made).toBe(3);
  });

  test('is not made for a wrong question, and only by a function', () => {
    expect(codeOf(() => admit({ ...RESIDENT, sketch: sketch as never }))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    const never = () => expect.unreachable();
    expect(codeOf(() => admit({ ...RESIDENT, sketch: never, poolTokens: 0 }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(codeOf(() => admit({ ...RESIDENT, sketch: never }, { poolShare: 2 }))).toBe(
      'ERR_KVIDX_OUT_OF_RANGE',
    );
  });
});
