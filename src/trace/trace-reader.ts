import { readBytes } from '../byte-source.js';
import { invalidArgType, KvidxError, outOfRange } from '../errors.js';
import { checkBoolean, checkInteger, checkOptions } from '../validate.js';
import { type Line, LineSplitter, LineTooLong } from './line-splitter.js';
import { BadRow, RowParser } from './row-parser.js';
import type { TraceFormat, TraceReaderOptions, TraceRow } from './types.js';

const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Positions within a buffer are 32-bit for the backends. */
const MOST_LINE_BYTES = 2 ** 30;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Reads a trace row by row: hybrid / Bailian or Mooncake JSONL (found out from the first row), plain or gzip (found out
 * from the content), a file or `-` for standard input. Memory: one chunk and one line, and with hybrid rows an entry a
 * chat. Each iteration reads from the start.
 *
 * Iterating throws ERR_KVIDX_BAD_TRACE, which names the file and the line: for a file that is not there, is a
 * directory, is empty, holds no good row or a line that is too long, or whose gzip data is damaged or cut; and, with
 * `onError: 'fail'`, for a bad row. Blank lines are no rows.
 */
export class TraceReader implements AsyncIterable<TraceRow> {
  readonly path: string;
  /** Of the rows read so far. */
  format: TraceFormat | undefined;
  /** Good rows read so far. */
  rows = 0;
  /** Bad rows left out so far. */
  skipped = 0;
  /** Why the first one was left out. */
  firstSkipped: KvidxError | undefined;
  private readonly options: Required<TraceReaderOptions>;

  /** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
  constructor(path: string, options?: TraceReaderOptions) {
    if (typeof path !== 'string') throw invalidArgType('path', 'a string', path);
    const {
      onError = 'fail',
      reuseIds = false,
      maxLineBytes = DEFAULT_MAX_LINE_BYTES,
      onProgress = () => {},
    } = checkOptions(options);
    if (onError !== 'fail' && onError !== 'skip') throw outOfRange('onError', '"fail" or "skip"', onError);
    if (typeof onProgress !== 'function') throw invalidArgType('onProgress', 'a function', onProgress);
    checkBoolean('reuseIds', reuseIds);
    checkInteger('maxLineBytes', maxLineBytes, 1, MOST_LINE_BYTES);
    this.path = path;
    this.options = { onError, reuseIds, maxLineBytes, onProgress };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TraceRow> {
    this.format = undefined;
    this.rows = this.skipped = 0;
    this.firstSkipped = undefined;
    const parser = new RowParser(this.options.reuseIds);
    const splitter = new LineSplitter(this.options.maxLineBytes);
    let empty = true;
    try {
      for await (const chunk of readBytes(this.path, this.options.onProgress)) {
        empty = false;
        yield* this.rowsOf(splitter.push(chunk), parser);
      }
      yield* this.rowsOf(splitter.flush(), parser);
    } catch (error) {
      throw this.explain(error, splitter.count + 1);
    }
    if (empty) throw this.bad('the file is empty');
    if (this.rows === 0) throw this.bad(this.whyNoRows());
  }

  private *rowsOf(lines: Iterable<Line>, parser: RowParser): Generator<TraceRow> {
    for (const line of lines) {
      const content = line.number === 1 ? withoutMark(line) : line;
      if (isBlank(content)) continue;
      const row = this.parse(content, parser);
      if (row === undefined) continue;
      this.rows += 1;
      this.format = parser.format;
      yield row;
    }
  }

  /** Undefined: the row is bad and was counted. */
  private parse(line: Line, parser: RowParser): TraceRow | undefined {
    try {
      return parser.parse(line);
    } catch (error) {
      if (!(error instanceof BadRow)) throw error;
      const bad = this.bad(error.message, line.number, error);
      if (this.options.onError === 'fail') throw bad;
      this.skipped += 1;
      this.firstSkipped ??= bad;
      return undefined;
    }
  }

  private whyNoRows(): string {
    if (this.firstSkipped === undefined) return 'only blank lines, no rows';
    return `no good row among ${this.skipped}; the first bad one: ${this.firstSkipped.message}`;
  }

  private explain(error: unknown, line: number): unknown {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (error instanceof KvidxError) return error;
    if (code?.startsWith('Z_')) {
      const what =
        code === 'Z_BUF_ERROR'
          ? 'the gzip data ends too early (was the file cut?)'
          : 'the gzip data is damaged';
      return this.bad(`${what}: ${message}`, line, error);
    }
    if (code === 'ENOENT') return this.bad('no such file', undefined, error);
    if (code === 'EISDIR') return this.bad('this is a directory; give a trace file', undefined, error);
    if (syscall !== undefined) return this.bad(`cannot be read: ${message}`, undefined, error);
    if (error instanceof LineTooLong)
      return this.bad(`${message}; is this a trace in JSON lines?`, line, error);
    return error;
  }

  private bad(message: string, line?: number, cause?: unknown): KvidxError {
    const file = this.path === '-' ? 'standard input' : this.path;
    const where = line === undefined ? file : `${file}:${line}`;
    return new KvidxError(
      'ERR_KVIDX_BAD_TRACE',
      `${where}: ${message}`,
      cause === undefined ? undefined : { cause },
    );
  }
}

function withoutMark(line: Line): Line {
  const { bytes, start, end } = line;
  return bytes.subarray(start, Math.min(end, start + 3)).equals(BYTE_ORDER_MARK)
    ? { ...line, start: start + 3 }
    : line;
}

function isBlank({ bytes, start, end }: Line): boolean {
  for (let at = start; at < end; at++) {
    const c = bytes[at]!;
    if (c !== 0x20 && c !== 0x09 && c !== 0x0d) return false;
  }
  return true;
}
