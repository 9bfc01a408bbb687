import { ROW, type TraceSeam } from '../native/seam.js';

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const NAME = new TextEncoder().encode('hash_ids');
const OK = 0;
const NO_MEMBER = -1;
const BAD_IDS = -2;
const NO_OBJECT = -3;
const DUPLICATE = -4;

/** Digits that a double holds exactly whatever they are. */
const EXACT_DIGITS = 15;
/** Digits of 2^64 − 1. */
const MOST_DIGITS = 20;
const TWO_32 = 2 ** 32;
const TWO_63 = 2n ** 63n;
const MAX_U64 = 2n ** 64n - 1n;

/** The twin of `native/core/trace_row.cpp`; the rules stand in its header. */
export const scanTraceRow: TraceSeam['scanTraceRow'] = (bytes, start, end, ids, row) => {
  const scanner = new RowScanner(bytes, start, end, ids);
  const status = scanner.object();
  row[ROW.ids] = status === OK ? scanner.count : status;
  row[ROW.arrayStart] = scanner.arrayStart;
  row[ROW.arrayEnd] = scanner.arrayEnd;
  row[ROW.errorAt] = scanner.at;
};

class RowScanner {
  at: number;
  count = 0;
  arrayStart: number;
  arrayEnd: number;
  private readonly halves: Uint32Array;

  constructor(
    private readonly bytes: Uint8Array,
    start: number,
    private readonly end: number,
    private readonly ids: BigUint64Array,
  ) {
    this.at = this.arrayStart = this.arrayEnd = start;
    this.halves = new Uint32Array(ids.buffer, ids.byteOffset, ids.length * 2);
  }

  /** Every step leaves `at` behind what it read, or on the first wrong byte. */
  object(): number {
    this.skipSpace();
    if (!this.take(OPEN_OBJECT)) return NO_OBJECT;
    let found = false;
    this.skipSpace();
    if (!this.take(CLOSE_OBJECT)) {
      do {
        this.skipSpace();
        const name = this.at;
        if (!this.string()) return NO_OBJECT;
        const wanted = this.isName(name);
        this.skipSpace();
        if (!this.take(COLON)) return NO_OBJECT;
        this.skipSpace();
        if (wanted && found) {
          this.at = name;
          return DUPLICATE;
        }
        if (wanted) {
          const status = this.idArray();
          if (status !== OK) return status;
          found = true;
        } else if (!this.value()) {
          return NO_OBJECT;
        }
        this.skipSpace();
      } while (this.take(COMMA));
      if (!this.take(CLOSE_OBJECT)) return NO_OBJECT;
    }
    this.skipSpace();
    if (this.at !== this.end) return NO_OBJECT;
    return found ? OK : NO_MEMBER;
  }

  private idArray(): number {
    this.arrayStart = this.at;
    if (this.at === this.end) return NO_OBJECT;
    if (!this.take(OPEN_ARRAY)) return BAD_IDS;
    this.skipSpace();
    if (!this.take(CLOSE_ARRAY)) {
      for (;;) {
        if (!this.integer()) return this.at === this.end ? NO_OBJECT : BAD_IDS;
        this.count += 1;
        this.skipSpace();
        if (this.take(CLOSE_ARRAY)) break;
        if (!this.take(COMMA)) return this.at === this.end ? NO_OBJECT : BAD_IDS;
        this.skipSpace();
      }
    }
    this.arrayEnd = this.at;
    return OK;
  }

  /** Reads one integer into place `count`. On failure `at` is where it starts, or the end of the line. */
  private integer(): boolean {
    const { bytes, end } = this;
    const start = this.at;
    const negative = this.take(MINUS);
    const digits = this.at;
    let at = digits;
    let n = 0;
    while (at !== end && isDigit(bytes[at]!)) {
      n = n * 10 + (bytes[at]! - ZERO);
      at += 1;
    }
    const length = at - digits;
    const big =
      length > EXACT_DIGITS ? BigInt(latin1(bytes, digits, Math.min(at, digits + MOST_DIGITS))) : undefined;
    this.at = start;
    if (big !== undefined && big > MAX_U64) return false;
    if (at === end && length <= MOST_DIGITS) {
      this.at = end;
      return false;
    }
    const c = bytes[at]!;
    const whole = length > 0 && length <= MOST_DIGITS && (c === COMMA || c === CLOSE_ARRAY || isSpace(c));
    const leadingZero = bytes[digits] === ZERO && length > 1;
    const outOfRange = negative && big !== undefined && big > TWO_63;
    if (!whole || leadingZero || outOfRange) return false;
    this.at = at;
    if (this.count < this.ids.length) this.write(negative ? -(big ?? BigInt(n)) : (big ?? n));
    return true;
  }

  /** Writes place `count`; through the halves because making a BigInt costs more than reading the number. */
  private write(id: bigint | number): void {
    if (typeof id === 'bigint') {
      this.ids[this.count] = id;
    } else {
      this.halves[2 * this.count] = id % TWO_32;
      this.halves[2 * this.count + 1] = id / TWO_32;
    }
  }

  private value(): boolean {
    if (this.at === this.end) return false;
    const c = this.bytes[this.at]!;
    if (c === QUOTE) return this.string();
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) return this.nested();
    const start = this.at;
    while (this.at !== this.end && !isDelimiter(this.bytes[this.at]!)) this.at += 1;
    return this.at !== start;
  }

  private nested(): boolean {
    let depth = 0;
    while (this.at !== this.end) {
      const c = this.bytes[this.at]!;
      if (c === QUOTE) {
        if (!this.string()) return false;
        continue;
      }
      this.at += 1;
      if (c === OPEN_OBJECT || c === OPEN_ARRAY) depth += 1;
      if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
        depth -= 1;
        if (depth === 0) return true;
      }
    }
    return false;
  }

  private string(): boolean {
    if (!this.take(QUOTE)) return false;
    while (this.at !== this.end) {
      const c = this.bytes[this.at]!;
      this.at += 1;
      if (c === QUOTE) return true;
      if (c === BACKSLASH && this.at !== this.end) this.at += 1;
    }
    return false;
  }

  /** Is the string that was just read, from the quote at `quoted`, the wanted name? */
  private isName(quoted: number): boolean {
    return this.at - quoted === NAME.length + 2 && NAME.every((c, i) => this.bytes[quoted + 1 + i] === c);
  }

  private take(c: number): boolean {
    if (this.at === this.end || this.bytes[this.at] !== c) return false;
    this.at += 1;
    return true;
  }

  private skipSpace(): void {
    while (this.at !== this.end && isSpace(this.bytes[this.at]!)) this.at += 1;
  }
}

function isDigit(c: number): boolean {
  return c >= ZERO && c <= ZERO + 9;
}

function isSpace(c: number): boolean {
  return c === SPACE || c === 0x09 || c === 0x0a || c === 0x0d;
}

function isDelimiter(c: number): boolean {
  return (
    c === COMMA ||
    c === COLON ||
    c === CLOSE_OBJECT ||
    c === CLOSE_ARRAY ||
    c === OPEN_OBJECT ||
    c === OPEN_ARRAY ||
    c === QUOTE ||
    isSpace(c)
  );
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}
