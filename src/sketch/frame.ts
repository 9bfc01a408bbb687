import { invalidArgType, KvidxError, lengthMismatch, outOfRange } from '../errors.js';
import { seam } from '../native/index.js';
import { FRAME, FRAME_FAULT, FRAME_FIELDS, FRAME_KIND } from '../native/seam.js';
import { counted, grouped } from '../text.js';
import {
  checkBytes,
  checkChoice,
  checkInteger,
  checkName,
  checkOptions,
  checkUint32Array,
} from '../validate.js';
import { BloomFilter } from './bloom-filter.js';
import { checkZ, MAX_FILTER_BLOCKS } from './sizing.js';
import type { DeltaFrame, SketchFrame, SketchHead } from './types.js';
import { bytesOf, WORDS_A_BLOCK } from './words.js';

/*
 * Sketch frame, version 1, little-endian:
 *
 *    0  "KVSK" | u8 version | u8 kind: 1 full, 2 delta, 3 clear | u16 flags: 0
 *    8  u64 epoch | u64 sequence | u64 timestamp in ms | u64 keys | f64 target rate of false positives
 *   48  u16 scheme of the seq hashes: 1 is xxh64-v1 | u16 block size in tokens | u32 z
 *   56  u16 length, worker | u16 length, session (0: the whole worker), both UTF-8
 *       payload: full: 32 z bytes, the filter | delta: u32 n, n × (u32 block index, 32 bytes) | clear: nothing
 *       u64 XXH64 (seed 0) of all before
 */

/** Seq hashes as `BlockHasher` makes them. */
export const SCHEME_XXH64_V1 = 1;

const VERSION = 1;
const HEAD_BYTES = 56;
const CHECKSUM_BYTES = 8;
const MAX_NAME_BYTES = 0xffff;
/** Of a frame, that of the format; of an index it is less. */
export const MAX_FRAME_BLOCK_SIZE = 0xffff;
/** A block of a delta: its index, then its words. */
const WORDS_A_PAIR = 1 + WORDS_A_BLOCK;

const utf8 = new TextEncoder();
/** A name may begin with U+FEFF, and keeps it. */
const fromUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const fields = new Float64Array(FRAME_FIELDS);

export interface DecodeFrameOptions {
  /** Tokens a block; a frame of another size is refused. Default: any. */
  readonly blockSize?: number;
  /** Blocks of the largest filter that is taken, also of a delta's. Default 2^25. */
  readonly maxBlocks?: number;
}

/**
 * The frame in bytes, a new `Uint8Array`. Throws ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE (names of more than
 * 65,535 bytes of UTF-8 too) or ERR_KVIDX_LENGTH_MISMATCH (`blocks` and `indices`).
 */
