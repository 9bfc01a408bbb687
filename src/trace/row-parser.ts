import { seam } from '../native/index.js';
import { ROW, ROW_LENGTH } from '../native/seam.js';
import type { Line } from './line-splitter.js';
import { SessionRoots } from './session-roots.js';
import type { TraceFormat, TraceRow } from './types.js';

/** Ids are read into slabs of this many, of which every row keeps its part: no copy, and no buffer that is used twice unasked. */
const SLAB_IDS = 1 << 16;
const MAX_TOKENS = 2 ** 32 - 1;

/** What is wrong with a row; the reader adds the file and the line. */
export class BadRow extends Error {}

type Fields = Record<string, unknown>;

/** Makes rows out of lines of one trace. The first good row decides the format. */
export class RowParser {
  format: TraceFormat | undefined;
  private readonly roots = new SessionRoots();
  private readonly place = new Int32Array(ROW_LENGTH);
  private slab = new BigUint64Array(SLAB_IDS);
  private used = 0;

  /** `reuseIds`: a row overwrites the ids of the row before. */
  constructor(private readonly reuseIds = false) {}

  /** Throws BadRow. */
  parse(line: Line): TraceRow {
    const hashIds = this.readIds(line);
    // What is left of the line without the one array that JSON.parse would round.
    const text = `${line.bytes.toString('utf8', line.start, this.place[ROW.arrayStart])}[]${line.bytes.toString('utf8', this.place[ROW.arrayEnd], line.end)}`;
    const fields = parseJson(text);
    const format = (fields.chat_id ?? undefined) !== undefined ? 'hybrid' : 'mooncake';
    this.checkFormat(format);
    const timestamp = optionalNumber(fields, 'timestamp', 0);
    const chatId = identity(fields, 'chat_id', text);
    const parent = identity(fields, 'parent_chat_id', text);
    const parentChatId = parent === '-1' ? undefined : parent;
    const named = identity(fields, 'session_id', text);
    if (named === '') throw new BadRow('session_id is empty');
    const row: TraceRow = {
      line: line.number,
      timestampMs: timestamp !== undefined && format === 'hybrid' ? timestamp * 1000 : timestamp,
      inputLength: tokens(fields, 'input_length') ?? missing('input_length'),
      outputLength: tokens(fields, 'output_length'),
      sessionId: chatId === undefined ? named : this.roots.sessionOf(chatId, parentChatId, named),
      chatId,
      parentChatId,
      type: optionalString(fields, 'type'),
      turn: optionalNumber(fields, 'turn', Number.MIN_SAFE_INTEGER),
      timeToParentChatMs: optionalNumber(fields, 'time_to_parent_chat', Number.MIN_SAFE_INTEGER),
      hashIds,
    };
    this.format = format;
    return row;
  }

  private readIds({ bytes, start, end }: Line): BigUint64Array {
    const { place } = this;
    if (this.reuseIds) this.used = 0;
    seam.scanTraceRow(bytes, start, end, this.slab.subarray(this.used), place);
    const count = place[ROW.ids]!;
    if (count < 0) throw new BadRow(scanProblem(count, place[ROW.errorAt]! - start + 1));
    if (count > this.slab.length - this.used) {
      this.slab = new BigUint64Array(Math.max(SLAB_IDS, count));
      this.used = 0;
      seam.scanTraceRow(bytes, start, end, this.slab, place);
    }
    this.used += count;
    return this.slab.subarray(this.used - count, this.used);
  }

  private checkFormat(format: TraceFormat): void {
    if (this.format === undefined || this.format === format) return;
    throw new BadRow(
      format === 'hybrid'
        ? 'chat_id in a Mooncake trace (the rows before have none)'
        : 'no chat_id in a hybrid trace (the rows before have one)',
    );
  }
}

function scanProblem(code: number, column: number): string {
  switch (code) {
    case -1:
      return 'no hash_ids';
    case -2:
      return `hash_ids must be an array of integers from −2^63 to 2^64 − 1 (column ${column})`;
    case -4:
      return `hash_ids stands twice (column ${column})`;
    default:
      return `no JSON object on this line (wrong from column ${column} on)`;
  }
}

function parseJson(text: string): Fields {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BadRow(`no JSON: ${(error as Error).message}`);
  }
}

/** Strings, to be stepped over, or whole integers that a double may not hold. */
const LONG_INTEGERS = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** A name given as an integer of any size or a string, as exact text; null counts as absent. */
function identity(fields: Fields, name: string, text: string): string | undefined {
  let value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    // Rare, so the line is parsed once more with its long integers as strings.
    value = parseJson(text.replace(LONG_INTEGERS, (match) => (match[0] === '"' ? match : `"${match}"`)))[
      name
    ];
  }
  if (typeof value === 'string') return value;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new BadRow(`${name} must be an integer or a string, got ${shown(value)}`);
  }
  return String(value);
}

/** null counts as absent. */
function optionalNumber(fields: Fields, name: string, least: number): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least) {
    throw new BadRow(
      `${name} must be a finite number${least === 0 ? ' from 0 on' : ''}, got ${shown(value)}`,
    );
  }
  return value;
}

function tokens(fields: Fields, name: string): number | undefined {
  const value = optionalNumber(fields, name, 0);
  if (value !== undefined && (!Number.isInteger(value) || value > MAX_TOKENS)) {
    throw new BadRow(`${name} must be an integer from 0 to 2^32 − 1, got ${shown(value)}`);
  }
  return value;
}

function optionalString(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new BadRow(`${name} must be a string, got ${shown(value)}`);
  return value;
}

function missing(name: string): never {
  throw new BadRow(`no ${name}`);
}

function shown(value: unknown): string {
  if (typeof value === 'number') return String(value); // JSON would print an infinite one as null
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
