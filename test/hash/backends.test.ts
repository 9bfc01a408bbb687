import { describe, expect, it } from 'vitest';
import { agree } from './agree.js';
import { backends, native, reference } from './backends.js';
import { randomFrom, randomTokens } from './random.js';
import { flatKeys, namedVectors } from './vectors.js';

describe.each(backends)('hashing on the %s backend', (_, backend) => {
  it.each(namedVectors)('pins the golden vector: %s', (_, vector) => {
    const tokens = Uint32Array.from(vector.tokens);
    const extra = flatKeys(vector.extra);
    const locals = new BigUint64Array(vector.local.length);
    const seqs = new BigUint64Array(vector.seq.length);
    backend.localHashes(tokens, vector.block_size, extra, locals);
    backend.seqHashes(tokens, vector.block_size, BigInt(vector.root), extra, seqs);
    expect([...locals].map(String)).toEqual(vector.local);
    expect([...seqs].map(String)).toEqual(vector.seq);
    const chained = new BigUint64Array(locals.length);
    backend.chainHashes(locals, BigInt(vector.root), chained);
    expect(chained).toEqual(seqs);
  });

  it.each([
    ['', 0n, 0xef46db3751d8e999n],
    ['a', 0n, 0xd24ec4f1a98c6e5bn],
    ['abc', 0n, 0x44bc2cf5ad770999n],
  ])('computes XXH64 of %j', (text, seed, hash) => {
    expect(backend.xxh64(Buffer.from(text), seed)).toBe(hash);
  });

  it('reads subarrays where they lie', () => {
    const tokens = randomTokens(randomFrom(1), 100);
    const shifted = new Uint32Array(103);
    shifted.set(tokens, 3);
    const expected = new BigUint64Array(4);
    const room = new BigUint64Array(6);
    backend.seqHashes(tokens, 24, 7n, undefined, expected);
    backend.seqHashes(shifted.subarray(3), 24, 7n, undefined, room.subarray(1, 5));
    expect(room).toEqual(BigUint64Array.of(0n, ...expected, 0n));
  });
});

describe.runIf(native)('native against reference', () => {
  it('agrees on bytes of every length around the stripes', () => {
    const bytes = new Uint8Array(randomTokens(randomFrom(2), 64).buffer);
    for (let length = 0; length <= bytes.length; length++) {
      const part = bytes.subarray(0, length);
      const seed = (BigInt(length) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn;
      expect(native!.xxh64(part, seed), `length ${length}`).toBe(reference.xxh64(part, seed));
    }
  });

  it('agrees on every block size', () => {
    const tokens = randomTokens(randomFrom(3), 4096 + 17);
    for (let blockSize = 1; blockSize <= 4096; blockSize++) {
      const part = tokens.subarray(0, Math.min(tokens.length, blockSize * 2 + 1));
      agree(native!, part, blockSize, BigInt(blockSize), undefined);
    }
  });

  it('agrees on random prompts with extra keys', () => {
    const random = randomFrom(4);
    for (let round = 0; round < 500; round++) {
      const blockSize = 1 + random(round % 2 === 0 ? 40 : 300);
      const tokens = randomTokens(random, random(2000));
      const count = Math.floor(tokens.length / blockSize);
      const blocks = Uint32Array.from({ length: count ? random(8) : 0 }, () => random(count)).sort();
      const keys = BigUint64Array.from(blocks, () => BigInt(random(2 ** 32)) << 17n);
      agree(native!, tokens, blockSize, BigInt(random(2 ** 32)) << 32n, { blocks, keys });
    }
  });
});

describe.runIf(native)('the addon checks what crosses', () => {
  const tokens = new Uint32Array(48);
  const out = new BigUint64Array(2);
  const call = native?.seqHashes as (...args: unknown[]) => void;

  it.each<[string, unknown[], string]>([
    ['tokens of another dtype', [new Int32Array(48), 24, 0n, undefined, out], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['no tokens', [], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['block size 0', [tokens, 0, 0n, undefined, out], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['block size 4097', [tokens, 4097, 0n, undefined, out], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['block size NaN', [tokens, Number.NaN, 0n, undefined, out], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a block size that is a string', [tokens, '24', 0n, undefined, out], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a parent that is a Number', [tokens, 24, 0, undefined, out], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a parent of 2^64', [tokens, 24, 2n ** 64n, undefined, out], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a negative parent', [tokens, 24, -1n, undefined, out], 'ERR_KVIDX_OUT_OF_RANGE'],
    [
      'an output that is too short',
      [tokens, 24, 0n, undefined, out.subarray(1)],
      'ERR_KVIDX_LENGTH_MISMATCH',
    ],
    [
      'an output of another dtype',
      [tokens, 24, 0n, undefined, new BigInt64Array(2)],
      'ERR_KVIDX_INVALID_ARG_TYPE',
    ],
    ['extra keys that are no object', [tokens, 24, 0n, 5, out], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [
      'extra keys of different lengths',
      [tokens, 24, 0n, { blocks: new Uint32Array(1), keys: new BigUint64Array(2) }, out],
      'ERR_KVIDX_LENGTH_MISMATCH',
    ],
  ])('refuses %s', (_, args, code) => {
    expect(() => call(...args)).toThrow(expect.objectContaining({ code }));
  });
});
