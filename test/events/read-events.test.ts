import { describe, expect, it } from 'vitest';
import { decodeEventBatch, type EventBatch } from '../../src/index.js';
import { EventMemory } from '../../src/native/event-memory.js';
import { EVENT, EVENT_KIND, EVENT_PLACES, type EventSeam } from '../../src/native/seam.js';
import { reference, tested } from '../property/backends.js';
import { Random, seedOfRun } from '../property/random.js';
import { batch, hex, pack } from './build.js';
import { batchOf, kindsOf, type Reading, readColumns, withoutWindows } from './columns.js';
import { forgeBatch, mutated } from './forge.js';
import { encodeLoosely, Pairs, Raw } from './loose-msgpack.js';

const seams: [string, EventSeam][] = [
  [tested.name, tested],
  ['TypeScript twin', reference],
];
const { odd, stored, removed, cleared } = EVENT_KIND;

const VLLM_ARRAYS =
  '93cb3ff80000000000009199ab426c6f636b53746f72656491cf7b0bf7bf7fd01682c0940102030404c0a3475055c091c000';
const SGLANG_ARRAYS =
  '93cb3ff80000000000009293ac426c6f636b52656d6f76656491d3cf97adeedb59e05ba347505591b0416c6c426c6f636b73436c656172656400';
const VLLM_MAPS =
  '93cb3ff8000000000000938ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391cf7b0bf7bf7fd01682b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739401020304aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65787472615f6b65797391c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f617474656e74696f6e84a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf7b0bf7bf7fd01682a66d656469756da3475055a967726f75705f6964780081a474797065b0416c6c426c6f636b73436c656172656400';
const A = 8866452693264111234n;

/** What is read of a payload, which is what the general decoder makes of it. */
function usual(seam: EventSeam, payload: Uint8Array): Reading {
  const reading = readColumns(seam, payload);
  if (reading === undefined) expect.fail('is not usual');
  expect(withoutWindows(batchOf(payload, reading))).toEqual(withoutWindows(decodeEventBatch(payload)));
  return reading;
}

function digest(size: number, hash: bigint): Uint8Array {
  const bytes = new Uint8Array(size).fill(0x11);
  new DataView(bytes.buffer).setBigUint64(size - 8, BigInt.asUintN(64, hash));
  return bytes;
}

/** As msgpack's extension −1. */
const DATE = new Raw(Uint8Array.of(0xd6, 0xff, 0, 0, 0, 0));
const h = [11n, 2n ** 64n - 12n];
const t = [1, 200, 3000, 70000];
const array: readonly unknown[] = ['BlockStored', h, 9n, t, 2, null];
const map = { type: 'BlockStored', block_hashes: h, parent_block_hash: 9n, token_ids: t, block_size: 2 };
const removal = { type: 'BlockRemoved', block_hashes: h };
const full: readonly unknown[] = [...array, 'GPU', null, [null, null], 1, 'mamba', 4096];

