import { decode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { DIALECTS, type Dialect } from '../../../src/events/fake/dialects.js';
import { encodeBatch, encodeTensorRtJson } from '../../../src/events/fake/index.js';
import {
  decodeEventBatch,
  decodeTensorRtEvents,
  type KvEvent,
  type StoredEvent,
} from '../../../src/index.js';
import { hashes, hex, pack, removed, stored, tokens } from '../build.js';

const A = 8866452693264111234n;
const ONE_BLOCK = { blockHashes: hashes(A), tokens: tokens(1, 2, 3, 4), blockSize: 4 };
const CLEARED: KvEvent = { kind: 'cleared' };

const HEAD = stored({
  blockHashes: hashes(15760518052499183552n, 5n),
  tokens: tokens(1, 200, 70_000, 2 ** 32 - 1),
  blockSize: 2,
  loraName: 'adapter',
  loraId: 7,
  cacheSalt: 'tenant',
  groupIdx: 1,
  specKind: 'sliding_window',
  slidingWindow: 128,
});
const CHILD = stored({
  blockHashes: hashes(2n ** 64n - 1n),
  parentHash: 5n,
  tokens: tokens(9, 8),
  blockSize: 2,
  extraKeys: [['image', ['id', -3], Uint8Array.of(1, 2)]],
});
const OFFLOAD = stored({ blockHashes: HEAD.blockHashes, medium: 'CPU' });
const REMOVAL = removed({ blockHashes: HEAD.blockHashes, medium: 'CPU', groupIdx: 1 });

/** Fields that a dialect can carry; the salt of vLLM is among the extra keys. */
const CARRIED: Record<Dialect, readonly (keyof StoredEvent)[]> = {
  'vllm-first': [],
  'vllm-rank': [],
  'vllm-medium': ['medium'],
  'vllm-lora-name': ['medium', 'loraName'],
  'vllm-extra-keys': ['medium', 'loraName', 'extraKeys'],
  'vllm-group': ['medium', 'loraName', 'extraKeys', 'groupIdx'],
  'vllm-spec': ['medium', 'loraName', 'extraKeys', 'groupIdx', 'specKind', 'slidingWindow'],
  'vllm-map': ['medium', 'loraName', 'extraKeys', 'groupIdx', 'specKind', 'slidingWindow'],
  'vllm-locality': ['medium', 'loraName', 'extraKeys', 'groupIdx', 'specKind', 'slidingWindow'],
  'vllm-bytes': ['medium', 'loraName', 'extraKeys', 'groupIdx', 'specKind', 'slidingWindow'],
  'vllm-mixed': ['medium', 'loraName', 'extraKeys'],
  'sglang-6': [],
  'sglang-7': ['medium'],
  'sglang-salted': ['medium', 'cacheSalt'],
  'sglang-map': ['medium', 'cacheSalt'],
  tensorrt: ['medium', 'loraName'],
};
const ALWAYS: readonly (keyof StoredEvent)[] = [
  'kind',
  'blockHashes',
  'parentHash',
  'tokens',
  'blockSize',
  'loraId',
  'isBigram',
];

function carried<E extends KvEvent>(event: E, dialect: Dialect): E {
  const fields = [...ALWAYS, ...CARRIED[dialect]] as string[];
  const told = Object.fromEntries(Object.entries(event).filter(([name]) => fields.includes(name)));
  if (event.kind === 'removed') return { ...removed({}), ...told } as unknown as E;
  return { ...stored({}), ...told } as unknown as E;
}

describe.each(Object.keys(DIALECTS) as Dialect[])('%s', (dialect) => {
  it('decodes to the events that were written', () => {
    const events = [HEAD, CHILD, OFFLOAD, REMOVAL, CLEARED];
    const payload = Uint8Array.from(encodeBatch(dialect, { timestampMs: 2000, dpRank: 3, events }));
    const head = { ...HEAD, extraKeys: [['adapter', 'tenant'], ['adapter']] };
    expect(decodeEventBatch(payload)).toEqual({
      timestampMs: 2000,
      dpRank: dialect === 'vllm-first' || dialect === 'sglang-6' ? undefined : 3,
      events: [...[head, CHILD, OFFLOAD, REMOVAL].map((event) => carried(event, dialect)), CLEARED],
      unknown: 0,
      bad: [],
    });
  });

  it('writes the time as a float of 64 bits', () => {
    const payload = encodeBatch(dialect, { timestampMs: 2000, dpRank: 0, events: [] });
    expect(Buffer.from(payload).toString('hex', 1)).toMatch(/^cb400000000000000090(00)?$/);
  });
});

describe('bytes on the wire', () => {
  it.each<[Dialect, string, KvEvent[]]>([
    [
      'vllm-extra-keys',
      '93cb3ff80000000000009199ab426c6f636b53746f72656491cf7b0bf7bf7fd01682c0940102030404c0a3475055c091c000',
      [stored(ONE_BLOCK)],
    ],
    [
      'sglang-7',
      '93cb3ff80000000000009293ac426c6f636b52656d6f76656491d3cf97adeedb59e05ba347505591b0416c6c426c6f636b73436c656172656400',
      [removed({ blockHashes: hashes(-3488128144981237669n) }), CLEARED],
    ],
    [
      'vllm-map',
      '93cb3ff8000000000000938ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391cf7b0bf7bf7fd01682b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739401020304aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65787472615f6b65797391c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f617474656e74696f6e84a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf7b0bf7bf7fd01682a66d656469756da3475055a967726f75705f6964780081a474797065b0416c6c426c6f636b73436c656172656400',
      [
        stored({ ...ONE_BLOCK, groupIdx: 0, specKind: 'full_attention' }),
        removed({ blockHashes: hashes(A), groupIdx: 0 }),
        CLEARED,
      ],
    ],
  ])('%s', (dialect, bytes, events) => {
    expect(encodeBatch(dialect, { timestampMs: 1500, dpRank: 0, events })).toEqual(Buffer.from(hex(bytes)));
  });

  it.each<[Dialect, unknown[]]>([
    [
      'vllm-first',
      [
        1.5,
        [
          ['BlockStored', [A], null, [1, 2, 3, 4], 4, null],
          ['BlockRemoved', [A]],
        ],
      ],
    ],
    [
      'vllm-rank',
      [
        1.5,
        [
          ['BlockStored', [A], null, [1, 2, 3, 4], 4, null],
          ['BlockRemoved', [A]],
        ],
        null,
      ],
    ],
    [
      'vllm-spec',
      [
        1.5,
        [
          ['BlockStored', [A], null, [1, 2, 3, 4], 4, null, 'GPU', null, [null], null, null, null],
          ['BlockRemoved', [A], 'GPU', null],
        ],
        null,
      ],
    ],
    [
      'sglang-map',
      [
        1.5,
        [
          {
            type: 'BlockStored',
            block_hashes: [A],
            parent_block_hash: null,
            token_ids: [1, 2, 3, 4],
            block_size: 4,
            lora_id: null,
            medium: 'GPU',
          },
          { type: 'BlockRemoved', block_hashes: [A], medium: 'GPU' },
        ],
        null,
      ],
    ],
  ])('%s has these items', (dialect, value) => {
    const events = [stored(ONE_BLOCK), removed({ blockHashes: hashes(A) })];
    expect(decode(encodeBatch(dialect, { timestampMs: 1500, events }), { useBigInt64: true })).toEqual(
      decode(pack(value), { useBigInt64: true }),
    );
  });

  it('a salt stands in a map behind the items of SGLang, and only where there is one', () => {
    const [, events] = decode(encodeBatch('sglang-salted', { timestampMs: 0, events: [HEAD, CHILD] })) as [
      unknown,
      unknown[][],
    ];
    expect(events.map((items) => items.slice(7))).toEqual([[{ cache_salt: 'tenant' }], []]);
  });

  it('offloads have digests among the integers of the GPU', () => {
    const [, events] = decode(
      encodeBatch('vllm-mixed', { timestampMs: 0, events: [HEAD, OFFLOAD, REMOVAL] }),
    ) as [unknown, unknown[][][]];
    const kinds = events.map((items) =>
      items[1]!.map((name) => (name instanceof Uint8Array ? name.length : 0)),
    );
    expect(kinds).toEqual([
      [0, 0],
      [32, 32],
      [32, 32],
    ]);
  });

  it('positions of EAGLE are pairs', () => {
    const event = stored({ ...ONE_BLOCK, tokens: tokens(1, 2, 3, 4, 5), isBigram: true });
    const payload = encodeBatch('sglang-7', { timestampMs: 0, events: [event] });
    expect((decode(payload) as unknown[][][])[1]![0]![3]).toEqual([
      [1, 2],
      [2, 3],
      [3, 4],
      [4, 5],
    ]);
    expect(decodeEventBatch(payload).events).toEqual([event]);
  });

  it('a dialect that nobody speaks is refused', () => {
    expect(() => encodeBatch('vllm' as never, { timestampMs: 0, events: [] })).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_OUT_OF_RANGE' }),
    );
  });
});

