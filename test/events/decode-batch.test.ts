import { describe, expect, it } from 'vitest';
import { decodeEventBatch, type KvEvent } from '../../src/index.js';
import { batch, hashes, hex, pack, removed, stored, tokens } from './build.js';

const VLLM_ARRAYS =
  '93cb3ff80000000000009199ab426c6f636b53746f72656491cf7b0bf7bf7fd01682c0940102030404c0a3475055c091c000';
const SGLANG_ARRAYS =
  '93cb3ff80000000000009293ac426c6f636b52656d6f76656491d3cf97adeedb59e05ba347505591b0416c6c426c6f636b73436c656172656400';
const VLLM_MAPS =
  '93cb3ff8000000000000938ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391cf7b0bf7bf7fd01682b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739401020304aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65787472615f6b65797391c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f617474656e74696f6e84a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf7b0bf7bf7fd01682a66d656469756da3475055a967726f75705f6964780081a474797065b0416c6c426c6f636b73436c656172656400';

const A = 8866452693264111234n;
const ONE_BLOCK = { blockHashes: hashes(A), tokens: tokens(1, 2, 3, 4), blockSize: 4 };

function eventsOf(...events: unknown[]): readonly KvEvent[] {
  const decoded = decodeEventBatch(batch(...events));
  expect(decoded.bad).toEqual([]);
  return decoded.events;
}

function problemOf(event: unknown): string {
  const { bad, events } = decodeEventBatch(batch(['AllBlocksCleared'], event, ['AllBlocksCleared']));
  expect(events).toEqual([{ kind: 'cleared' }, { kind: 'cleared' }]);
  expect(bad.map(({ index }) => index)).toEqual([1]);
  return bad[0]!.problem;
}

describe('bytes on the wire', () => {
  it("decodes vLLM's positional arrays", () => {
    expect(decodeEventBatch(hex(VLLM_ARRAYS))).toEqual({
      timestampMs: 1500,
      dpRank: 0,
      events: [stored(ONE_BLOCK)],
      unknown: 0,
      bad: [],
    });
  });

  it("decodes SGLang's positional arrays, negative hashes as u64", () => {
    expect(decodeEventBatch(hex(SGLANG_ARRAYS)).events).toEqual([
      removed({ blockHashes: hashes(-3488128144981237669n) }),
      { kind: 'cleared' },
    ]);
  });

  it("decodes vLLM's maps", () => {
    expect(decodeEventBatch(hex(VLLM_MAPS))).toEqual({
      timestampMs: 1500,
      dpRank: 0,
      events: [
        stored({ ...ONE_BLOCK, groupIdx: 0, specKind: 'full_attention' }),
        removed({ blockHashes: hashes(A), groupIdx: 0 }),
        { kind: 'cleared' },
      ],
      unknown: 0,
      bad: [],
    });
  });

  it('decodes what vLLM 0.26 was seen to send', () => {
    const event = {
      type: 'BlockStored',
      block_hashes: [15760518052499183552n],
      parent_block_hash: null,
      token_ids: Array.from({ length: 16 }, (_, i) => 100_000 + i),
      block_size: 16,
      lora_id: null,
      medium: 'GPU',
      lora_name: null,
      extra_keys: [null],
      group_idx: 0,
      kv_cache_spec_kind: 'full_attention',
    };
    const decoded = decodeEventBatch(pack([1789095808.83, [event], 0]));
    expect(decoded.timestampMs).toBeCloseTo(1789095808830, 3);
    expect(decoded.events).toEqual([
      stored({
        blockHashes: hashes(15760518052499183552n),
        tokens: Uint32Array.from(event.token_ids),
        blockSize: 16,
        groupIdx: 0,
        specKind: 'full_attention',
      }),
    ]);
  });

  it('takes headers and integers longer than they need be', () => {
    // map16, str8, array32, bin8, uint64: [1.5 s, [{type, block_hashes, token_ids, block_size}]]
    const event =
      'de0004 d904 74797065 ab 426c6f636b53746f726564 ac 626c6f636b5f686173686573 dd00000001 c408 7b0bf7bf7fd01682' +
      'a9 746f6b656e5f696473 dc0002 cf0000000000000007 ce00000008 aa 626c6f636b5f73697a65 d30000000000000002';
    const { events } = decodeEventBatch(
      hex(`dc0002 cb3ff8000000000000 dd00000001 ${event}`.replaceAll(' ', '')),
    );
    expect(events).toEqual([stored({ blockHashes: hashes(A), tokens: tokens(7, 8), blockSize: 2 })]);
  });
});

