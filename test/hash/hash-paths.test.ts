import { describe, expect, it } from 'vitest';
import type { FlatExtraKeys } from '../../src/native/seam.js';
import { agree } from './agree.js';
import { native, reference } from './backends.js';
import { randomFrom, randomTokens } from './random.js';
import { flatKeys, namedVectors } from './vectors.js';

const twin = reference.hashPaths[0]!;
const paths = native?.hashPaths ?? [];

/** Around the batches of vector code, the lookahead of scalar code, and the length from which pipelines pay. */
const COUNTS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 39, 40, 41, 63, 64, 65, 100];

describe('hash paths', () => {
  it('are the fastest last', () => {
    expect(reference.hashPaths.map(({ isa }) => isa)).toEqual(['wasm']);
    expect(paths.map(({ isa }) => isa)).toEqual(['scalar', 'avx512'].slice(0, paths.length));
  });
});

describe.each([...paths, twin].map((path) => [path.isa, path] as const))('the hash path %s', (_, path) => {
  it.each(namedVectors)('pins the golden vector: %s', (_, vector) => {
    const tokens = Uint32Array.from(vector.tokens);
    const extra = flatKeys(vector.extra);
    const outs = Array.from({ length: 9 }, () => new BigUint64Array(vector.seq.length));
    const locals = new BigUint64Array(vector.local.length);
    path.localHashes(tokens, vector.block_size, extra, locals);
    path.seqHashes(tokens, vector.block_size, BigInt(vector.root), extra, outs[0]!);
    const many = outs.slice(1);
    const parents = new BigUint64Array(many.length).fill(BigInt(vector.root));
    const extras = many.map(() => extra);
    path.seqHashesMany(
      many.map(() => tokens),
      vector.block_size,
      parents,
      extra && extras,
      many,
    );
    expect([...locals].map(String)).toEqual(vector.local);
    for (const seqs of outs) expect([...seqs].map(String)).toEqual(vector.seq);
  });
});

describe.each(paths.map((path) => [path.isa, path] as const))('the hash path %s agrees', (_, path) => {
  it('for every block size up to 130, and some large ones', () => {
    const random = randomFrom(11);
    const sizes = [...Array.from({ length: 130 }, (_, i) => i + 1), 255, 256, 257, 1000, 2048, 4095, 4096];
    for (const blockSize of sizes) {
      const count = blockSize > 130 ? 9 : 41;
      const tokens = randomTokens(random, blockSize * count + random(blockSize));
      agree(path, tokens, blockSize, BigInt(blockSize) << 40n, undefined);
    }
  });

  it.each([3, 8, 16, 20, 24, 32, 64])('for every number of blocks of %d tokens', (blockSize) => {
    const random = randomFrom(12);
    const tokens = randomTokens(random, 101 * blockSize);
    for (const count of COUNTS) {
      agree(path, tokens.subarray(0, count * blockSize + random(blockSize)), blockSize, 7n, undefined);
    }
  });

  it('wherever tokens and results begin', () => {
    const random = randomFrom(13);
    const room = randomTokens(random, 24 * 50 + 40);
    for (let begin = 0; begin < 17; begin++) {
      const tokens = room.subarray(begin, begin + 24 * 50 + 5);
      const expected = new BigUint64Array(50);
      twin.seqHashes(tokens, 24, 5n, undefined, expected);
      const outs = new BigUint64Array(60);
      path.seqHashes(tokens, 24, 5n, undefined, outs.subarray(begin % 9, (begin % 9) + 50));
      expect(outs.subarray(begin % 9, (begin % 9) + 50)).toEqual(expected);
      expect(outs.filter((hash) => hash !== 0n)).toHaveLength(50); // and nothing beside them
    }
  });

  it('with extra keys anywhere', () => {
    const random = randomFrom(14);
    for (let round = 0; round < 300; round++) {
      const blockSize = [24, 16, 32, 64, 1 + random(40)][round % 5]!;
      const tokens = randomTokens(random, random(200) * blockSize + random(blockSize));
      const count = Math.floor(tokens.length / blockSize);
      agree(path, tokens, blockSize, BigInt(random(2 ** 32)) << 32n, randomKeys(random, count, random(6)));
    }
  });

  it('however a prompt is split', () => {
    const random = randomFrom(15);
    for (let round = 0; round < 100; round++) {
      const blockSize = [24, 16, 32, 64, 12][round % 5]!;
      const tokens = randomTokens(random, random(300) * blockSize);
      const count = tokens.length / blockSize;
      const whole = new BigUint64Array(count);
      path.seqHashes(tokens, blockSize, 3n, undefined, whole);
      const pieces = new BigUint64Array(count);
      for (let from = 0; from < count; ) {
        const to = Math.min(count, from + 1 + random(80));
        const parent = from === 0 ? 3n : pieces[from - 1]!;
        const part = tokens.subarray(from * blockSize, to * blockSize);
        path.seqHashes(part, blockSize, parent, undefined, pieces.subarray(from, to));
        from = to;
      }
      expect(pieces).toEqual(whole);
    }
  });

  it('for many prompts at once', () => {
    const random = randomFrom(16);
    for (let round = 0; round < 200; round++) {
      const blockSize = [24, 16, 32, 64, 1 + random(70)][round % 5]!;
      const longest = [3, 30, 200][round % 3]!;
      const prompts = Array.from({ length: random(14) }, () =>
        randomTokens(random, random(longest + 1) * blockSize + random(blockSize)),
      );
      const parents = BigUint64Array.from(prompts, () => BigInt(random(2 ** 32)) << 31n);
      const counts = prompts.map(({ length }) => Math.floor(length / blockSize));
      const extras =
        random(2) === 0
          ? undefined
          : counts.map((count) => (random(3) === 0 ? randomKeys(random, count, 2) : undefined));
      const got = counts.map((count) => new BigUint64Array(count));
      const expected = counts.map((count) => new BigUint64Array(count));
      path.seqHashesMany(prompts, blockSize, parents, extras, got);
      twin.seqHashesMany(prompts, blockSize, parents, extras, expected);
      expect(got, `round ${round}`).toEqual(expected);
    }
  });
});