describe.each(seams)('readEvents of the %s', (_, seam) => {
  it("reads the wire's bytes of vLLM's arrays into columns", () => {
    const reading = usual(seam, hex(VLLM_ARRAYS));
    expect(reading).toMatchObject({ time: 1.5, rank: 0, counts: { events: 1, hashes: 1, tokens: 4 } });
    expect(reading.hashes).toEqual(BigUint64Array.of(A));
    expect(reading.tokens).toEqual(Uint32Array.of(1, 2, 3, 4));
    const row = { ...reading.rows.subarray(0, EVENT.tier) };
    expect(row).toEqual({
      [EVENT.kind]: stored,
      [EVENT.begin]: 11,
      [EVENT.end]: 49,
      [EVENT.blocks]: 1,
      [EVENT.hashAt]: 0,
      [EVENT.parentAt]: -1,
      [EVENT.tokens]: 4,
      [EVENT.tokenAt]: 0,
      [EVENT.blockSize]: 4,
      [EVENT.mediumBegin]: 43,
      [EVENT.mediumEnd]: 46,
      [EVENT.group]: -1,
      [EVENT.specBegin]: 0,
      [EVENT.specEnd]: 0,
    });
  });

  it("reads the wire's bytes of SGLang's arrays and of vLLM's maps", () => {
    const arrays = usual(seam, hex(SGLANG_ARRAYS));
    expect(kindsOf(arrays)).toEqual([removed, cleared]);
    expect(arrays.hashes).toEqual(BigUint64Array.of(BigInt.asUintN(64, -3488128144981237669n)));
    expect(kindsOf(usual(seam, hex(VLLM_MAPS)))).toEqual([stored, removed, cleared]);
  });

  it.each<[string, unknown[]]>([
    ['vLLM, 5 items', [array.slice(0, 5), ['BlockRemoved', h], ['AllBlocksCleared']]],
    ['vLLM, 6 items', [array, ['BlockRemoved', h], ['AllBlocksCleared']]],
    ['vLLM, 7 items', [full.slice(0, 7), ['BlockRemoved', h, 'GPU'], ['AllBlocksCleared']]],
    ['vLLM, 8 items', [full.slice(0, 8), ['BlockRemoved', h, null], ['AllBlocksCleared']]],
    ['vLLM, 9 items', [full.slice(0, 9), ['BlockRemoved', h, 'GPU'], ['AllBlocksCleared']]],
    ['vLLM, 10 items', [full.slice(0, 10), ['BlockRemoved', h, 'GPU', 1], ['AllBlocksCleared']]],
    ['vLLM, 12 items', [full, ['BlockRemoved', h, 'GPU', null], ['AllBlocksCleared']]],
    [
      'further items',
      [
        [...full, 'x', [1, ['y']], {}],
        ['BlockRemoved', h, 'GPU', 1, 2],
        ['AllBlocksCleared', 1.5],
      ],
    ],
    ['vLLM, maps', [map, removal, { type: 'AllBlocksCleared' }]],
    [
      'vLLM, maps of unknown fields',
      [map, removal, { type: 'AllBlocksCleared' }].map((event) => ({
        session_id: 's',
        ...event,
        locality: {},
      })),
    ],
    ['names in another order', [map, removal].map((event) => new Pairs(Object.entries(event).reverse()))],
    [
      'every field of a map, nil or empty',
      [{ ...map, lora_id: null, lora_name: '', cache_salt: '', medium: '' }],
    ],
    [
      'digests and integers mixed',
      [{ ...map, block_hashes: [digest(32, h[0]!), -12] }, ['BlockRemoved', [digest(16, 7n)]]],
    ],
    ['a parent that is a digest', [{ ...map, parent_block_hash: digest(8, 7n) }]],
    [
      'offloads',
      [
        ['BlockStored', [digest(32, A)], null, [], 0, null, 'CPU'],
        { ...map, token_ids: null, block_size: 16 },
      ],
    ],
    [
      'no blocks',
      [
        ['BlockStored', [], null, [], 0],
        ['BlockRemoved', []],
      ],
    ],
    [
      'extra keys of no block, of another number',
      [
        { ...map, extra_keys: [null, null, null] },
        { ...map, extra_keys: [] },
      ],
    ],
  ])('reads what is usual: %s', (_, events) => {
    const random = new Random(1);
    for (let round = 0; round < 50; round++) {
      // Headers and integers of any width.
      const payload = encodeLoosely([1.5, events, null], random);
      expect(kindsOf(usual(seam, payload))).not.toContain(odd);
    }
  });

  it.each<[string, unknown]>([
    ['another tag', ['BlockMoved', h]],
    ["Mooncake's tag", ['stored', h]],
    ["Mooncake's names", { ...map, parent_hash: 1 }],
    ["Mooncake's names beside vLLM's", { event_type: 'stored', seq_hashes: h, ...map }],
    ['no container', 5],
    ['nothing', []],
    ['a map of nothing', {}],
    ['no tag', { block_hashes: h }],
    ['a tag that is nil', [null, h]],
    ['a removal without blocks', ['BlockRemoved']],
    ['a removal with tokens', { ...removal, token_ids: [] }],
    ['a clear with blocks', { type: 'AllBlocksCleared', block_hashes: h }],
    ['blocks that are nil', [...array].with(1, null)],
    ['a hash that is a float', [...array].with(1, [1.5, 2])],
    ['a hash of 5 bytes', [...array].with(1, [new Uint8Array(5), 2])],
    ['a hash that is a text', [...array].with(1, ['x', 2])],
    ['a parent that is a text', [...array].with(2, 'x')],
    [
      'pairs of tokens',
      [
        'BlockStored',
        [1],
        null,
        [
          [1, 2],
          [2, 3],
        ],
        2,
      ],
    ],
    ['a token above u32', [...array].with(3, [1, 2, 3, 2 ** 32])],
    ['a negative token', [...array].with(3, [1, 2, 3, -1])],
    ['a token that is a float', [...array].with(3, [1, 2, 3, 4.5])],
    ['tokens that do not fill the blocks', [...array].with(4, 3)],
    ['tokens of no block size', [...array].with(4, null)],
    ['a block size of 2^31', [...array].with(3, []).with(4, 2 ** 31)],
    ['a LoRA', [...array].with(5, 7)],
    ['a named LoRA', [...full].with(7, 'adapter')],
    ['a salt', { ...map, cache_salt: 'tenant' }],
    ["SGLang's salted store", [...full.slice(0, 7), { cache_salt: 'tenant' }]],
    ['extra keys', [...full].with(8, [null, ['salt']])],
    ['a medium that is no ASCII', [...full].with(6, 'é')],
    ['a medium that is no text', [...full].with(6, 5)],
    ['a group of 2^31', [...full].with(9, 2 ** 31)],
    ['a negative group', [...full].with(9, -1)],
    ['a kind of attention that is a number', [...full].with(10, 1)],
    ['a window of 2^32', [...full].with(11, 2 ** 32)],
    ['a key that is no text', new Pairs([[5, 5], ...Object.entries(map)])],
    ['a key that is no ASCII', { ...map, é: 1 }],
    ['a key that no object can have', new Pairs([...Object.entries(map), ['__proto__', 1]])],
    ['a name twice', new Pairs([...Object.entries(map), ['medium', 'a'], ['medium', 'b']])],
    ['a map in what is passed over', { ...map, locality: { 5: 1 } }],
    ['a date in what is passed over', [...full, DATE]],
  ])('leaves to the general decoder: %s', (_, event) => {
    const random = new Random(2);
    for (let round = 0; round < 20; round++) {
      const payload = encodeLoosely([1.5, [map, event, removal], 0], random);
      expect(kindsOf(usual(seam, payload))).toEqual([stored, odd, removed]);
    }
  });

  it.each<[string, unknown, number, number]>([
    ['integers', [7, [], 3], 7, 3],
    ['a large integer', [2n ** 64n - 1n, []], 2 ** 64, -1],
    ['a negative integer', [-7, []], -7, -1],
    ['the largest rank', [1.5, [], 2 ** 31 - 1], 1.5, 2 ** 31 - 1],
    ['float32', [new Raw(Uint8Array.of(0xca, 0x3f, 0xc0, 0, 0)), []], 1.5, -1],
    ['further items', [1.5, [], null, 'x', { 5: [1] }, DATE], 1.5, -1],
  ])('reads a batch of %s', (_, value, time, rank) => {
    expect(usual(seam, encodeLoosely(value, new Random(3)))).toMatchObject({ time, rank });
  });

  it.each<[string, Uint8Array]>([
    ['nothing', new Uint8Array(0)],
    ['nil', pack(null)],
    ['a time alone', pack([1.5])],
    ['a map', pack({ ts: 1.5, events: [] })],
    ['a time that is a text', pack(['x', []])],
    ['a time that is not finite', pack([Number.NaN, []])],
    ['a time that is not finite in ms', pack([1e308, []])],
    ['no list of events', pack([1.5, {}])],
    ['a rank that is a text', pack([1.5, [], 'x'])],
    ['a negative rank', pack([1.5, [], -1])],
    ['a rank of 2^31', pack([1.5, [], 2 ** 31])],
    ['a rank that is a float', hex('93cb3ff800000000000090cb0000000000000000')],
    ['a byte behind the batch', hex(`${VLLM_ARRAYS}00`)],
    ['a batch of 2^31 items', hex('dd80000000cb3ff800000000000090c0')],
    ['2^31 events', hex('92cb3ff8000000000000dd80000000')],
    ['2^31 hashes', hex('92cb3ff80000000000009192ac426c6f636b52656d6f766564dd80000000')],
    ['2^31 entries', hex('92cb3ff800000000000091df80000000')],
    ['a text of 2^31 bytes', hex('92cb3ff800000000000091db80000000')],
    ['0xc1 in an odd event', hex('92cb3ff8000000000000919105c1')],
    ['0xc1 among further items', hex('94cb3ff800000000000090c0c1')],
  ])('refuses what is no usual batch: %s', (_, payload) => {
    expect(readColumns(seam, payload)).toBeUndefined();
  });

  it('refuses every truncation', () => {
    for (const sample of [VLLM_ARRAYS, SGLANG_ARRAYS, VLLM_MAPS].map(hex)) {
      for (let length = 0; length < sample.length; length++) {
        expect(readColumns(seam, sample.subarray(0, length))).toBeUndefined();
      }
    }
  });

  it.each([
    ['an array', (depth: number) => [...Array(depth).fill(0x91), 0xc0]],
    ['a map', (depth: number) => [...Array(depth).fill([0x81, 0xa1, 0x61]).flat(), 0xc0]],
  ])('counts the levels of %s as the general decoder does', (_, nested) => {
    const within = (depth: number) => [
      ['an odd event', new Raw(Uint8Array.from(nested(depth)))],
      ['a field that is passed over', ['AllBlocksCleared', new Raw(Uint8Array.from(nested(depth - 1)))]],
    ];
    for (const [, event] of within(32)) usual(seam, encodeLoosely([1.5, [event]], new Random(4)));
    for (const [, event] of within(33)) {
      const payload = encodeLoosely([1.5, [event]], new Random(4));
      expect(() => decodeEventBatch(payload)).toThrow(/nested deeper/);
      expect(readColumns(seam, payload)).toBeUndefined();
    }
    const further = (depth: number) =>
      encodeLoosely([1.5, [], null, new Raw(Uint8Array.from(nested(depth)))], new Random(4));
    usual(seam, further(32));
    expect(readColumns(seam, further(33))).toBeUndefined();
    expect(readColumns(seam, further(200_000))).toBeUndefined();
  });

  it('counts what does not fit and writes nothing of it', () => {
    const events = Array.from({ length: 5 }, (_, i) => [
      map,
      full,
      removal,
      ['Later'],
      { ...map, lora_id: i },
    ]).flat();
    const payload = batch(...events);
    const whole = usual(seam, payload);
    const { counts } = whole;
    for (const room of [
      { events: 0, hashes: 0, tokens: 0 },
      { events: 7, hashes: 1000, tokens: 1000 },
      { events: 1000, hashes: 17, tokens: 1000 },
      { events: 1000, hashes: 1000, tokens: 13 },
      { events: counts.events - 1, hashes: counts.hashes - 1, tokens: counts.tokens - 1 },
      counts,
    ]) {
      const part = readColumns(seam, payload, room)!;
      expect(part.counts).toEqual(counts);
      expect(part.rows).toEqual(whole.rows.subarray(0, room.events * EVENT_PLACES));
      expect(part.hashes).toEqual(whole.hashes.subarray(0, room.hashes));
      expect(part.tokens).toEqual(whole.tokens.subarray(0, room.tokens));
    }
  });
});