describe('the same events in every dialect', () => {
  const h = [11n, 2n ** 64n - 12n];
  const signed = [11n, -12n];
  const digests = h.map((hash) => digest(32, hash));
  const t = [1, 2, 3, 70000];
  const base = ['BlockStored', h, 9n, t, 2, null];
  const map = { type: 'BlockStored', block_hashes: h, parent_block_hash: 9n, token_ids: t, block_size: 2 };
  const maps = [map, { type: 'BlockRemoved', block_hashes: h, medium: 'GPU' }, { type: 'AllBlocksCleared' }];
  const rest = [['BlockRemoved', h], ['AllBlocksCleared']];
  const dialects: [string, unknown][] = [
    ['vLLM, first: 6 items, no rank', [1.5, [base, ...rest]]],
    ['vLLM, 5 items', [1.5, [base.slice(0, 5), ...rest]]],
    ['vLLM, 6 items', [1.5, [base, ...rest], null]],
    ['vLLM, 7 items', [1.5, [[...base, 'GPU'], ['BlockRemoved', h, 'GPU'], ['AllBlocksCleared']], null]],
    ['vLLM, 8 items', [1.5, [[...base, null, null], ['BlockRemoved', h, null], ['AllBlocksCleared']], null]],
    ['vLLM, 9 items', [1.5, [[...base, 'GPU', null, [null, null]], ...rest], null]],
    [
      'vLLM, 10 items',
      [1.5, [[...base, 'GPU', null, null, null], ['BlockRemoved', h, 'GPU', null], rest[1]], null],
    ],
    ['vLLM, 12 items', [1.5, [[...base, 'GPU', null, [null, null], null, null, null], ...rest], null]],
    [
      'later versions, further items',
      [1.5, [[...base, ...Array(6).fill(null), 'x', {}], ...rest], null, 'y'],
    ],
    ['vLLM, maps', [1.5, maps, null]],
    [
      'vLLM, maps with unknown fields',
      [1.5, maps.map((event) => ({ session_id: 's', ...event, locality: {} })), null],
    ],
    ['vLLM, digests of 32 bytes', [1.5, [{ ...map, block_hashes: digests }, ...rest], null]],
    [
      'vLLM, integers and digests of 16 bytes mixed',
      [1.5, [{ ...map, block_hashes: [11, digest(16, h[1]!)] }, ...rest]],
    ],
    [
      'SGLang, arrays',
      [1.5, [['BlockStored', signed, 9n, t, 2, null, 'GPU'], ['BlockRemoved', signed, 'GPU'], rest[1]]],
    ],
    ['SGLang, maps', [1.5, [{ ...map, block_hashes: signed }, maps[1], maps[2]], null]],
    ['a batch as a map', { ts: 1.5, events: maps, data_parallel_rank: null }],
    ['a tagged batch as a map', { type: 'EventBatch', events: [base, ...rest], ts: 1.5, event_version: 1 }],
    [
      "Mooncake's names",
      [
        1.5,
        [
          {
            event_type: 'stored',
            seq_hashes: h,
            parent_hash: 9n,
            token_ids: t,
            block_size: 2,
            medium: 'GPU',
          },
          { event_type: 'removed', seq_hashes: h, medium: 'GPU', event_id: 1, base_block_idx: 1 },
          { event_type: 'cleared' },
        ],
        null,
      ],
    ],
    [
      "Mooncake's master, with vLLM's names too",
      [1.5, maps.map((event) => ({ event_type: '?', seq_hashes: [], ...event }))],
    ],
  ];

  it.each(dialects)('%s', (_, message) => {
    expect(decodeEventBatch(pack(message))).toEqual({
      timestampMs: 1500,
      dpRank: undefined,
      events: [
        stored({ blockHashes: hashes(...h), parentHash: 9n, tokens: tokens(...t), blockSize: 2 }),
        removed({ blockHashes: hashes(...h) }),
        { kind: 'cleared' },
      ],
      unknown: 0,
      bad: [],
    });
  });
});

