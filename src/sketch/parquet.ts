import { invalidArgType, KvidxError } from '../errors.js';
import { counted, grouped } from '../text.js';
import { checkBytes, checkInteger, checkOptions } from '../validate.js';
import { BloomFilter } from './bloom-filter.js';
import { MAX_FILTER_BLOCKS } from './sizing.js';
import { BLOCK_BYTES, bytesOf } from './words.js';

/*
 * A Bloom filter as Parquet files hold it, that of an INT64 column of the seq hashes (github.com/apache/parquet-format,
 * BloomFilter.md, and BloomFilterHeader in parquet.thrift): a header in Thrift's compact protocol (github.com/apache/thrift,
 * doc/specs/thrift-compact-protocol.md), then the bitset.
 *
 *   15 <zigzag varint>   field 1, i32: numBytes
 *   1c 1c 00 00          field 2, union: algorithm, whose field 1, an empty struct, is BLOCK
 *   1c 1c 00 00          field 3, union: hash, XXHASH
 *   1c 1c 00 00          field 4, union: compression, UNCOMPRESSED
 *   00                   end
 *
 * The protocol leaves one way to write these fields in the order of their ids, and all writers keep to it: parquet-mr (the
 * files of github.com/apache/parquet-testing), arrow-rs, Arrow C++. Any other header is refused.
 */

const NUM_BYTES_FIELD = 0x15;
const UNIONS = ['algorithm is not BLOCK', 'hash is not XXHASH', 'compression is not UNCOMPRESSED'] as const;
const UNION_OF_FIRST = [0x1c, 0x1c, 0, 0] as const;
const STOP = 0;
/** Of a varint of 32 bits. */
const MAX_VARINT_BYTES = 5;

export interface FromParquetOptions {
  /** Blocks of the largest filter that is taken. Default 2^25. */
  readonly maxBlocks?: number;
}

/** Header and bitset, a new `Uint8Array`. Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function toParquet(filter: BloomFilter): Uint8Array {
  if (!(filter instanceof BloomFilter)) throw invalidArgType('filter', 'a BloomFilter', filter);
  const unions = UNIONS.flatMap(() => UNION_OF_FIRST);
  const header = [NUM_BYTES_FIELD, ...varint(2 * filter.byteLength), ...unions, STOP];
  const bytes = new Uint8Array(header.length + filter.byteLength);
  bytes.set(header);
  bytes.set(bytesOf(filter.words), header.length);
  return bytes;
}

/**
 * The filter of header and bitset, copied. Throws ERR_KVIDX_BAD_FRAME where the bytes are anything but that, or the filter
 * has more than `maxBlocks`; ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. Takes memory only for bits that are there.
 */
export function fromParquet(bytes: Uint8Array, options?: FromParquetOptions): BloomFilter {
  const { maxBlocks = MAX_FILTER_BLOCKS } = checkOptions(options);
  checkInteger('maxBlocks', maxBlocks, 1, MAX_FILTER_BLOCKS);
  const { numBytes, end } = readHeader(checkBytes(bytes));
  const z = numBytes / BLOCK_BYTES;
  if (!Number.isInteger(z) || z < 1)
    throw badFilter(`numBytes is ${numBytes}, not a positive multiple of 32`);
  if (z > maxBlocks)
    throw badFilter(`it has ${counted(z, 'block')}, at most ${grouped(maxBlocks)} are taken`);
  const follow = bytes.length - end;
  if (follow !== numBytes)
    throw badFilter(`numBytes is ${grouped(numBytes)}, and ${counted(follow, 'byte')} follow`);
  const filter = new BloomFilter(z);
  bytesOf(filter.words).set(bytes.subarray(end));
  return filter;
}

/** Bytes past the last read as `undefined`, which equals nothing that is expected. */
function readHeader(bytes: Uint8Array): { numBytes: number; end: number } {
  if (bytes[0] !== NUM_BYTES_FIELD) throw badFilter('its header does not begin with numBytes (byte 0)');
  const { value, end } = readVarint(bytes, 1);
  let at = end;
  for (const wrong of UNIONS) {
    const differs = UNION_OF_FIRST.findIndex((byte, i) => bytes[at + i] !== byte);
    if (differs >= 0) {
      const isCut = at + differs >= bytes.length;
      throw badFilter(
        isCut ? `it ends within its header (byte ${bytes.length})` : `its ${wrong} (byte ${at})`,
      );
    }
    at += UNION_OF_FIRST.length;
  }
  if (bytes[at] !== STOP) throw badFilter(`its header does not end (byte ${at})`);
  return { numBytes: value % 2 === 0 ? value / 2 : -(value + 1) / 2, end: at + 1 };
}

/** 7 bits a byte, the lowest first; all but the last byte have the highest bit set. */
function varint(value: number): number[] {
  return value < 128 ? [value] : [128 + (value % 128), ...varint(Math.floor(value / 128))];
}

function readVarint(bytes: Uint8Array, begin: number): { value: number; end: number } {
  let value = 0;
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    const byte = bytes[begin + i];
    if (byte === undefined) break;
    value += (byte % 128) * 128 ** i;
    if (byte < 128) return { value, end: begin + i + 1 };
  }
  throw badFilter(`numBytes is no whole number of 32 bits (byte ${begin})`);
}

function badFilter(problem: string): KvidxError {
  return new KvidxError('ERR_KVIDX_BAD_FRAME', `Parquet Bloom filter: ${problem}`);
}
