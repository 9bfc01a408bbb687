import { invalidArgType, KvidxError } from '../errors.js';
import { seam } from '../native/index.js';
import { BlockSizeCheck, type BlockSizeVerdict } from '../trace/block-size.js';
import { checkHashes, checkInteger, checkOptions } from '../validate.js';
import { MAX_CURVE_SIZES } from './limits.js';
import { type ApcResult, type ApcRow, RequestLog } from './request-log.js';

export interface ApcOptions {
  /** Name of the trace, for the result and for errors. */
  readonly trace?: string;
  /** Tokens a block; checked against the rows. Default: inferred from them. */
  readonly blockSize?: number;
  /**
   * Up to 1,000 cache sizes in blocks for the LRU curve, or `auto`: steps of 1, 2, 5 up to the first size that holds all
   * blocks.
   */
  readonly curve?: readonly number[] | 'auto';
  /** Sessions in which a first block must occur to count as shared. Default 8. */
  readonly sharedMinSessions?: number;
}

export interface ApcAnalysis {
  readonly result: ApcResult;
  readonly blockSize: BlockSizeVerdict;
}

const MAX_BLOCK_SIZE = 2 ** 20;
const MAX_SESSIONS = 2 ** 32 - 1;
const MAX_TOKENS = 2 ** 32 - 1;
const DEFAULT_SHARED_MIN_SESSIONS = 8;
/** 1, 2, 5, 10, … 5e9: the sizes are needed before the number of blocks is known, and cost nearly nothing. */
const AUTO_SIZES = Array.from({ length: 30 }, (_, i) => [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3));

/**
 * The APC upper bound of a trace: which part of its prompt tokens a perfect prefix cache would hold, and with `curve`
 * an LRU cache of so many blocks. Requests in the order of the rows; ids are chained, so position matters. One pass,
 * which keeps 24 bytes a request and 4 more a cache size, beside the backend's counter.
 *
 * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE for options and for rows, naming the row (from 0) and its
 * field; and ERR_KVIDX_BAD_TRACE when there are no rows, no single block size fits them, or most contradict the given one.
 */
export async function analyzeApc(
  rows: AsyncIterable<ApcRow> | Iterable<ApcRow>,
  options?: ApcOptions,
): Promise<ApcAnalysis> {
  const {
    trace = 'trace',
    blockSize,
    curve,
    sharedMinSessions = DEFAULT_SHARED_MIN_SESSIONS,
  } = checkOptions(options);
  checkIterable(rows);
  if (typeof trace !== 'string') throw invalidArgType('trace', 'a string', trace);
  if (blockSize !== undefined) checkInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE);
  checkInteger('sharedMinSessions', sharedMinSessions, 1, MAX_SESSIONS);
  const sizes = curveSizes(curve);
  const check = new BlockSizeCheck(blockSize);
  const log = new RequestLog(sizes.length);
  const counter = seam.createApcCounter(Float64Array.from(sizes));
  try {
    const hits = new Uint32Array(2 + sizes.length);
    for await (const given of rows) {
      const row = checkRow(given, `rows[${log.requests}]`);
      check.add(row.inputLength, row.hashIds.length, row.line);
      const session = log.sessionNumber(row.sessionId);
      counter.add(session, row.hashIds, hits);
      log.add(row, session, hits);
    }
    if (log.requests === 0) throw new KvidxError('ERR_KVIDX_BAD_TRACE', `${trace}: no rows`);
    const verdict = check.verdict(trace);
    const uniqueBlocks = counter.uniqueBlocks();
    const result = log.result({
      trace,
      blockSize: verdict.blockSize,
      sharedMinSessions,
      uniqueBlocks,
      sizes,
      shownSizes: curve === 'auto' ? tellingSizes(sizes, uniqueBlocks) : sizes,
    });
    return { result, blockSize: verdict };
  } finally {
    counter.close();
  }
}

function checkIterable(rows: unknown): void {
  const { [Symbol.asyncIterator]: async, [Symbol.iterator]: sync } = Object(rows);
  if (typeof (async ?? sync) !== 'function') throw invalidArgType('rows', 'an iterable of rows', rows);
}

/** The fields of a row, read once. */
function checkRow(row: unknown, what: string): ApcRow {
  if (typeof row !== 'object' || row === null) throw invalidArgType(what, 'an object', row);
  const { line, inputLength, sessionId, hashIds } = row as Record<keyof ApcRow, unknown>;
  if (sessionId !== undefined && typeof sessionId !== 'string') {
    throw invalidArgType(`${what}.sessionId`, 'a string or undefined', sessionId);
  }
  return {
    line: checkInteger(`${what}.line`, line, 1, Number.MAX_SAFE_INTEGER),
    inputLength: checkInteger(`${what}.inputLength`, inputLength, 0, MAX_TOKENS),
    sessionId,
    hashIds: checkHashes(hashIds, `${what}.hashIds`),
  };
}

function curveSizes(curve: ApcOptions['curve']): number[] {
  if (curve === undefined) return [];
  if (curve === 'auto') return AUTO_SIZES;
  if (!Array.isArray(curve))
    throw invalidArgType('curve', '"auto" or an array of cache sizes in blocks', curve);
  checkInteger('curve.length', curve.length, 1, MAX_CURVE_SIZES);
  for (const [i, size] of curve.entries()) checkInteger(`curve[${i}]`, size, 1, Number.MAX_SAFE_INTEGER);
  return [...new Set<number>(curve)].sort((a, b) => a - b);
}

/** From about a thousandth of all blocks up to the first size that holds them all. */
function tellingSizes(sizes: readonly number[], uniqueBlocks: number): number[] {
  const last = sizes.findIndex((size) => size >= uniqueBlocks);
  return sizes.slice(0, last + 1).filter((size) => size * 1000 >= uniqueBlocks);
}
