import { describe, expect, it } from 'vitest';
import { createDynamoHashes } from '../../src/hash/engine/dynamo.js';
import { pickle } from '../../src/hash/engine/pickle.js';
import { sglangDigest, sglangRoot } from '../../src/hash/engine/sglang.js';
import { createVllmChain, type VllmScheme, vllmHashes } from '../../src/hash/engine/vllm.js';
import {
  createEngineHasher,
  type EngineHasherOptions,
  type EngineHashScheme,
} from '../../src/hash/engine-hashes.js';

const upTo = (n: number) => Uint32Array.from({ length: n }, (_, i) => i + 1);
const multiplesOf101 = upTo(32).map((n) => n * 101);
const u64 = (hashes: Iterable<bigint>) => [...hashes].map(String);
const signed = (hashes: Iterable<bigint>) => [...hashes].map((hash) => String(BigInt.asIntN(64, hash)));
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

async function hashesOf(
  scheme: EngineHashScheme,
  options: EngineHasherOptions,
  tokens: Uint32Array | number[],
) {
  return (await createEngineHasher(scheme, options)).hashes(tokens);
}

/** From vLLM, from routers that follow it, or made with CPython's pickle, hashlib and xxhash. */
type Vector = [VllmScheme, EngineHasherOptions, Uint32Array | number[], string[]];

