import { describe, expect, it } from 'vitest';
import { KvidxError } from '../../src/errors.js';
import { Random } from '../../src/random.js';
import { BloomFilter } from '../../src/sketch/bloom-filter.js';
import { fromParquet, toParquet } from '../../src/sketch/parquet.js';
import { codeOf, range } from '../kv-index/support.js';
import { bytesFromHex, plainFilter, randomHashes } from './support.js';

const UNIONS = '1c1c0000 1c1c0000 1c1c0000 00';

/** What reading the bytes is refused with. */
function refusal(bytes: Uint8Array, maxBlocks?: number): string {
  try {
    fromParquet(bytes, maxBlocks === undefined ? {} : { maxBlocks });
  } catch (error) {
    if (error instanceof KvidxError && error.code === 'ERR_KVIDX_BAD_FRAME') return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('the header of a Parquet Bloom filter', () => {
  it.each([
    ['bloom_filter.xxhash.bin of parquet-mr', 32, '15 8010'],
    ['data_index_bloom_encoding_with_length.parquet of parquet-mr', 64, '15 8020'],
    ['the tests of arrow-rs', 1, '15 40'],
    ['a filter of 2 MiB', 65_536, '15 80808002'],
  ])('has the bytes that %s has', (_, z, numBytes) => {
    const header = bytesFromHex(numBytes + UNIONS);
    const bytes = toParquet(new BloomFilter(z));
    expect(bytes.subarray(0, header.length)).toEqual(header);
    expect(bytes).toHaveLength(header.length + 32 * z);
  });
});

describe('a filter in Parquet’s form', () => {
  it('is read as parquet-mr wrote it in bloom_filter.xxhash.bin', () => {
    const blocks = {
      4: [0x100000, 0x200, 0x400, 0x80, 0x200, 0x80000000, 0x10000000, 0x8000000],
      5: [0x800000, 0x10000000, 0x1, 0x10000000, 0x20, 0x200000, 0x40000000, 0x80000],
      7: [0x4, 0x400000, 0x400000, 0x80000, 0x4000000, 0x2000, 0x10, 0x2],
      10: [0x200000, 0x800, 0x100, 0x20000000, 0x800000, 0x8000000, 0x100, 0x1000],
    };
    const file = new Uint8Array(16 + 1024);
    file.set(bytesFromHex(`15 8010 ${UNIONS}`));
    for (const [block, words] of Object.entries(blocks)) {
      file.set(new Uint8Array(Uint32Array.from(words).buffer), 16 + 32 * Number(block));
    }
    const filter = fromParquet(file);
    const values = ['hello', 'parquet', 'bloom', 'filter'].map((value) => new TextEncoder().encode(value));
    expect(filter.words).toEqual(plainFilter(values, 32));
    expect(toParquet(filter)).toEqual(file);
  });

  it.each([1, 2, 3, 63, 64, 1000])('comes back as it was, of %i blocks', (z) => {
    const filter = new BloomFilter(z);
    filter.add(randomHashes(new Random(z), 20 * z));
    const bytes = toParquet(filter);
    expect(fromParquet(bytes).equals(filter)).toBe(true);
    const within = new Uint8Array(bytes.length + 3);
    within.set(bytes, 1);
    expect(fromParquet(within.subarray(1, 1 + bytes.length)).equals(filter)).toBe(true);
    expect(fromParquet(Buffer.from(bytes)).equals(filter)).toBe(true);
  });

  it('is copied in both directions', () => {
    const filter = BloomFilter.of(range(0, 20));
    const bytes = toParquet(filter);
    const read = fromParquet(bytes);
    bytes.fill(0);
    expect(read.equals(BloomFilter.of(range(0, 20)))).toBe(true);
    expect(filter.equals(read)).toBe(true);
  });
});

describe('bytes that are no Parquet Bloom filter', () => {
  const bytes = toParquet(BloomFilter.of(range(0, 40)));
  const body = '00'.repeat(64);

  it('are refused wherever they end too early, and behind their end', () => {
    for (let length = 0; length < bytes.length; length++) refusal(bytes.subarray(0, length));
    expect(refusal(new Uint8Array([...bytes, 0]))).toMatch(/numBytes is 64, and 65 bytes follow/);
  });

  it('are refused where they end within the header, saying so', () => {
    const whole = toParquet(new BloomFilter(1));
    for (const length of [2, 3, 7, 13]) {
      expect(() => fromParquet(whole.subarray(0, length))).toThrow(/header|numBytes/);
    }
    expect(() => fromParquet(whole.subarray(0, 5))).toThrow('it ends within its header (byte 5)');
  });

  it('are refused for each byte of the header that is another', () => {
    for (let at = 0; at < bytes.length - 64; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = bytes.slice();
        damaged[at]! ^= 1 << bit;
        refusal(damaged);
      }
    }
  });

  it.each([
    ['no bytes', '', /does not begin with numBytes \(byte 0\)/],
    ['another first field', `25 8001 ${UNIONS} ${body}`, /does not begin with numBytes/],
    ['a negative size', `15 7f ${UNIONS} ${body}`, /numBytes is -64, not a positive multiple of 32/],
    ['no blocks', `15 00 ${UNIONS}`, /numBytes is 0, not a positive multiple of 32/],
    ['half a block', `15 20 ${UNIONS} ${'00'.repeat(16)}`, /numBytes is 16, not a positive multiple of 32/],
    ['an endless size', `15 ffffffffff01 ${UNIONS} ${body}`, /no whole number of 32 bits/],
    ['a size beyond 32 bits', `15 80818080f0ffff ${UNIONS} ${body}`, /no whole number of 32 bits/],
    [
      'another algorithm',
      `15 8001 1c2c0000 1c1c0000 1c1c0000 00 ${body}`,
      /algorithm is not BLOCK \(byte 3\)/,
    ],
    ['another hash', `15 8001 1c1c0000 1c2c0000 1c1c0000 00 ${body}`, /hash is not XXHASH \(byte 7\)/],
    [
      'a compression',
      `15 8001 1c1c0000 1c1c0000 1c2c0000 00 ${body}`,
      /compression is not UNCOMPRESSED \(byte 11\)/,
    ],
    [
      'one field more',
      `15 8001 1c1c0000 1c1c0000 1c1c0000 1500 00 ${body}`,
      /header does not end \(byte 15\)/,
    ],
    ['one field less', `15 8001 1c1c0000 1c1c0000 00 ${body}`, /compression is not UNCOMPRESSED/],
    ['less than it says', `15 8080808002 ${UNIONS} ${body}`, /numBytes is 268,435,456, and 64 bytes follow/],
    ['too many blocks', `15 feffffff0f ${UNIONS} ${body}`, /not a positive multiple of 32/],
  ])('are refused: %s', (_, hex, problem) => {
    expect(refusal(bytesFromHex(hex))).toMatch(problem);
  });

  it('are refused when the filter is larger than allowed', () => {
    expect(refusal(bytes, 1)).toMatch(/has 2 blocks, at most 1 are taken/);
    expect(fromParquet(bytes, { maxBlocks: 2 }).z).toBe(2);
    expect(refusal(bytesFromHex(`15 c0ffffff0f ${UNIONS}`))).toMatch(
      /has 67,108,863 blocks, at most 33,554,432/,
    );
  });
});

it('misuse is refused', () => {
  expect(codeOf(() => toParquet({} as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  expect(codeOf(() => fromParquet([21] as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  expect(codeOf(() => fromParquet(new Uint8Array(40), { maxBlocks: 0 }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
});