describe("TensorRT-LLM's JSON", () => {
  it('decodes to the events that were written, all 64 bits of names and a partial last block', () => {
    const partial = stored({
      blockHashes: hashes(2n ** 64n - 1n, 3n),
      parentHash: A,
      tokens: tokens(1, 2, 3, 4, 5),
      blockSize: 4,
    });
    const events = [
      stored({ ...ONE_BLOCK, blockSize: undefined }),
      partial,
      removed({ blockHashes: hashes(A) }),
    ];
    const text = encodeTensorRtJson(events, 7, { windowSize: 512, dpRank: 1 });
    const decoded = decodeTensorRtEvents(text);
    expect(decoded).toMatchObject({ unknown: 0, bad: [] });
    expect(decoded.events.map(({ eventId, windowSize, dpRank }) => [eventId, windowSize, dpRank])).toEqual([
      [7, 512, 1],
      [8, 512, 1],
      [9, 512, 1],
    ]);
    // A removal does not tell the tier.
    expect(decoded.events.flatMap((event) => event.events)).toEqual([
      ...events,
      removed({ blockHashes: hashes(A), medium: 'CPU' }),
    ]);
  });

  it.each([
    ['a clear', CLEARED],
    ['a store in another tier', OFFLOAD],
  ])('has no word for %s', (_, event) => {
    expect(() => encodeTensorRtJson([event], 0)).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
    );
  });
});