describe('hashes of vLLM', () => {
  it.each<[VllmScheme, string, string]>([
    ['vllm-sha256-cbor', '0', '4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e'],
    [
      'vllm-sha256-cbor',
      'vllm-none-hash',
      '9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0',
    ],
    ['vllm-xxhash-cbor', '0', '1ebe36576dcb573f26b99533a20aaeca'],
    ['vllm-sha256', '0', '1973e23848344dc43a988a9b478663803cfffe1243480253f9a3cf004b14aa7c'],
    ['vllm-sha256', 'vllm-none-hash', '066b1e8987e027138e98701c46128929378935f9b6cd1549105ae6b4f0d71198'],
  ])('start from the NONE_HASH of %s with seed %s', async (scheme, seed, expected) => {
    expect(hex((await createVllmChain(scheme, { seed })).root)).toBe(expected);
  });

  it.each<Vector>([
    ['vllm-sha256-cbor', { seed: '0' }, multiplesOf101, ['7876691182959014722', '8769878286166771163']],
    ['vllm-xxhash-cbor', { seed: '0' }, multiplesOf101, ['11066090714971094433', '8162514883595054550']],
    [
      'vllm-sha256-cbor',
      { seed: '0' },
      [785, 3974, 13876, 38835, 34208, 916, 279, 15678, 5562, 13, 44801, 2266, 25, 8287, 1411, 27217],
      ['15724667998076285447'],
    ],
    [
      'vllm-sha256-cbor',
      { seed: 'vllm-none-hash', blockSize: 128 },
      Uint32Array.from({ length: 300 }, (_, i) => (i * 7919 + 13) % 152064),
      ['8263819412558533880', '13774986176891249317'],
    ],
    ['vllm-sha256-cbor', { seed: '0' }, upTo(32), ['3236607068019569386', '2758186210834249151']],
    ['vllm-sha256-cbor', {}, upTo(32), ['8866452693264111234', '807986237951177663']],
    ['vllm-sha256', { seed: '0' }, upTo(32), ['7536218907325174565', '9048537298590080561']],
    ['vllm-sha256', {}, upTo(32), ['1403909460543360175', '1643945449041937783']],
    ['vllm-xxhash-cbor', { seed: '0' }, upTo(32), ['882618318818381833', '12890060145260523405']],
    ['vllm-xxhash', { seed: '0' }, upTo(32), ['11844795890135418255', '14253768906014549686']],
    ['vllm-xxhash', { seed: '0', blockSize: 128 }, upTo(256), ['857465827680806744', '13731677199920256097']],
    [
      'vllm-sha256-cbor',
      { seed: '0', loraName: 'adapter-a' },
      upTo(32),
      ['6133100218312836095', '6148473772997484259'],
    ],
    [
      'vllm-sha256-cbor',
      { seed: '0', cacheSalt: 'tenant-a' },
      upTo(32),
      ['10934782661253773923', '4663726050606482124'],
    ],
    [
      'vllm-sha256-cbor',
      { seed: '0', loraName: 'adapter-a', cacheSalt: 'tenant-a' },
      upTo(32),
      ['4846066143381493867', '13758649952656869510'],
    ],
    [
      'vllm-sha256',
      { seed: '0', loraName: 'adapter-a' },
      upTo(32),
      ['7117999903674694947', '1457076411618689303'],
    ],
    [
      'vllm-sha256',
      { seed: '0', cacheSalt: 'tenant-a' },
      upTo(32),
      ['1037593161393769517', '17684422052690267734'],
    ],
    [
      'vllm-sha256',
      { seed: '0', loraName: 'é'.repeat(100) },
      upTo(32),
      ['312406288720580973', '1673909250989577100'],
    ],
  ])('are those of %s with %o', async (scheme, options, tokens, expected) => {
    expect(u64(await hashesOf(scheme, options, tokens))).toEqual(expected);
  });

  it('chain from a parent of zeros as published', async () => {
    const chain = await createVllmChain('vllm-sha256-cbor', { seed: '0' });
    const hashes = vllmHashes({ ...chain, root: new Uint8Array(32) }, 16, multiplesOf101);
    expect(u64(hashes)).toEqual(['14515664427994421226', '10510627572844902094']);
  });

  it('are the ends of whole digests', async () => {
    const { digest, encoding, root, firstKeys } = await createVllmChain('vllm-sha256-cbor', { seed: '0' });
    const first = digest(encoding.block(root, multiplesOf101.subarray(0, 16), firstKeys));
    expect(hex(first)).toMatch(/^d450abda.*db93342$/);
  });

  const widths = [0, 255, 256, 65535, 65536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];

  it.each<[number, number[], string[]]>([
    [4, widths, ['4665116513012704697', '10627737775381184017']],
    [3, widths, ['1569367741647707386', '6625008190657364495']],
    [2, widths.slice(0, 4), ['10683414164804952681', '3020091979089476365']],
    [1, widths.slice(0, 2), ['8108991018325583606', '148601814808836425']],
    [4096, new Array(4096).fill(2 ** 32 - 1), ['10134890532060538051']],
  ])('pickle blocks of %i tokens of every width', async (blockSize, tokens, expected) => {
    expect(u64(await hashesOf('vllm-sha256', { seed: '0', blockSize }, tokens))).toEqual(expected);
  });

  it('pickle a block to the bytes of CPython', () => {
    const bytes = pickle.block(new Uint8Array(32).fill(0x11), upTo(16), pickle.extraKeys([]));
    expect(hex(bytes)).toBe(
      `8005954a000000000000004320${'11'.repeat(32)}94284b014b024b034b044b054b064b074b084b094b0a4b0b4b0c4b0d4b0e4b0f4b1074944e87942e`,
    );
  });

  it.each<[string, EngineHashScheme, EngineHasherOptions, string]>([
    ['a seed that would be random', 'vllm-xxhash', {}, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a seed that would be random', 'vllm-xxhash-cbor', {}, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['two pickled extra keys', 'vllm-sha256', { loraName: 'a', cacheSalt: 'b' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a long pickled text', 'vllm-sha256', { cacheSalt: 'é'.repeat(128) }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a long pickled seed', 'vllm-xxhash', { seed: '0'.repeat(256) }, 'ERR_KVIDX_OUT_OF_RANGE'],
  ])('are refused for want of certainty: %s (%s)', async (_, scheme, options, code) => {
    await expect(createEngineHasher(scheme, options)).rejects.toMatchObject({ code });
  });
});

describe('hashes of SGLang', () => {
  it.each<[EngineHasherOptions, Uint32Array | number[], string[]]>([
    [{ blockSize: 4 }, [1, 2, 3, 4], ['-3488128144981237669']],
    [
      { blockSize: 2 },
      upTo(8).map((n) => n * 10),
      ['978178666101069530', '-895308556211281782', '-8033692805846017938', '835415944263129316'],
    ],
    [{ blockSize: 1 }, [7, 8, 9], ['-1702009526849766914', '903318264012984157', '-8265893088400908305']],
    [
      { blockSize: 16 },
      upTo(128),
      [
        '8635429971592222890',
        '1256577331724852459',
        '5689809685380680247',
        '3927976462491479733',
        '5639345789331840936',
        '-4601255381563393033',
        '3368460852864325515',
        '1233425155141659070',
      ],
    ],
    [{ blockSize: 2, cacheSalt: 'tenant-a' }, upTo(4), ['31502315585564397', '-6358338539514506595']],
  ])('are those of its router, signed: %o', async (options, tokens, expected) => {
    expect(signed(await hashesOf('sglang', options, tokens))).toEqual(expected);
  });

  it('chain partial pages as full ones', () => {
    const page = sglangDigest(sglangRoot(undefined), upTo(4));
    const partial = (digest: Uint8Array) => Buffer.from(digest).readBigInt64BE();
    expect(partial(sglangDigest(page, Uint32Array.of(5)))).toBe(-3787494577174227566n);
    expect(partial(sglangDigest(sglangRoot(undefined), Uint32Array.of(0)))).toBe(-2360060374177730597n);
  });
});

describe('hashes of Dynamo', () => {
  it.each<[EngineHasherOptions, string[], string[]]>([
    [
      {},
      ['14643705804678351452', '16777012769546811212', '483935686894639516'],
      ['14643705804678351452', '4945711292740353085', '12583592247330656132'],
    ],
    [
      { loraName: 'adapter-a' },
      ['11381080598872079209', '5698110331184095209', '10923852707342720619'],
      ['11381080598872079209', '17518568667535815909', '12857975441449519705'],
    ],
    [
      { loraName: 'adapter-a', cacheNamespace: 'tenant-a' },
      ['9967753091837871098', '17145582438027477403', '1573782188507051189'],
      ['9967753091837871098', '8253787442643436499', '6376789474022567002'],
    ],
  ])('are those of its router: %o', async (salt, local, seq) => {
    const { localHashes } = await createDynamoHashes(4, salt);
    expect(u64(localHashes(upTo(12)))).toEqual(local);
    expect(u64(await hashesOf('dynamo', { blockSize: 4, ...salt }, upTo(12)))).toEqual(seq);
  });

  it('of blocks with multimodal items are those of its router, whatever the order of the items', async () => {
    const hasher = await createEngineHasher('dynamo', { blockSize: 4 });
    expect(u64(hasher.hashes([1, 2, 3, 4], new Map([[0, [42n]]])))).toEqual(['14000361058806882387']);
    const both = (keys: bigint[]) => u64(hasher.hashes(upTo(12), new Map([[1, keys]])));
    expect(both([7n, 5n])).toEqual(both([5n, 7n]));
    expect(both([7n])[0]).toBe(u64(hasher.hashes(upTo(12)))[0]);
    expect(new Set([...both([7n]), ...both([5n])]).size).toBe(5);
    const other = await createEngineHasher('sglang', { blockSize: 4 });
    expect(() => other.hashes([1, 2, 3, 4], new Map())).toThrow(RangeError);
  });

  it('hold for blocks beyond the short inputs of XXH3, seeded or not', async () => {
    const salt = { loraName: 'adapter-a', cacheNamespace: 'tenant-a' };
    expect(u64(await hashesOf('dynamo', { blockSize: 128 }, upTo(256)))).toEqual([
      '9108660569462882936',
      '3567918185176555655',
    ]);
    expect(u64(await hashesOf('dynamo', { blockSize: 128, ...salt }, upTo(256)))).toEqual([
      '7641469801730253037',
      '2040252858186711067',
    ]);
  });
});

describe('createEngineHasher', () => {
  const required: EngineHasherOptions = { blockSize: 4, seed: '0' };
  const schemes: [EngineHashScheme, EngineHasherOptions][] = [
    ['vllm-sha256', required],
    ['vllm-sha256-cbor', required],
    ['vllm-xxhash', required],
    ['vllm-xxhash-cbor', required],
    ['sglang', { blockSize: 4 }],
    ['dynamo', { blockSize: 4 }],
  ];

  it.each(schemes)(
    'leaves out a partial last block, answers nothing for none: %s',
    async (scheme, options) => {
      const hasher = await createEngineHasher(scheme, options);
      expect(hasher).toMatchObject({ scheme, blockSize: 4 });
      expect(hasher.hashes(upTo(11))).toEqual(hasher.hashes(upTo(8)));
      expect(hasher.hashes(upTo(8))).toHaveLength(2);
      expect(hasher.hashes([1, 2, 3])).toEqual(new BigUint64Array(0));
    },
  );

  it.each(schemes)(
    'answers the same for views and plain arrays, again and again: %s',
    async (scheme, options) => {
      const hasher = await createEngineHasher(scheme, options);
      const expected = hasher.hashes(upTo(12));
      expect(hasher.hashes(Uint32Array.of(9, ...upTo(12), 9).subarray(1, 13))).toEqual(expected);
      expect(hasher.hashes([...upTo(12)])).toEqual(expected);
      expect((await createEngineHasher(scheme, options)).hashes(upTo(12))).toEqual(expected);
    },
  );

  it.each(schemes)('refuses what is no token: %s', async (scheme, options) => {
    const hasher = await createEngineHasher(scheme, options);
    expect(() => hasher.hashes([1, 2, -3, 4])).toThrow(
      expect.objectContaining({
        code: 'ERR_KVIDX_OUT_OF_RANGE',
        message: expect.stringContaining('tokens[2]'),
      }),
    );
    expect(() => hasher.hashes('1234' as never)).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
    );
  });

  it('takes blocks of 16 for vLLM', async () => {
    expect(await createEngineHasher('vllm-sha256')).toMatchObject({ blockSize: 16 });
  });

  it.each<[EngineHashScheme, unknown, string]>([
    ['sha256' as EngineHashScheme, {}, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['toString' as EngineHashScheme, {}, 'ERR_KVIDX_OUT_OF_RANGE'],
    [7 as never, {}, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['sglang', undefined, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['dynamo', {}, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['vllm-sha256', 16, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['vllm-sha256', { blockSize: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['vllm-sha256', { blockSize: 4097 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['vllm-sha256', { seed: 0 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['vllm-sha256', { seed: '' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['vllm-sha256-cbor', { loraName: '\ud800' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['vllm-sha256-cbor', { cacheNamespace: 'n' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['sglang', { blockSize: 1, loraName: 'a' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['sglang', { blockSize: 1, seed: '0' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['dynamo', { blockSize: 1, cacheSalt: 's' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['dynamo', { blockSize: 1, lora: 's' }, 'ERR_KVIDX_OUT_OF_RANGE'],
  ])('refuses %o with %o', async (scheme, options, code) => {
    await expect(createEngineHasher(scheme, options as EngineHasherOptions)).rejects.toMatchObject({ code });
  });
});