describe.runIf(native)('the addon checks what crosses for many prompts', () => {
  const prompt = new Uint32Array(48);
  const out = new BigUint64Array(2);
  const parents = new BigUint64Array(1);
  const call = native?.seqHashesMany as (...args: unknown[]) => void;

  it.each<[string, unknown[], string]>([
    ['no prompts', [], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['prompts that are no array', [prompt, 24, parents, undefined, [out]], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    [
      'a prompt of another dtype',
      [[new Int32Array(48)], 24, parents, undefined, [out]],
      'ERR_KVIDX_INVALID_ARG_TYPE',
    ],
    ['a hole', [new Array(1), 24, parents, undefined, [out]], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['block size 0', [[prompt], 0, parents, undefined, [out]], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['too few parents', [[prompt], 24, parents.subarray(1), undefined, [out]], 'ERR_KVIDX_LENGTH_MISMATCH'],
    ['too few outs', [[prompt], 24, parents, undefined, []], 'ERR_KVIDX_LENGTH_MISMATCH'],
    ['too many extras', [[prompt], 24, parents, [undefined, undefined], [out]], 'ERR_KVIDX_LENGTH_MISMATCH'],
    ['extras that are no objects', [[prompt], 24, parents, [5], [out]], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a short out', [[prompt], 24, parents, undefined, [out.subarray(1)]], 'ERR_KVIDX_LENGTH_MISMATCH'],
  ])('refuses %s', (_, args, code) => {
    expect(() => call(...args)).toThrow(expect.objectContaining({ code }));
  });

  it('even when reading one of them takes the memory of another', () => {
    const gone = new Uint32Array(48);
    const outs = Object.defineProperty([out], 0, {
      get() {
        structuredClone(gone.buffer, { transfer: [gone.buffer] });
        return out;
      },
    });
    expect(() => call([gone], 24, parents, undefined, outs)).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_LENGTH_MISMATCH' }),
    );
  });
});

function randomKeys(random: (below: number) => number, blocks: number, keys: number): FlatExtraKeys {
  const of = Uint32Array.from({ length: blocks ? keys : 0 }, () => random(blocks)).sort();
  return { blocks: of, keys: BigUint64Array.from(of, () => BigInt(random(2 ** 32)) << 17n) };
}