describe('fields of a store', () => {
  it('reads every item of the longest array', () => {
    const extra = [['adapter', ['id', -3], 'salt'], null];
    const items = [[1n, 2n], 3n, [1, 2], 1, 7, 'CPU', 'adapter', extra, 2, 'sliding_window', 128];
    expect(eventsOf(['BlockStored', ...items])).toEqual([
      stored({
        blockHashes: hashes(1n, 2n),
        parentHash: 3n,
        tokens: tokens(1, 2),
        blockSize: 1,
        medium: 'CPU',
        loraName: 'adapter',
        loraId: 7,
        extraKeys: [extra[0]!, undefined],
        groupIdx: 2,
        specKind: 'sliding_window',
        slidingWindow: 128,
      }),
    ]);
  });

  it('leaves media as they were sent', () => {
    const media = ['CPU_PINNED', 'DISK', 'cpu', 'EXTERNAL'];
    expect(eventsOf(...media.map((medium) => ['BlockRemoved', [1], medium]))).toEqual(
      media.map((medium) => removed({ blockHashes: hashes(1n), medium })),
    );
  });

  it('takes offloads without tokens, whatever block size they tell', () => {
    const offload = ['BlockStored', [digest(32, A)], null, [], 0, null, 'CPU', null];
    const blockHashes = hashes(A);
    expect(eventsOf(offload, offload.with(4, 16), offload.with(3, null))).toEqual([
      stored({ blockHashes, medium: 'CPU' }),
      stored({ blockHashes, medium: 'CPU', blockSize: 16 }),
      stored({ blockHashes, medium: 'CPU' }),
    ]);
  });

  it("reads SGLang's salt behind the medium, and as a field", () => {
    const salted = ['BlockStored', [A], null, [1, 2, 3, 4], 4, null, 'GPU', { cache_salt: 'tenant-a' }];
    const event = stored({ ...ONE_BLOCK, cacheSalt: 'tenant-a' });
    const map = {
      type: 'BlockStored',
      block_hashes: [A],
      token_ids: [1, 2, 3, 4],
      block_size: 4,
      cache_salt: 'tenant-a',
    };
    expect(eventsOf(salted, map)).toEqual([event, event]);
  });

  it('unfolds the pairs of EAGLE, one token beyond the last block', () => {
    const pairs = [
      [1, 2],
      [2, 3],
      [3, 4],
      [4, 5],
    ];
    expect(eventsOf(['BlockStored', [1, 2], null, pairs, 2, null, 'GPU'])).toEqual([
      stored({ blockHashes: hashes(1n, 2n), tokens: tokens(1, 2, 3, 4, 5), blockSize: 2, isBigram: true }),
    ]);
  });

  it('keeps nothing of the payload', () => {
    const payload = batch(['BlockStored', [1n], null, [1], 1, null, 'GPU', null, [[digest(32, 5n)]]]);
    const before = decodeEventBatch(payload);
    const copy = structuredClone(before);
    payload.fill(0);
    expect(before).toEqual(copy);
  });
});