export function encodeFrame(frame: SketchFrame): Uint8Array {
  if (typeof frame !== 'object' || frame === null) throw invalidArgType('frame', 'an object', frame);
  const kind = checkChoice('kind', frame.kind, ['full', 'delta', 'clear']);
  const worker = encodeName('worker', frame.worker);
  const session = frame.session === undefined ? new Uint8Array(0) : encodeName('session', frame.session);
  const { z, payload } = payloadOf({ ...frame, kind } as SketchFrame);
  const payloadAt = HEAD_BYTES + 2 + worker.length + 2 + session.length;
  const end = payloadAt + payload.length;

  const bytes = new Uint8Array(end + CHECKSUM_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(utf8.encode('KVSK'));
  view.setUint8(4, VERSION);
  view.setUint8(5, FRAME_KIND[kind]);
  view.setBigUint64(8, checkNumber('epoch', frame.epoch), true);
  view.setBigUint64(16, checkNumber('sequence', frame.sequence), true);
  view.setBigUint64(24, checkNumber('timestampMs', frame.timestampMs), true);
  view.setBigUint64(32, checkNumber('keys', frame.keys), true);
  view.setFloat64(40, checkShare('targetFpp', frame.targetFpp), true);
  view.setUint16(48, SCHEME_XXH64_V1, true);
  view.setUint16(50, checkInteger('blockSize', frame.blockSize, 1, MAX_FRAME_BLOCK_SIZE), true);
  view.setUint32(52, z, true);
  view.setUint16(HEAD_BYTES, worker.length, true);
  bytes.set(worker, HEAD_BYTES + 2);
  view.setUint16(HEAD_BYTES + 2 + worker.length, session.length, true);
  bytes.set(session, payloadAt - session.length);
  bytes.set(payload, payloadAt);
  view.setBigUint64(end, seam.xxh64(bytes.subarray(0, end), 0n), true);
  return bytes;
}

/**
 * The frame that `bytes` are, copied out of them. It may come from anybody: all lengths are checked against the bytes that
 * are there before memory is taken, so that no more of it is taken than they have. Throws ERR_KVIDX_BAD_FRAME, saying what
 * is wrong and where; ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
 */
export function decodeFrame(bytes: Uint8Array, options?: DecodeFrameOptions): SketchFrame {
  const { blockSize, maxBlocks = MAX_FILTER_BLOCKS } = checkOptions(options);
  if (blockSize !== undefined) checkInteger('blockSize', blockSize, 1, MAX_FRAME_BLOCK_SIZE);
  checkInteger('maxBlocks', maxBlocks, 1, MAX_FILTER_BLOCKS);
  const fault = seam.readFrame(checkBytes(bytes), maxBlocks, fields);
  if (fault !== FRAME_FAULT.ok) throw badFrame(describeFault(fault, bytes, maxBlocks));
  checkMeaning(blockSize);

  const payload = bytes.subarray(fields[FRAME.payloadBegin], fields[FRAME.payloadEnd]);
  const z = fields[FRAME.z]!;
  const head = readHead(bytes);
  switch (fields[FRAME.kind]) {
    case FRAME_KIND.full: {
      const filter = new BloomFilter(z);
      bytesOf(filter.words).set(payload);
      return { kind: 'full', ...head, filter };
    }
    case FRAME_KIND.delta:
      return { kind: 'delta', ...head, z, ...readPairs(payload) };
    default:
      return { kind: 'clear', ...head, z };
  }
}

// ----------------------------------------------------------------------------------------------------------- writing

/** The blocks of the filter, and what follows the names. */
function payloadOf(frame: SketchFrame): { z: number; payload: Uint8Array } {
  if (frame.kind === 'clear') return { z: checkZ(frame.z, 0), payload: new Uint8Array(0) };
  if (frame.kind === 'delta') {
    const z = checkZ(frame.z);
    return { z, payload: bytesOf(writePairs({ ...frame, z })) };
  }
  const { filter } = frame;
  if (!(filter instanceof BloomFilter)) throw invalidArgType('filter', 'a BloomFilter', filter);
  return { z: filter.z, payload: bytesOf(filter.words) };
}

/** `Uint32Array[1 + 9 n]`: n, then each index with its block. */
function writePairs({ z, indices, blocks }: DeltaFrame): Uint32Array {
  checkUint32Array(indices, 'indices');
  checkUint32Array(blocks, 'blocks');
  if (blocks.length !== WORDS_A_BLOCK * indices.length) {
    const expected = counted(WORDS_A_BLOCK * indices.length, 'element');
    throw lengthMismatch(`blocks must have ${expected}, 8 for each index, got ${blocks.length}`);
  }
  const words = new Uint32Array(1 + WORDS_A_PAIR * indices.length);
  words[0] = indices.length;
  let least = 0;
  for (let i = 0, at = 1; i < indices.length; i++, at += WORDS_A_PAIR) {
    const index = indices[i]!;
    if (index < least || index >= z) throw outOfRange(`indices[${i}]`, `from ${least} to ${z - 1}`, index);
    least = index + 1;
    words[at] = index;
    for (let k = 0; k < WORDS_A_BLOCK; k++) words[at + 1 + k] = blocks[WORDS_A_BLOCK * i + k]!;
  }
  return words;
}

/** UTF-8 of a name that a frame can hold. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function encodeName(what: string, name: unknown): Uint8Array {
  const bytes = utf8.encode(checkName(what, name));
  if (bytes.length <= MAX_NAME_BYTES) return bytes;
  throw outOfRange(`${what}, in bytes of UTF-8,`, `at most ${MAX_NAME_BYTES}`, bytes.length);
}

function checkNumber(what: string, value: unknown): bigint {
  return BigInt(checkInteger(what, value, 0, Number.MAX_SAFE_INTEGER));
}

function checkShare(what: string, value: unknown): number {
  if (typeof value !== 'number') throw invalidArgType(what, 'a number', value);
  if (!(value > 0 && value < 1)) throw outOfRange(what, 'above 0 and below 1', value);
  return value;
}

// ----------------------------------------------------------------------------------------------------------- reading

/** What every frame says, from `fields` and the names in `bytes`. */
function readHead(bytes: Uint8Array): SketchHead {
  const session = fromUtf8.decode(bytes.subarray(fields[FRAME.sessionBegin], fields[FRAME.sessionEnd]));
  return {
    worker: fromUtf8.decode(bytes.subarray(fields[FRAME.workerBegin], fields[FRAME.workerEnd])),
    session: session === '' ? undefined : session,
    epoch: fields[FRAME.epoch]!,
    sequence: fields[FRAME.sequence]!,
    timestampMs: fields[FRAME.timestampMs]!,
    keys: fields[FRAME.keys]!,
    targetFpp: fields[FRAME.targetFpp]!,
    blockSize: fields[FRAME.blockSize]!,
  };
}

/** Copied as bytes first: they lie anywhere, words do not. */
function readPairs(payload: Uint8Array): Pick<DeltaFrame, 'indices' | 'blocks'> {
  const words = new Uint32Array(payload.length / Uint32Array.BYTES_PER_ELEMENT);
  bytesOf(words).set(payload);
  const indices = new Uint32Array(words.length / WORDS_A_PAIR);
  const blocks = new Uint32Array(WORDS_A_BLOCK * indices.length);
  for (let i = 0, at = 0; i < indices.length; i++, at += WORDS_A_PAIR) {
    indices[i] = words[at]!;
    for (let k = 0; k < WORDS_A_BLOCK; k++) blocks[WORDS_A_BLOCK * i + k] = words[at + 1 + k]!;
  }
  return { indices, blocks };
}

/** A frame that is sound may still be of hashes that mean nothing here. */
function checkMeaning(blockSize: number | undefined): void {
  const scheme = fields[FRAME.scheme]!;
  if (scheme !== SCHEME_XXH64_V1) {
    throw badFrame(
      `its hashes are of scheme ${scheme} (byte 48), only ${SCHEME_XXH64_V1}, xxh64-v1, is known`,
    );
  }
  const given = fields[FRAME.blockSize]!;
  if (blockSize !== undefined && given !== blockSize) {
    throw badFrame(`its blocks have ${counted(given, 'token')} (byte 50), here they have ${blockSize}`);
  }
}

export function badFrame(problem: string): KvidxError {
  return new KvidxError('ERR_KVIDX_BAD_FRAME', `sketch frame: ${problem}`);
}

/** What the reader found, in words. All but `truncated` is found in a frame whose head is there. */
function describeFault(fault: number, bytes: Uint8Array, maxBlocks: number): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  switch (fault) {
    case FRAME_FAULT.truncated:
      return `it ends after ${counted(bytes.length, 'byte')}, before what its own lengths ask for`;
    case FRAME_FAULT.magic:
      return 'it does not begin with "KVSK": this is no sketch frame';
    case FRAME_FAULT.version:
      return `it is of version ${view.getUint8(4)} (byte 4), only ${VERSION} is known`;
    case FRAME_FAULT.kind:
      return `its kind is ${view.getUint8(5)} (byte 5), not 1 (full), 2 (delta) or 3 (clear)`;
    case FRAME_FAULT.flags:
      return `its flags are ${view.getUint16(6, true)} (byte 6), version ${VERSION} has none`;
    case FRAME_FAULT.number:
      return 'epoch, sequence, timestamp or keys (bytes 8 to 39) are beyond 2^53 − 1';
    case FRAME_FAULT.targetFpp:
      return `its target rate of false positives is ${view.getFloat64(40, true)} (byte 40), not above 0 and below 1`;
    case FRAME_FAULT.blockSize:
      return 'its block size is 0 (byte 50)';
    case FRAME_FAULT.z:
      return `its filter has ${counted(view.getUint32(52, true), 'block')} (byte 52), not 1 to ${grouped(maxBlocks)}`;
    case FRAME_FAULT.name:
      return `its worker has no name, or a name is not UTF-8 (from byte ${HEAD_BYTES})`;
    case FRAME_FAULT.delta:
      return `the block indices of its delta do not rise, or are not below z = ${view.getUint32(52, true)}`;
    case FRAME_FAULT.tooLong:
      return `it goes on behind its end: its ${counted(bytes.length, 'byte')} are more than its lengths ask for`;
    case FRAME_FAULT.checksum:
      return `its checksum (byte ${bytes.length - CHECKSUM_BYTES}) does not match`;
    default:
      return `the reader refused it with ${fault}`;
  }
}
