import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../src/hash/block-hasher.js';
import { encodeNamespace, type Namespace, namespaceRoot } from '../../src/hash/namespace.js';
import { randomFrom, randomTokens } from './random.js';
import { namedVectors } from './vectors.js';

const tokens = Uint32Array.from({ length: 60 }, (_, i) => i);

describe('BlockHasher', () => {
  it.each(namedVectors)('pins the golden vector: %s', (_, vector) => {
    const hasher = new BlockHasher({ blockSize: vector.block_size, namespace: vector.namespace ?? {} });
    const extraKeys = new Map(
      Object.entries(vector.extra ?? {}).map(([block, keys]) => [Number(block), keys.map(BigInt)]),
    );
    expect(hasher.root).toBe(BigInt(vector.root));
    expect([...hasher.localHashes(vector.tokens, { extraKeys })].map(String)).toEqual(vector.local);
    expect([...hasher.seqHashes(Uint32Array.from(vector.tokens), { extraKeys })].map(String)).toEqual(
      vector.seq,
    );
  });

  it('hashes blocks of 24 in the empty namespace by default', () => {
    const hasher = new BlockHasher();
    expect(hasher).toMatchObject({ blockSize: 24, root: 0n });
    expect(hasher.seqHashes(tokens)).toHaveLength(2);
  });

  it('answers an empty array without a full block', () => {
    expect(new BlockHasher().seqHashes(new Uint32Array(0))).toEqual(new BigUint64Array(0));
    expect(new BlockHasher().localHashes(tokens.subarray(0, 23))).toEqual(new BigUint64Array(0));
  });

  it('fills and returns the array it is given', () => {
    const hasher = new BlockHasher();
    const out = new BigUint64Array(2);
    expect(hasher.seqHashes(tokens, { out })).toBe(out);
    expect(out).toEqual(hasher.seqHashes(tokens));
  });

  it('continues a chain from a parent', () => {
    const hasher = new BlockHasher();
    const [first, second] = hasher.seqHashes(tokens);
    expect(hasher.seqHashes(tokens.subarray(24), { parent: first! })).toEqual(BigUint64Array.of(second!));
    expect(hasher.seqHashes(tokens, { parent: 0 })).toEqual(hasher.seqHashes(tokens));
  });

  it.each(namedVectors)('chains local hashes to the golden seq hashes: %s', (_, vector) => {
    const hasher = new BlockHasher({ blockSize: vector.block_size, namespace: vector.namespace ?? {} });
    const locals = BigUint64Array.from(vector.local, BigInt);
    expect([...hasher.chainHashes(locals)].map(String)).toEqual(vector.seq);
  });

  it('chains local hashes from a parent, into the array it is given', () => {
    const hasher = new BlockHasher({ blockSize: 12, namespace: { model: 'm' } });
    const locals = hasher.localHashes(tokens);
    const seq = hasher.seqHashes(tokens);
    const room = new BigUint64Array(seq.length + 2);
    const out = room.subarray(1, 1 + seq.length - 2);
    expect(hasher.chainHashes(locals.subarray(2), { parent: seq[1]!, out })).toBe(out);
    expect(room).toEqual(BigUint64Array.of(0n, ...seq.subarray(2), 0n, 0n, 0n));
    expect(hasher.chainHashes(new BigUint64Array(0))).toEqual(new BigUint64Array(0));
  });

  it('hashes many prompts as one by one', () => {
    const hasher = new BlockHasher({ namespace: { tenant: 't' } });
    const random = randomFrom(21);
    const lengths = [2000, 0, 23, 24, 1500, 1501, 1700, 24 * 70, 5, 900, 3000];
    const prompts = lengths.map((length) => randomTokens(random, length));
    const expected = prompts.map((prompt) => hasher.seqHashes(prompt));
    expect(hasher.hashMany(prompts)).toEqual(expected);
    expect(hasher.hashMany(prompts.map((prompt) => [...prompt]))).toEqual(expected);
    expect(hasher.hashMany([])).toEqual([]);
    expect(hasher.hashMany([[]])).toEqual([new BigUint64Array(0)]);
  });

  it('hashes many prompts with parents and extra keys of their own, into the arrays it is given', () => {
    const hasher = new BlockHasher({ namespace: { model: 'm' } });
    const prompts = [tokens, tokens.subarray(1), tokens];
    const extraKeys = [undefined, new Map([[1, [9n]]]), undefined];
    const outs = prompts.map(() => new BigUint64Array(2));
    const got = hasher.hashMany(prompts, { parents: [5n, undefined, -1], extraKeys, outs });
    expect(got).toEqual([
      hasher.seqHashes(tokens, { parent: 5n }),
      hasher.seqHashes(tokens.subarray(1), { extraKeys: extraKeys[1]! }),
      hasher.seqHashes(tokens, { parent: -1 }),
    ]);
    expect(got.every((hashes, i) => hashes === outs[i])).toBe(true);
  });

  it.each<[string, unknown, unknown, string, RegExp]>([
    ['prompts in a typed array', tokens, undefined, 'ERR_KVIDX_INVALID_ARG_TYPE', /prompts must be an array/],
    ['a prompt that is none', [tokens, 'x'], undefined, 'ERR_KVIDX_INVALID_ARG_TYPE', /prompts\[1\]/],
    ['a hole', new Array(1), undefined, 'ERR_KVIDX_INVALID_ARG_TYPE', /prompts\[0\]/],
    ['a token below 0', [[1], [2, -1]], undefined, 'ERR_KVIDX_OUT_OF_RANGE', /prompts\[1\]\[1\]/],
    ['options that are none', [tokens], 7, 'ERR_KVIDX_INVALID_ARG_TYPE', /options/],
    ['outs in no array', [tokens], { outs: {} }, 'ERR_KVIDX_INVALID_ARG_TYPE', /outs must be an array/],
    ['too few outs', [tokens], { outs: [] }, 'ERR_KVIDX_LENGTH_MISMATCH', /outs must have 1 element/],
    ['an out that is none', [tokens], { outs: [undefined] }, 'ERR_KVIDX_INVALID_ARG_TYPE', /outs\[0\]/],
    [
      'an out of another length',
      [tokens],
      { outs: [new BigUint64Array(1)] },
      'ERR_KVIDX_LENGTH_MISMATCH',
      /outs\[0\] must have 2/,
    ],
    ['too many parents', [tokens], { parents: [1n, 2n] }, 'ERR_KVIDX_LENGTH_MISMATCH', /parents must have 1/],
    ['a parent of 2^64', [tokens], { parents: [2n ** 64n] }, 'ERR_KVIDX_OUT_OF_RANGE', /parents\[0\]/],
    [
      'extra keys of a partial block',
      [tokens],
      { extraKeys: [new Map([[2, [1n]]])] },
      'ERR_KVIDX_OUT_OF_RANGE',
      /^a block index of extraKeys\[0\] must be one of the 2 full blocks/,
    ],
    [
      'extra keys in no map',
      [tokens, tokens],
      { extraKeys: [undefined, {}] },
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /^extraKeys\[1\] must be a Map/,
    ],
    [
      'extra keys of a block in no array',
      [tokens],
      { extraKeys: [new Map([[1, 5n]])] },
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /^extraKeys\[0\] of block 1 must be an array/,
    ],
    [
      'an extra key of 2^64',
      [tokens, tokens],
      { extraKeys: [undefined, new Map([[1, [2n ** 64n]]])] },
      'ERR_KVIDX_OUT_OF_RANGE',
      /^extraKeys\[1\] of block 1\[0\] must be/,
    ],
  ])('refuses for many prompts %s', (_, prompts, options, code, message) => {
    const act = () => new BlockHasher().hashMany(prompts as never, options as never);
    expect(act).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });

  it('takes any 64 bits for a local hash', () => {
    const hasher = new BlockHasher();
    const ids = [0n, 1n, 2n ** 32n + 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n];
    expect(new Set(ids.map((id) => hasher.chainHashes(BigUint64Array.of(id))[0])).size).toBe(ids.length);
  });

  it('ignores the order of extra keys, not their block', () => {
    const hasher = new BlockHasher();
    const keyed = (...entries: [number, bigint[]][]) =>
      hasher.seqHashes(tokens, { extraKeys: new Map(entries) });
    expect(keyed([1, [42n, 7n]])).toEqual(keyed([1, [7n, 42n]]));
    expect(keyed([1, [7n]])).not.toEqual(keyed([0, [7n]]));
    expect(keyed([1, [-1n]])).toEqual(keyed([1, [2n ** 64n - 1n]]));
    expect(keyed([1, []])).toEqual(hasher.seqHashes(tokens));
  });

  it.each<[string, () => unknown, string, RegExp]>([
    [
      'block size 0',
      () => new BlockHasher({ blockSize: 0 }),
      'ERR_KVIDX_OUT_OF_RANGE',
      /blockSize.*1 to 4096/,
    ],
    ['block size 4097', () => new BlockHasher({ blockSize: 4097 }), 'ERR_KVIDX_OUT_OF_RANGE', /blockSize/],
    ['block size 1.5', () => new BlockHasher({ blockSize: 1.5 }), 'ERR_KVIDX_OUT_OF_RANGE', /blockSize/],
    [
      'a block size as text',
      () => new BlockHasher({ blockSize: '24' as never }),
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /24/,
    ],
    ['an extra key of a partial block', () => keys(2, [1n]), 'ERR_KVIDX_OUT_OF_RANGE', /2 full blocks/],
    ['an extra key of block -1', () => keys(-1, [1n]), 'ERR_KVIDX_OUT_OF_RANGE', /block index/],
    [
      'an extra key of 2^64',
      () => keys(0, [2n ** 64n]),
      'ERR_KVIDX_OUT_OF_RANGE',
      /extraKeys of block 0\[0\]/,
    ],
    ['extra keys that are no array', () => keys(0, 1n as never), 'ERR_KVIDX_INVALID_ARG_TYPE', /block 0/],
    [
      'extra keys that are no Map',
      () => new BlockHasher().seqHashes(tokens, { extraKeys: { 0: [1n] } as never }),
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /extraKeys must be a Map/,
    ],
    [
      'an output of another length',
      () => new BlockHasher().seqHashes(tokens, { out: new BigUint64Array(3) }),
      'ERR_KVIDX_LENGTH_MISMATCH',
      /out must have 2/,
    ],
    [
      'local hashes in a plain array',
      () => new BlockHasher().chainHashes([1n] as never),
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /localHashes must be a BigUint64Array/,
    ],
    [
      'local hashes in shared memory',
      () => new BlockHasher().chainHashes(new BigUint64Array(new SharedArrayBuffer(8))),
      'ERR_KVIDX_INVALID_ARG_TYPE',
      /localHashes must be in unshared memory/,
    ],
    [
      'a chain into an output of another length',
      () => new BlockHasher().chainHashes(new BigUint64Array(2), { out: new BigUint64Array(1) }),
      'ERR_KVIDX_LENGTH_MISMATCH',
      /out must have 2/,
    ],
    [
      'a chain from a parent of 2^64',
      () => new BlockHasher().chainHashes(new BigUint64Array(2), { parent: 2n ** 64n }),
      'ERR_KVIDX_OUT_OF_RANGE',
      /parent/,
    ],
    ['a fractional parent', () => parent(0.5), 'ERR_KVIDX_OUT_OF_RANGE', /parent/],
    ['a parent of 2^64', () => parent(2n ** 64n), 'ERR_KVIDX_OUT_OF_RANGE', /parent/],
  ])('refuses %s', (_, act, code, message) => {
    expect(act).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });
});