describe('bad events', () => {
  const store = (fields: object) => ({
    type: 'BlockStored',
    block_hashes: [1],
    token_ids: [5, 6],
    block_size: 2,
    ...fields,
  });

  it.each<[string, unknown, RegExp]>([
    ['fewer tokens than the blocks have', store({ token_ids: [5] }), /^block_size 2 × 1 block ≠ 1 token$/],
    [
      'more hashes than the tokens fill',
      store({ block_hashes: [1, 2] }),
      /^block_size 2 × 2 blocks ≠ 2 tokens$/,
    ],
    ['tokens without a block size', store({ block_size: 0 }), /^block_size 0 × 1 block ≠ 2 tokens$/],
    [
      'a hash of 5 bytes',
      store({ block_hashes: [new Uint8Array(5)] }),
      /^block_hashes\[0\] has 5 bytes, not 8, 16 or 32$/,
    ],
    ['a hash that is a fraction', store({ block_hashes: [1.5] }), /^block_hashes\[0\] is no 64-bit integer/],
    ['no hashes', store({ block_hashes: null }), /^block_hashes is no list$/],
    ['a parent that is a text', store({ parent_block_hash: 'x' }), /^parent_block_hash is no/],
    ['a token above u32', store({ token_ids: [5, 2 ** 32] }), /^token_ids\[1\] is no integer/],
    ['a negative token', store({ token_ids: [-1, 5] }), /^token_ids\[0\] is no integer/],
    [
      'pairs that do not go on',
      store({
        token_ids: [
          [1, 2],
          [3, 4],
        ],
      }),
      /^the pair token_ids\[1\] starts with 3/,
    ],
    [
      'a pair of three',
      store({
        token_ids: [
          [1, 2],
          [2, 3, 4],
        ],
      }),
      /^token_ids\[1\] is no pair/,
    ],
    [
      'extra keys of another number',
      store({ extra_keys: [['a'], ['b']] }),
      /^extra_keys has 2 items for 1 block$/,
    ],
    ['a LoRA that is no text', store({ lora_name: 5 }), /^lora_name is no text$/],
    ['a tag that is no text', [5], /^no array or map with a tag$/],
    ['no container', 5, /^no array or map with a tag$/],
    ['an empty array', [], /^no array or map with a tag$/],
    ['a removal without hashes', ['BlockRemoved'], /^block_hashes is no list$/],
  ])('%s is told, and the others stand', (_, event, problem) => {
    expect(problemOf(event)).toMatch(problem);
  });

  it('is one whose map has a key that no object can have', () => {
    const payload = Buffer.from(batch(['AllBlocksCleared'], { type: 'AllBlocksCleared', __prot0__: 1 }));
    payload.write('__proto__', payload.indexOf('__prot0__'));
    const { events, bad } = decodeEventBatch(payload);
    expect(events).toHaveLength(1);
    expect(bad).toEqual([{ index: 1, problem: expect.stringMatching(/__proto__/) }]);
  });

  it('are not those of unknown tags, which are counted', () => {
    const decoded = decodeEventBatch(batch(['BlockMoved', 1], { type: 'constructor' }, ['AllBlocksCleared']));
    expect(decoded).toMatchObject({ unknown: 2, bad: [], events: [{ kind: 'cleared' }] });
  });
});

describe('what is no batch', () => {
  const bad = expect.objectContaining({ code: 'ERR_KVIDX_BAD_EVENT' });

  it.each<[string, unknown]>([
    ['nil', null],
    ['an empty array', []],
    ['a time alone', [1.5]],
    ['a time that is a text', ['x', []]],
    ['no list of events', [1.5, {}]],
    ['a rank that is a text', [1.5, [], 'x']],
    ['a negative rank', [1.5, [], -1]],
    ["an end marker's [oldest, latest]", [4, 7]],
    ['a map without events', { ts: 1.5 }],
  ])('%s', (_, value) => {
    expect(() => decodeEventBatch(pack(value))).toThrow(bad);
  });

  it('every truncation of a batch, and a batch with bytes behind it', () => {
    const whole = hex(VLLM_MAPS);
    for (let length = 0; length < whole.length; length++) {
      expect(() => decodeEventBatch(whole.subarray(0, length))).toThrow(bad);
    }
    expect(() => decodeEventBatch(Uint8Array.of(...whole, 0))).toThrow(bad);
  });

  it.each([
    ['an array', 'dd80000000'],
    ['a map', 'df80000000'],
    ['a text', 'db80000000'],
    ['bytes', 'c680000000'],
    ['an extension', 'c98000000001'],
  ])('%s of 2^31 items in an event', (_, header) => {
    expect(() => decodeEventBatch(hex(`92cb3ff800000000000092${header}c0`))).toThrow(bad);
  });

  it('100,000 nested arrays, and nested headers that each promise the rest of the payload', () => {
    expect(() => decodeEventBatch(hex(`92cb3ff800000000000091${'91'.repeat(100_000)}c0`))).toThrow(bad);
    const promise = 'dd00010000';
    expect(() =>
      decodeEventBatch(hex(`92cb3ff800000000000091${promise.repeat(20)}${'c0'.repeat(70_000)}`)),
    ).toThrow(bad);
  });

  it('another type is misuse', () => {
    expect(() => decodeEventBatch('x' as never)).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
    );
  });
});

/** A digest whose last 8 bytes are `tail`. */
function digest(bytes: number, tail: bigint): Uint8Array {
  const value = new Uint8Array(bytes).fill(0xee);
  new DataView(value.buffer).setBigUint64(bytes - 8, tail);
  return value;
}
