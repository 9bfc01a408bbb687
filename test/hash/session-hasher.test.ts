import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../src/hash/block-hasher.js';
import { SessionHasher } from '../../src/hash/session-hasher.js';
import { randomFrom, randomTokens } from './random.js';

const hasher = new BlockHasher({ blockSize: 5, namespace: { model: 'm' } });

describe('SessionHasher', () => {
  it('equals a full re-hash for every split in two', () => {
    const tokens = randomTokens(randomFrom(1), 33);
    for (let split = 0; split <= tokens.length; split++) {
      const session = new SessionHasher(hasher);
      session.append(tokens.subarray(0, split));
      session.append(tokens.subarray(split));
      expect(session.seqHashes, `split at ${split}`).toEqual(hasher.seqHashes(tokens));
      expect(session.tokens).toBe(33);
    }
  });

  it('equals a full re-hash after any appends and truncations', () => {
    const random = randomFrom(2);
    for (let round = 0; round < 50; round++) {
      const blockSize = 1 + random(30);
      const session = new SessionHasher({ blockSize });
      let history: number[] = [];
      for (let step = 0; step < 20; step++) {
        if (random(5) === 0) {
          const kept = session.truncate(random(history.length + 1));
          expect(kept % blockSize).toBe(0);
          history = history.slice(0, kept);
        }
        const added = randomTokens(random, random(200));
        history.push(...added);
        const before = session.blocks;
        const hashes = session.append(added);
        expect(hashes).toEqual(session.seqHashes.subarray(before));
        expect(session).toMatchObject({
          tokens: history.length,
          blocks: Math.floor(history.length / blockSize),
        });
      }
      expect(session.seqHashes).toEqual(new BlockHasher({ blockSize }).seqHashes(history));
    }
  });

  it('takes extra keys by block of the session', () => {
    const tokens = randomTokens(randomFrom(3), 20);
    const extraKeys = new Map([
      [1, [9n, 3n]],
      [3, [4n]],
    ]);
    const session = new SessionHasher(hasher);
    session.append(tokens.subarray(0, 12), { extraKeys: new Map([[1, [3n, 9n]]]) });
    session.append(tokens.subarray(12), { extraKeys: new Map([[3, [4n]]]) });
    expect(session.seqHashes).toEqual(hasher.seqHashes(tokens, { extraKeys }));
  });

  it('keeps whole blocks when truncated and says how many tokens those are', () => {
    const session = new SessionHasher(hasher);
    session.append(new Uint32Array(23));
    expect(session.truncate(14)).toBe(10);
    expect(session).toMatchObject({ tokens: 10, blocks: 2 });
    expect(session.truncate(10)).toBe(10);
    expect(session.truncate(0)).toBe(0);
    expect(session.seqHashes).toHaveLength(0);
  });

  it('refuses bad input and stays as it was', () => {
    const session = new SessionHasher(hasher);
    session.append(new Uint32Array(12));
    const before = session.seqHashes.slice();
    const refused: [() => unknown, string][] = [
      [() => session.append([1, -1]), 'ERR_KVIDX_OUT_OF_RANGE'],
      [() => session.append('tokens' as never), 'ERR_KVIDX_INVALID_ARG_TYPE'],
      [
        () => session.append(new Uint32Array(5), { extraKeys: new Map([[1, [1n]]]) }),
        'ERR_KVIDX_OUT_OF_RANGE',
      ],
      [
        () => session.append(new Uint32Array(2), { extraKeys: new Map([[2, [1n]]]) }),
        'ERR_KVIDX_OUT_OF_RANGE',
      ],
      [() => session.truncate(13), 'ERR_KVIDX_OUT_OF_RANGE'],
      [() => session.truncate(-1), 'ERR_KVIDX_OUT_OF_RANGE'],
      [() => session.truncate(Number.NaN), 'ERR_KVIDX_OUT_OF_RANGE'],
    ];
    for (const [act, code] of refused) expect(act).toThrow(expect.objectContaining({ code }));
    expect(session.tokens).toBe(12);
    expect(session.seqHashes).toEqual(before);
  });

  it('refuses a foreign this', () => {
    const { append, truncate } = SessionHasher.prototype;
    const members: ((self: SessionHasher) => unknown)[] = [
      (self) => append.call(self, [1]),
      (self) => truncate.call(self, 0),
      ...['blockSize', 'tokens', 'blocks', 'seqHashes'].map(
        (name) => (self: SessionHasher) => Reflect.get(SessionHasher.prototype, name, self),
      ),
    ];
    for (const act of members) {
      for (const self of [undefined, null, 7, {}, hasher, Object.create(SessionHasher.prototype)]) {
        expect(() => act(self)).toThrow(
          expect.objectContaining({
            code: 'ERR_KVIDX_INVALID_ARG_TYPE',
            message: expect.stringContaining('this must be a SessionHasher'),
          }),
        );
      }
    }
  });
});