describe('both readers and the general decoder', () => {
  it('agree on random batches, and on mutations of them', () => {
    const random = new Random(seedOfRun('read-events'));
    const met = new Map<number | 'refused' | 'no batch', number>();
    const meet = (what: number | 'refused' | 'no batch') => met.set(what, (met.get(what) ?? 0) + 1);
    let other = forgeBatch(random);
    for (let round = 0; round < 6000; round++) {
      let payload = forgeBatch(random);
      const whole = payload;
      for (let n = random.oneIn(2) ? random.between(1, 3) : 0; n > 0; n--)
        payload = mutated(payload, other, random);
      other = whole;
      const general = decoded(payload);
      const room = random.oneIn(4)
        ? { events: random.below(6), hashes: random.below(20), tokens: random.below(40) }
        : undefined;
      const got = readColumns(tested, payload, room);
      const about = { round, payload: Buffer.from(payload).toString('hex') };
      expect({ ...about, ...got }).toEqual({ ...about, ...readColumns(reference, payload, room) });
      const reading = readColumns(tested, payload);
      expect({ ...about, counts: got?.counts }).toEqual({ ...about, counts: reading?.counts });
      if (reading === undefined) {
        meet(general === undefined ? 'no batch' : 'refused');
        continue;
      }
      if (general === undefined) expect.fail(`reads what is no batch: ${JSON.stringify(about)}`);
      const batch = batchOf(payload, reading);
      expect({ ...about, ...withoutWindows(batch) }).toEqual({ ...about, ...withoutWindows(general) });
      for (const kind of kindsOf(reading)) meet(kind);
    }
    for (const what of ['refused', 'no batch', odd, stored, removed, cleared] as const) {
      expect({ what, often: met.get(what)! > 50 }).toEqual({ what, often: true });
    }
  });
});

function decoded(payload: Uint8Array): EventBatch | undefined {
  try {
    return decodeEventBatch(payload);
  } catch {
    return undefined;
  }
}

describe.runIf(tested !== reference)('the addon checks what crosses', () => {
  const loose = tested.readEvents as unknown as (...args: unknown[]) => boolean;
  const payload = hex(VLLM_ARRAYS);
  const { bytes } = EventMemory.of({ events: 1, hashes: 1, tokens: 4 });

  it.each<[string, unknown[], string]>([
    ['no payload', [], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['words for bytes', [new Uint32Array(9), bytes], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['no memory', [payload, undefined], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['memory without a head', [payload, bytes.subarray(0, 100)], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['memory that is not aligned', [payload, bytes.subarray(1)], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['memory that is smaller than it says', [payload, bytes.subarray(0, -1)], 'ERR_KVIDX_OUT_OF_RANGE'],
  ])('and refuses %s', (_, args, code) => {
    expect(() => loose(...args)).toThrow(expect.objectContaining({ code }));
  });
});
