import { KvidxError } from '../../errors.js';
import { MAX_BLOCK_SIZE } from '../../hash/limits.js';
import type { TraceRow } from '../../trace/types.js';
import { checkInteger } from '../../validate.js';
import { halvesOf } from './block-tier.js';

/**
 * Token ids are below the size of a vocabulary, and those of text are mostly far below: frequent tokens come first. The fourth
 * power of an even draw has a median of 9,375, and 19 % above 2^16.
 */
const VOCABULARY = 150_000;
/** Longer ones are no request of a model, and would fill the memory. */
const MAX_TOKENS = 2 ** 24;
/** In the upper half of what a row's own tokens come from, where ids of blocks hardly ever have it. */
const OWN = 0xffff_fffe;
const NONE = -1;

/** A row of a trace as an engine sees it. */
export interface TokenRequest {
  readonly row: TraceRow;
  /** The prompt: `Uint32Array[inputLength]`. */
  readonly tokens: Uint32Array;
  /** The answer: `Uint32Array[outputLength]`, empty where the row tells no length. */
  readonly output: Uint32Array;
}

/**
 * Token ids for the rows of a trace, in their order, those of a row when it is asked for. A block id stands for
 * `traceBlockSize` tokens below 150,000 that come from it alone: equal ids are equal tokens.
 *
 * What no id of the row covers, a partial last block and the answer, is what the next row of its session has there, if
 * that begins with all full blocks of this one: the next turn repeats it. Where there is none, or where it ends earlier,
 * the tokens are the row's own. Throws ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE or, at a row of more than 2^24
 * tokens, ERR_KVIDX_BAD_TRACE.
 */
export function* traceTokens(rows: readonly TraceRow[], traceBlockSize: number): Generator<TokenRequest> {
  checkInteger('traceBlockSize', traceBlockSize, 1, MAX_BLOCK_SIZE);
  const nextTurns = findNextTurns(rows, traceBlockSize);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const { inputLength, outputLength = 0, hashIds } = row;
    if (inputLength + outputLength > MAX_TOKENS) {
      const message = `line ${row.line} of the trace has more than ${MAX_TOKENS} tokens`;
      throw new KvidxError('ERR_KVIDX_BAD_TRACE', message);
    }
    const all = new Uint32Array(inputLength + outputLength);
    const end = writeBlocks(all, 0, inputLength, hashIds, traceBlockSize);
    writeRest(all, end, rows, nextTurns, i, traceBlockSize);
    yield { row, tokens: all.subarray(0, inputLength), output: all.subarray(inputLength) };
  }
}

/** By row: the next one of its session, if it begins with all full blocks of this one; −1: there is none. */
function findNextTurns(rows: readonly TraceRow[], blockSize: number): Int32Array {
  const nextTurns = new Int32Array(rows.length).fill(NONE);
  const latest = new Map<string, number>();
  rows.forEach(({ sessionId, hashIds }, i) => {
    if (sessionId === undefined) return;
    const before = latest.get(sessionId);
    if (before !== undefined && goesOn(rows[before]!, hashIds, blockSize)) nextTurns[before] = i;
    latest.set(sessionId, i);
  });
  return nextTurns;
}

function goesOn({ inputLength, hashIds }: TraceRow, next: BigUint64Array, blockSize: number): boolean {
  const full = Math.min(hashIds.length, Math.floor(inputLength / blockSize));
  return full <= next.length && bytesOf(hashIds, full).equals(bytesOf(next, full));
}

function bytesOf(ids: BigUint64Array, count: number): Buffer {
  return Buffer.from(ids.buffer, ids.byteOffset, 8 * count);
}

/**
 * Fills `all` from `end` on, where the ids of row `i` end. The next turn may leave some of it to the turn after, hence
 * the walk: each turn has its say as far as its prompt goes, and what lies beyond is the own of the turn before.
 */
function writeRest(
  all: Uint32Array,
  end: number,
  rows: readonly TraceRow[],
  nextTurns: Int32Array,
  i: number,
  blockSize: number,
): void {
  let at = end;
  let limit = all.length;
  for (let turn = i; at < limit; ) {
    const next = nextTurns[turn]!;
    const reach = next === NONE ? at : Math.max(at, Math.min(limit, rows[next]!.inputLength));
    writeTokens(all, reach, limit, reach, rows[turn]!.line, OWN);
    if (next === NONE) return;
    at = writeBlocks(all, at, reach, rows[next]!.hashIds, blockSize);
    limit = reach;
    turn = next;
  }
}

/** Writes `from … to − 1` of what the ids stand for; answers where they end. */
function writeBlocks(
  all: Uint32Array,
  from: number,
  to: number,
  ids: BigUint64Array,
  blockSize: number,
): number {
  const halves = halvesOf(ids);
  const end = Math.max(from, Math.min(to, ids.length * blockSize));
  for (let at = from; at < end; ) {
    const block = Math.floor(at / blockSize);
    const blockEnd = Math.min(end, (block + 1) * blockSize);
    writeTokens(all, at, blockEnd, at - block * blockSize, halves[2 * block]!, halves[2 * block + 1]!);
    at = blockEnd;
  }
  return end;
}

/** Writes tokens `first`, `first + 1`, … of a 64-bit seed to `from … to − 1`. */
function writeTokens(
  all: Uint32Array,
  from: number,
  to: number,
  first: number,
  low: number,
  high: number,
): void {
  // Seeds below 2^32 all differ in the start, others in start or stride, but for chance.
  const start = mix(low + mix(high));
  const stride = mix(high ^ ~low) | 1;
  for (let at = from; at < to; at++) {
    let x = (start + Math.imul(first + at - from, stride)) | 0;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    const share = ((x ^ (x >>> 13)) >>> 0) / 2 ** 32;
    all[at] = VOCABULARY * share * share * share * share; // an integer as it is stored
  }
}

/** The 32-bit finalizer of MurmurHash3. */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