describe('a foreign this', () => {
  const FOREIGN = [
    undefined,
    null,
    7,
    {},
    Object.create(BlockHasher.prototype),
    new Proxy(new BlockHasher(), {}),
  ];
  const members: [string, (self: unknown) => unknown][] = [
    ['seqHashes', (self) => BlockHasher.prototype.seqHashes.call(self as BlockHasher, tokens)],
    ['hashMany', (self) => BlockHasher.prototype.hashMany.call(self as BlockHasher, [tokens])],
    ['localHashes', (self) => BlockHasher.prototype.localHashes.call(self as BlockHasher, tokens)],
    [
      'chainHashes',
      (self) => BlockHasher.prototype.chainHashes.call(self as BlockHasher, new BigUint64Array(1)),
    ],
    ['blockSize', (self) => Reflect.get(BlockHasher.prototype, 'blockSize', self)],
    ['root', (self) => Reflect.get(BlockHasher.prototype, 'root', self)],
  ];

  it.each(members)('of %s is refused', (_, act) => {
    for (const self of FOREIGN) {
      expect(() => act(self)).toThrow(
        expect.objectContaining({
          code: 'ERR_KVIDX_INVALID_ARG_TYPE',
          message: expect.stringContaining('this must be a BlockHasher'),
        }),
      );
    }
  });

  it('is none that was built by a subclass', () => {
    class Special extends BlockHasher {}
    expect(new Special().seqHashes(tokens)).toEqual(new BlockHasher().seqHashes(tokens));
  });

  it('cannot come about by writing: block size and root stay as they are', () => {
    const hasher = new BlockHasher();
    for (const name of ['blockSize', 'root']) expect(Reflect.set(hasher, name, 5)).toBe(false);
    expect(hasher).toMatchObject({ blockSize: 24, root: 0n });
  });
});

