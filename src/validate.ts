import { types } from 'node:util';
import { invalidArgType, lengthMismatch, outOfRange } from './errors.js';
import { counted } from './text.js';

/*
 * Every check of a caller's value, once. A check answers the value in the form that the seam takes.
 * Cost: a good typed array passes in some 10 ns; a plain array of token ids is copied, a check each.
 */

/** An ArrayBuffer of so many u32 can be had on every version of Node. */
const MAX_ANSWERS = 2 ** 29;
const MAX_TOKEN = 0xffff_ffff;
const MIN_HASH = -(2n ** 63n);
const MAX_HASH = 2n ** 64n - 1n;

/** Arrays that calls write their answers to. */
export type OutArray = Uint8Array | Uint32Array | BigUint64Array | Float64Array;

/**
 * Token ids: a `Uint32Array[n]` is answered as it is (aliased), a plain array of numbers as a checked copy.
 * Throws ERR_KVIDX_INVALID_ARG_TYPE (any other type, a detached or shared buffer) or, naming the index,
 * ERR_KVIDX_OUT_OF_RANGE (NaN, fractional, negative, above 2^32 − 1).
 */
export function checkTokens(tokens: unknown, what = 'tokens'): Uint32Array {
  if (types.isUint32Array(tokens)) {
    checkBuffer(tokens, what);
    return tokens;
  }
  if (!Array.isArray(tokens)) throw invalidArgType(what, 'a Uint32Array or an array of numbers', tokens);
  const copy = new Uint32Array(tokens.length);
  for (let i = 0; i < copy.length; i++) copy[i] = checkInteger(`${what}[${i}]`, tokens[i], 0, MAX_TOKEN);
  return copy;
}

/**
 * A plain array, of `length` elements where that is given, as a copy without holes: what a caller's array does later is not seen.
 * Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_LENGTH_MISMATCH.
 */
export function checkArray<T>(value: readonly T[], what: string, length?: number): T[] {
  if (!Array.isArray(value)) throw invalidArgType(what, 'an array', value);
  const copy = Array.from(value);
  if (length !== undefined && copy.length !== length) {
    throw lengthMismatch(
      `${what} must have ${counted(length, 'element')}, one for each prompt, got ${copy.length}`,
    );
  }
  return copy;
}

/** Hashes: a `BigUint64Array[n]`, answered as it is (aliased). Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkHashes(hashes: unknown, what = 'hashes'): BigUint64Array {
  if (!types.isBigUint64Array(hashes)) throw invalidArgType(what, 'a BigUint64Array', hashes);
  checkBuffer(hashes, what);
  return hashes;
}

/**
 * A list of hashes of several requests, as a new array of the same (aliased) `BigUint64Array`s. Throws
 * ERR_KVIDX_INVALID_ARG_TYPE, naming the index.
 */
export function checkHashLists(lists: unknown, what: string): BigUint64Array[] {
  if (!Array.isArray(lists)) throw invalidArgType(what, 'an array of BigUint64Array', lists);
  const read: unknown[] = Array.from(lists); // a getter among them may detach what was checked before it
  for (let i = 0; i < read.length; i++) checkHashes(read[i], `${what}[${i}]`);
  return read as BigUint64Array[];
}

/** How many answers so many requests have, `each` of them. Throws ERR_KVIDX_OUT_OF_RANGE: more than an array can have. */
export function checkAnswers(requests: number, each: number): number {
  const answers = requests * each;
  if (answers > MAX_ANSWERS) {
    throw outOfRange('requests', `so few that there are at most ${MAX_ANSWERS} answers`, answers);
  }
  return answers;
}

/** A `Uint32Array[n]`, answered as it is (aliased). Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkUint32Array(value: unknown, what: string): Uint32Array {
  if (!types.isUint32Array(value)) throw invalidArgType(what, 'a Uint32Array', value);
  checkBuffer(value, what);
  return value;
}

/**
 * How many leading hashes to look at, several times: a `Uint32Array[n]`, answered as it is (aliased), none above `most`.
 * Throws ERR_KVIDX_INVALID_ARG_TYPE or, naming the index, ERR_KVIDX_OUT_OF_RANGE.
 */
export function checkLengths(lengths: unknown, most: number, what = 'lengths'): Uint32Array {
  const checked = checkUint32Array(lengths, what);
  for (let i = 0; i < checked.length; i++) {
    if (checked[i]! > most) throw outOfRange(`${what}[${i}]`, `at most the ${most} hashes given`, checked[i]);
  }
  return checked;
}

/**
 * The caller's array for `length` answers, or a new one when the caller passed none. Throws
 * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_LENGTH_MISMATCH.
 */
