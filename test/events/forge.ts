import type { Random } from '../property/random.js';
import { encodeLoosely, Pairs, Raw } from './loose-msgpack.js';

/*
 * Random batches of KV events: most fields are of usual values, some of values that are odd, wrong or no msgpack.
 */

const STORED_NAMES = [
  'type',
  'block_hashes',
  'parent_block_hash',
  'token_ids',
  'block_size',
  'lora_id',
  'medium',
  'lora_name',
  'extra_keys',
  'group_idx',
  'kv_cache_spec_kind',
  'kv_cache_spec_sliding_window',
];
const REMOVED_NAMES = ['type', 'block_hashes', 'medium', 'group_idx'];

/** Of any field. */
const STRANGE: readonly unknown[] = [
  ...['', 'x', 'séance', 'x'.repeat(300), '\u{1f600}', true, 1.5, 5.25, -1, 0, 7, 2 ** 31 - 1, 2 ** 31],
  ...[2 ** 32 - 1, 2 ** 32, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n), [], [null], [1], [-1], [[1, 2]], {}],
  ...[{ a: 1 }, { cache_salt: 's' }, ['a', null], new Uint8Array(5), new Uint8Array(8), new Uint8Array(32)],
  new Pairs([[1, 2]]),
  new Pairs([['__proto__', 2]]),
  // Integers as floats, a date, one of a wrong length, an unknown extension, text that is no UTF-8, no msgpack, 2^31 items.
  ...[
    [0xca, 0x40, 0xa0, 0, 0],
    [0xd6, 0xff, 1, 2, 3, 4],
    [0xd4, 0xff, 1],
    [0xc7, 3, 5, 1, 2, 3],
    [0xa2, 0xc3, 0x28],
    [0xc1],
    [0xdd, 0x80, 0, 0, 0],
    [0xdf, 0x80, 0, 0, 0],
    [0xdb, 0x80, 0, 0, 0],
  ].map((bytes) => new Raw(Uint8Array.from(bytes))),
];

export function forgeBatch(random: Random): Uint8Array {
  const events = Array.from({ length: random.below(6) }, () => forgeEvent(random));
  const time = random.oneOf<unknown>([1.5, 1789095808.83, 7, 2n ** 64n - 1n, -3]);
  const items = [time, events, random.oneOf([null, 0, 3, 2 ** 31 - 1]), 'more', { a: [1] }];
  if (random.oneIn(20)) return encodeLoosely({ ts: time, events, data_parallel_rank: 1 }, random);
  const length = random.oneIn(3) ? random.between(2, 5) : 3;
  if (random.oneIn(30)) items[random.below(length)] = random.oneOf(STRANGE);
  return encodeLoosely(items.slice(0, length), random);
}

function forgeEvent(random: Random): unknown {
  if (random.oneIn(40)) return random.oneOf(STRANGE);
  const kind = random.below(8);
  if (kind === 0)
    return random.oneOf<unknown>([['AllBlocksCleared'], { type: 'AllBlocksCleared' }, ['Later', 1]]);
  const isStored = kind > 2;
  const fields = isStored ? storedFields(random) : removedFields(random);
  const names = isStored ? STORED_NAMES : REMOVED_NAMES;
  if (random.oneIn(6)) fields[random.oneOf(names)] = random.oneOf(STRANGE);
  if (random.oneIn(2)) {
    const least = isStored ? 5 : 2;
    const array = names.slice(0, random.between(least, names.length)).map((name) => fields[name]);
    return random.oneIn(5) ? [...array, ...Array(8).fill('further')] : array;
  }
  return forgeMap(fields, random);
}

function forgeMap(fields: Record<string, unknown>, random: Random): Pairs {
  let pairs: [unknown, unknown][] = Object.entries(fields);
  if (random.oneIn(3)) pairs = pairs.filter(([, value]) => value !== null);
  const further = [
    'session_id',
    'locality',
    'lora_name',
    'cache_salt',
    'event_type',
    'seq_hashes',
    'é',
    '',
    5,
  ];
  if (random.oneIn(4)) {
    const pair: [unknown, unknown] = [random.oneOf(further), random.oneOf<unknown>([null, 's', ...STRANGE])];
    pairs.splice(random.below(pairs.length + 1), 0, pair);
  }
  if (random.oneIn(3)) pairs.reverse();
  return new Pairs(pairs);
}

function storedFields(random: Random): Record<string, unknown> {
  const blocks = random.oneIn(20) ? 0 : random.between(1, 4);
  const blockSize = random.between(1, 5);
  const isOffload = random.oneIn(5);
  const token = () => random.oneOf([random.below(128), random.below(2 ** 16), random.below(2 ** 32)]);
  return {
    type: 'BlockStored',
    block_hashes: Array.from({ length: blocks }, () => forgeHash(random)),
    parent_block_hash: random.oneIn(3) ? null : forgeHash(random),
    token_ids: isOffload ? random.oneOf([null, []]) : Array.from({ length: blocks * blockSize }, token),
    block_size: isOffload ? random.oneOf([null, 0, 16]) : blockSize,
    lora_id: null,
    medium: random.oneOf([null, 'GPU', 'CPU_PINNED', '']),
    lora_name: random.oneIn(5) ? '' : null,
    extra_keys: random.oneOf([null, Array(blocks).fill(null), [], Array(3).fill(null)]),
    group_idx: random.oneOf([null, 0, 2]),
    kv_cache_spec_kind: random.oneOf([null, 'full_attention', '']),
    kv_cache_spec_sliding_window: random.oneOf([null, 4096]),
  };
}

function removedFields(random: Random): Record<string, unknown> {
  return {
    type: 'BlockRemoved',
    block_hashes: Array.from({ length: random.below(4) }, () => forgeHash(random)),
    medium: random.oneOf([null, 'GPU', 'DISK']),
    group_idx: random.oneOf([null, 0, 1]),
  };
}

function forgeHash(random: Random): unknown {
  const u64 = (BigInt(random.below(2 ** 32)) << 32n) | BigInt(random.below(2 ** 32));
  const digest = () => {
    const bytes = new Uint8Array(random.oneOf([8, 16, 32]));
    new DataView(bytes.buffer).setBigUint64(bytes.length - 8, u64);
    return bytes;
  };
  const form = random.below(6);
  if (form === 0) return BigInt.asIntN(64, u64);
  if (form === 1) return random.between(-200, 200);
  return form === 2 ? digest() : u64;
}

/** Bytes changed, cut off, put behind or taken from another payload. */
export function mutated(payload: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  if (payload.length === 0) return payload;
  const bytes = payload.slice();
  const at = random.below(bytes.length);
  switch (random.below(6)) {
    case 0:
      bytes[at]! ^= 1 << random.below(8);
      return bytes;
    case 1:
      // Types that ask for what follows, and others that the bounds of types are made of.
      bytes[at] = random.oneOf([
        ...[0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc4, 0xc7, 0xcc, 0xcf, 0xd0],
        ...[0xd3, 0xd4, 0xd8, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff],
      ]);
      return bytes;
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return Uint8Array.of(...bytes, ...other.subarray(0, random.below(4)));
    case 4:
      return Uint8Array.of(...bytes.subarray(0, at), ...other.subarray(random.below(other.length + 1)));
    default: {
      const from = random.below(other.length + 1);
      return Uint8Array.of(
        ...bytes.subarray(0, at),
        ...other.subarray(from, from + random.below(20)),
        ...bytes.subarray(at),
      );
    }
  }
}
