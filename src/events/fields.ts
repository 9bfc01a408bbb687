import { types } from 'node:util';
import { counted } from '../text.js';

/*
 * Checks of an event's fields, whatever dialect they come from. Integers are numbers or bigints: msgpack encoders are
 * free to write a small one in 64 bits.
 */

const MAX_U32 = 0xffff_ffff;

/** What is wrong with one event. Never leaves the decoders: it becomes an entry of `bad`. */
export class EventProblem extends Error {}

export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

export function listOf(name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new EventProblem(`${name} is no list`);
  return value;
}

export function hashList(name: string, value: unknown): BigUint64Array {
  const list = listOf(name, value);
  const hashes = new BigUint64Array(list.length);
  for (let i = 0; i < hashes.length; i++) hashes[i] = hashOf(`${name}[${i}]`, list[i]);
  return hashes;
}

export function optionalHash(name: string, value: unknown): bigint | undefined {
  return isAbsent(value) ? undefined : hashOf(name, value);
}

/**
 * An engine's hash as u64: integers as they are or in two's complement, digests (8, 16 or 32 bytes) as their last
 * 8 bytes, big-endian. That is how vLLM's own integers are made (kv_cache_utils.py, maybe_convert_block_hash), so that
 * both forms of one hash meet.
 */
export function hashOf(name: string, value: unknown): bigint {
  if (typeof value === 'bigint' && value >= -(2n ** 63n) && value < 2n ** 64n)
    return BigInt.asUintN(64, value);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt.asUintN(64, BigInt(value));
  if (types.isUint8Array(value)) return digestTail(name, value);
  if (typeof value === 'number' && Number.isInteger(value)) {
    throw new EventProblem(`${name} is a Number beyond 2^53, which has lost bits`);
  }
  throw new EventProblem(`${name} is no 64-bit integer and no digest`);
}

function digestTail(name: string, digest: Uint8Array): bigint {
  const { byteLength } = digest;
  if (byteLength !== 8 && byteLength !== 16 && byteLength !== 32) {
    throw new EventProblem(`${name} has ${counted(byteLength, 'byte')}, not 8, 16 or 32`);
  }
  return new DataView(digest.buffer, digest.byteOffset, byteLength).getBigUint64(byteLength - 8);
}

/** Token ids in a row, and whether they came as pairs of neighbours. An empty list is none. */
export function tokensOf(value: unknown): { tokens: Uint32Array; isBigram: boolean } | undefined {
  if (isAbsent(value)) return undefined;
  const list = listOf('token_ids', value);
  if (list.length === 0) return undefined;
  if (Array.isArray(list[0])) return { tokens: unfoldPairs(list), isBigram: true };
  const tokens = new Uint32Array(list.length);
  for (let i = 0; i < tokens.length; i++) tokens[i] = tokenOf(list[i], i);
  return { tokens, isBigram: false };
}

/** `[a, b], [b, c], …` → `a, b, c, …`: loses nothing, as each pair goes on where the one before ended. */
function unfoldPairs(pairs: readonly unknown[]): Uint32Array {
  const tokens = new Uint32Array(pairs.length + 1);
  for (let i = 0; i < pairs.length; i++) {
    const pair = pairs[i];
    if (!Array.isArray(pair) || pair.length !== 2)
      throw new EventProblem(`token_ids[${i}] is no pair, others are`);
    const first = tokenOf(pair[0], i);
    if (i > 0 && first !== tokens[i]) {
      throw new EventProblem(
        `the pair token_ids[${i}] starts with ${first}, the one before ends with ${tokens[i]}`,
      );
    }
    tokens[i] = first;
    tokens[i + 1] = tokenOf(pair[1], i);
  }
  return tokens;
}

export function tokenOf(value: unknown, i: number): number {
  // Without a text for the name: a good token costs nothing but the check.
  if (typeof value === 'number' && value >>> 0 === value) return value;
  return integerOf(`token_ids[${i}]`, value);
}

/** An integer from 0 to 2^32 − 1. */
export function integerOf(name: string, value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > MAX_U32) {
    throw new EventProblem(`${name} is no integer from 0 to 2^32 − 1`);
  }
  return number;
}

export function optionalInteger(name: string, value: unknown): number | undefined {
  return isAbsent(value) ? undefined : integerOf(name, value);
}

/** A text that UTF-8 can hold. Engines say "none" by nil or by an empty one. */
export function optionalText(name: string, value: unknown): string | undefined {
  if (isAbsent(value) || value === '') return undefined;
  if (typeof value !== 'string' || /\p{Surrogate}/u.test(value)) throw new EventProblem(`${name} is no text`);
  return value;
}

/** The tier, `'GPU'` where none was sent. */
export function mediumOf(value: unknown): string {
  return optionalText('medium', value) ?? 'GPU';
}

/** Extra keys parallel to `blocks` blocks; undefined where no block has any. */
export function extraKeysOf(
  value: unknown,
  blocks: number,
): readonly (readonly unknown[] | undefined)[] | undefined {
  if (isAbsent(value)) return undefined;
  const list = listOf('extra_keys', value);
  if (list.every(isAbsent)) return undefined;
  if (list.length !== blocks) {
    throw new EventProblem(`extra_keys has ${counted(list.length, 'item')} for ${counted(blocks, 'block')}`);
  }
  return list.map((keys, i) => (isAbsent(keys) ? undefined : listOf(`extra_keys[${i}]`, keys).map(ownBytes)));
}

/** Binary values are views of the payload, which may be used again: copied. */
function ownBytes(value: unknown): unknown {
  if (types.isUint8Array(value)) return Uint8Array.from(value); // `slice` of a Buffer is a view
  return Array.isArray(value) ? value.map(ownBytes) : value;
}
