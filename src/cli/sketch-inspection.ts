import { setBits } from '../sketch/bloom-filter.js';
import { expectedInflation, sketchOverlap } from '../sketch/index.js';
import { WORDS_A_BLOCK } from '../sketch/words.js';
import { CliError } from './cli-error.js';
import type { SketchFile } from './sketch-file.js';

const BLOCK_BITS = 256;
const MOST_BUCKETS = 12;
/** Of a Date. */
const LAST_DATE_MS = 8.64e15;

/** Blocks of 256 bits of which so many are set. */
export interface FillBucket {
  readonly from: number;
  readonly to: number;
  readonly blocks: number;
}

export interface TestedHashes {
  readonly hashes: BigUint64Array;
  /** 1: it tests positive. */
  readonly answers: Uint8Array;
  readonly positive: number;
  /** Leading ones that test positive. */
  readonly overlap_blocks: number;
  /** Of them. */
  readonly expected_inflation: number;
}

/** What `--json` prints, beside the hashes tested. Null is what the file does not say, or has none of. */
export interface SketchInspection {
  readonly file: string;
  readonly kind: 'full' | 'delta' | 'clear' | 'parquet';
  readonly worker: string | null;
  readonly session: string | null;
  readonly epoch: number | null;
  readonly sequence: number | null;
  readonly timestamp_ms: number | null;
  readonly built_at: string | null;
  readonly age_ms: number | null;
  readonly block_size: number | null;
  readonly target_fpp: number | null;
  readonly blocks: number | null;
  /** By the bits that are set; null also where all are. */
  readonly estimated_blocks: number | null;
  readonly z: number;
  /** Blocks of 256 bits that are in the file. */
  readonly sent_z: number;
  readonly bytes: number;
  readonly bits_per_block: number | null;
  readonly share_of_bits_set: number | null;
  readonly expected_fpp: number | null;
  readonly expected_inflation: number | null;
  readonly checksum: string | null;
  readonly fill: readonly FillBucket[];
}

export function inspectionOf(file: string, sketch: SketchFile, nowMs: number): SketchInspection {
  const { frame, z, words, filter, bytes, checksum } = sketch;
  const set = bitsSetABlock(words);
  const share =
    set.length === 0 ? null : set.reduce((sum, bits) => sum + bits, 0) / (BLOCK_BITS * set.length);
  const estimated = filter === undefined || share === null ? null : estimatedKeys(share, z);
  const blocks = frame?.keys ?? estimated;
  const rate = filter?.falsePositiveRate();
  return {
    file,
    kind: frame?.kind ?? 'parquet',
    worker: frame?.worker ?? null,
    session: frame?.session ?? null,
    epoch: frame?.epoch ?? null,
    sequence: frame?.sequence ?? null,
    timestamp_ms: frame?.timestampMs ?? null,
    built_at: frame && frame.timestampMs <= LAST_DATE_MS ? new Date(frame.timestampMs).toISOString() : null,
    age_ms: frame ? nowMs - frame.timestampMs : null,
    block_size: frame?.blockSize ?? null,
    target_fpp: frame?.targetFpp ?? null,
    blocks: frame?.keys ?? null,
    estimated_blocks: estimated,
    z,
    sent_z: set.length,
    bytes,
    bits_per_block: blocks ? (BLOCK_BITS * z) / blocks : null,
    share_of_bits_set: share,
    expected_fpp: rate ?? null,
    expected_inflation: rate === undefined || rate === 1 ? null : expectedInflation(rate),
    checksum: checksum === undefined ? null : `0x${checksum.toString(16).padStart(16, '0')}`,
    fill: histogram(set),
  };
}

/** Throws CliError: a delta is no whole filter. */
export function testOf({ filter }: SketchFile, hashes: BigUint64Array): TestedHashes {
  if (filter === undefined) {
    throw new CliError(
      'a delta frame has only the blocks that changed: hashes can be tested against a full frame',
    );
  }
  const answers = filter.test(hashes);
  const { overlapBlocks, expectedInflation } = sketchOverlap(filter, hashes);
  return {
    hashes,
    answers,
    positive: answers.reduce((sum, one) => sum + one, 0),
    overlap_blocks: overlapBlocks,
    expected_inflation: expectedInflation,
  };
}

function bitsSetABlock(words: Uint32Array): Uint16Array {
  const set = new Uint16Array(words.length / WORDS_A_BLOCK);
  for (let i = 0; i < words.length; i++) set[Math.floor(i / WORDS_A_BLOCK)]! += setBits(words[i]!);
  return set;
}

/**
 * Keys that leave this share of the bits set: each sets one of the 32 bits of all words of its block, so that with λ keys a
 * block the share is 1 − e^(−λ / 32) on average.
 */
function estimatedKeys(share: number, z: number): number | null {
  return share === 1 ? null : Math.round(-32 * Math.log1p(-share) * z);
}

/** All blocks by the bits that are set in them, in ranges of one width. */
function histogram(set: Uint16Array): FillBucket[] {
  if (set.length === 0) return [];
  const sorted = set.toSorted();
  const [least, most] = [sorted[0]!, sorted.at(-1)!];
  const width = Math.ceil((most - least + 1) / MOST_BUCKETS);
  const counts = new Array<number>(Math.ceil((most - least + 1) / width)).fill(0);
  for (const bits of set) counts[Math.floor((bits - least) / width)]! += 1;
  return counts.map((blocks, i) => ({ from: least + i * width, to: least + (i + 1) * width - 1, blocks }));
}