describe('namespaces', () => {
  it('keeps equal texts in different fields apart', () => {
    expect(namespaceRoot({ lora: 'x' })).not.toBe(namespaceRoot({ salt: 'x' }));
    expect(namespaceRoot({ lora: 'ab', salt: 'c' })).not.toBe(namespaceRoot({ lora: 'a', salt: 'bc' }));
  });

  it('treats null and undefined as absent', () => {
    expect(encodeNamespace({ model: null, lora: undefined })).toHaveLength(0);
    expect(namespaceRoot({ model: null, salt: 's' })).toBe(namespaceRoot({ salt: 's' }));
  });

  it('encodes tag, byte length and UTF-8 in the order of the tags', () => {
    expect([...encodeNamespace({ salt: 'é', model: 'm' })]).toEqual([
      1, 1, 0, 0, 0, 109, 3, 2, 0, 0, 0, 195, 169,
    ]);
  });

  it.each<[string, unknown, string]>([
    ['an empty string', { lora: '' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a lone surrogate', { salt: 'a\ud800' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a field of another name', { adapter: 'x' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a number', { tenant: 7 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['null', null, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('refuses %s', (_, namespace, code) => {
    expect(() => encodeNamespace(namespace as Namespace)).toThrow(expect.objectContaining({ code }));
  });
});

function keys(block: number, list: bigint[]): unknown {
  return new BlockHasher().seqHashes(tokens, { extraKeys: new Map([[block, list]]) });
}

function parent(value: bigint | number): unknown {
  return new BlockHasher().seqHashes(tokens, { parent: value });
}
