import { BloomFilter, decodeFrame, fromParquet, type SketchFrame } from '../sketch/index.js';
import { CliError } from './cli-error.js';

/** Bytes that tell what a file is. */
export const BEGINNING_BYTES = 4;
const FRAME_BEGINS = 'KVSK';
const PARQUET_BEGINS = 0x15;
const CHECKSUM_BYTES = 8;

/** What a file holds. */
export interface SketchFile {
  /** Undefined: a Parquet filter. */
  readonly frame: SketchFrame | undefined;
  /** Blocks of the whole filter. */
  readonly z: number;
  /** `Uint32Array[8 n]`: the blocks that are in the file, all of the filter or those of a delta. */
  readonly words: Uint32Array;
  /** Undefined: a delta, which is no whole filter. */
  readonly filter: BloomFilter | undefined;
  /** Of the file. */
  readonly bytes: number;
  /** Of a frame. */
  readonly checksum: bigint | undefined;
}

/** What bytes are that begin so. Throws CliError where they are neither. */
export function formOf(bytes: Uint8Array): 'frame' | 'parquet' {
  if (bytes.length === 0) throw new CliError('the file is empty');
  const beginning = Buffer.from(bytes.subarray(0, BEGINNING_BYTES));
  if (beginning.toString('latin1') === FRAME_BEGINS) return 'frame';
  if (beginning[0] === PARQUET_BEGINS) return 'parquet';
  const shown = beginning.toString('hex').replace(/..\B/g, '$& ');
  throw new CliError(
    `it begins with the bytes ${shown}: neither a sketch frame (4b 56 53 4b, "KVSK") nor a Parquet filter (15)`,
  );
}

/** Throws ERR_KVIDX_BAD_FRAME; CliError where the bytes are neither. */
export function openSketch(bytes: Uint8Array): SketchFile {
  if (formOf(bytes) === 'frame') return openFrame(bytes);
  const filter = fromParquet(bytes);
  const { z, words } = filter;
  return { frame: undefined, z, words, filter, bytes: bytes.length, checksum: undefined };
}

function openFrame(bytes: Uint8Array): SketchFile {
  const frame = decodeFrame(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - CHECKSUM_BYTES);
  const common = { frame, bytes: bytes.length, checksum: view.getBigUint64(0, true) };
  switch (frame.kind) {
    case 'full':
      return { ...common, z: frame.filter.z, words: frame.filter.words, filter: frame.filter };
    case 'delta':
      return { ...common, z: frame.z, words: frame.blocks, filter: undefined };
    case 'clear':
      return { ...common, z: frame.z, words: new Uint32Array(0), filter: new BloomFilter(1) };
  }
}