export function checkOut<T extends OutArray>(
  out: unknown,
  ctor: { new (length: number): T; readonly name: string },
  length: number,
  what = 'out',
): T {
  if (out === undefined) return new ctor(length);
  if (!types.isTypedArray(out) || out[Symbol.toStringTag] !== ctor.name) {
    throw invalidArgType(what, `a ${ctor.name}`, out);
  }
  checkBuffer(out, what);
  if (out.length !== length) {
    throw lengthMismatch(
      `${what} must have ${counted(length, 'element')}, one for each answer, got ${out.length}`,
    );
  }
  return out as unknown as T;
}

/**
 * One hash as u64: a bigint from −2^63 (two's complement) to 2^64 − 1, or a safe integer Number. Throws
 * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE (a Number beyond 2^53 has lost bits already).
 */
export function checkHash(hash: unknown, what = 'hash'): bigint {
  if (typeof hash === 'number') {
    if (!Number.isSafeInteger(hash)) throw outOfRange(what, 'a safe integer or a bigint', hash);
    return BigInt.asUintN(64, BigInt(hash));
  }
  if (typeof hash !== 'bigint') throw invalidArgType(what, 'a bigint', hash);
  if (hash < MIN_HASH || hash > MAX_HASH) throw outOfRange(what, 'from −2^63 to 2^64 − 1', hash);
  return BigInt.asUintN(64, hash);
}

/** An integer from `lo` to `hi`. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkInteger(what: string, value: unknown, lo: number, hi: number): number {
  if (typeof value !== 'number') throw invalidArgType(what, 'a number', value);
  if (!Number.isInteger(value) || value < lo || value > hi) {
    throw outOfRange(what, `an integer from ${lo} to ${hi}`, value);
  }
  return value;
}

/** Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkBoolean(what: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalidArgType(what, 'a boolean', value);
  return value;
}

/** One of some words. Throws ERR_KVIDX_INVALID_ARG_TYPE (no string) or ERR_KVIDX_OUT_OF_RANGE (another one). */
export function checkChoice<T extends string>(what: string, value: unknown, choices: readonly T[]): T {
  if ((choices as readonly unknown[]).includes(value)) return value as T;
  const misuse = typeof value === 'string' ? outOfRange : invalidArgType;
  throw misuse(what, `one of ${choices.join(', ')}`, value);
}

/** Bytes: a `Uint8Array` (a Buffer too), answered as it is (aliased). Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkBytes(bytes: unknown, what = 'bytes'): Uint8Array {
  if (!types.isUint8Array(bytes)) throw invalidArgType(what, 'a Uint8Array', bytes);
  checkBuffer(bytes, what);
  return bytes;
}

/** A finite time in milliseconds, 0 or later. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkTime(what: string, value: unknown): number {
  if (typeof value !== 'number') throw invalidArgType(what, 'a number of milliseconds', value);
  if (!Number.isFinite(value) || value < 0) throw outOfRange(what, 'a finite number, 0 or more', value);
  return value;
}

/** Beyond it setTimeout fires at once. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

/** A time that a timer can wait, from `lo` ms. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkDelay(what: string, value: unknown, lo = 0): number {
  const ms = checkTime(what, value);
  if (ms < lo || ms > MAX_DELAY_MS) throw outOfRange(what, `from ${lo} to ${MAX_DELAY_MS} ms`, value);
  return ms;
}

/** A function. Throws ERR_KVIDX_INVALID_ARG_TYPE. */
// biome-ignore lint/complexity/noBannedTypes: any function will do here
export function checkFunction<T extends Function>(what: string, value: T): T {
  if (typeof value !== 'function') throw invalidArgType(what, 'a function', value);
  return value;
}

/** A name: a non-empty string that UTF-8 can hold. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
export function checkName(what: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidArgType(what, 'a string', value);
  if (value === '' || hasLoneSurrogate(value))
    throw outOfRange(what, 'a non-empty, well-formed string', value);
  return value;
}

/** Options: an object; absent is `undefined`, whose defaults apply. Throws ERR_KVIDX_INVALID_ARG_TYPE. */
export function checkOptions<T extends object>(
  value: T | undefined,
  what = 'options',
): T | Record<string, never> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null) throw invalidArgType(what, 'an object', value);
  return value;
}

/** Refuses memory that is gone or that other threads may write during the call. */
function checkBuffer(array: NodeJS.TypedArray, what: string): void {
  if (array.length === 0 && isGone(array)) throw invalidArgType(what, 'attached to its buffer', array);
  const buffer: unknown = array.buffer;
  if (!(buffer instanceof ArrayBuffer) && types.isSharedArrayBuffer(buffer)) {
    throw invalidArgType(what, 'in unshared memory', buffer);
  }
}

/** A detached array (or one that its resizable buffer left behind) looks empty; only methods tell it apart. */
function isGone(array: NodeJS.TypedArray): boolean {
  try {
    Uint8Array.prototype.at.call(array as Uint8Array, 0);
    return false;
  } catch {
    return true;
  }
}

function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
