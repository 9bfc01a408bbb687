import type { BlockEncoding } from './block-encoding.js';

/** UTF-8 bytes of a string, at most: a longer one has another opcode. */
export const MAX_PICKLED_TEXT = 255;

const PROTO_5 = [0x80, 5];
const FRAME = 0x95;
const MEMOIZE = 0x94;
const STOP = 0x2e;
const NONE = 0x4e;
const SHORT_BINUNICODE = 0x8c;
const SHORT_BINBYTES = 0x43;
const MARK = 0x28;
const TUPLE = 0x74;
/** Of tuples of 1, 2 and 3; they need no mark. */
const TUPLES = [0x85, 0x86, 0x87] as const;
const BININT1 = 0x4b;
const BININT2 = 0x4d;
const BININT = 0x4a;
const LONG1 = 0x8a;

/** Bytes before the frame's content: protocol, opcode, u64 length. */
const HEAD = 11;
/** Bytes of the longest token. */
const TOKEN = 7;

/**
 * Pickle protocol 5 as CPython's C pickler writes it, for vLLM's `sha256` and `xxhash`. Objects that occur twice are
 * written by identity, which no reader of values can know: hence one extra key at most. All is one frame, since a block
 * of 4096 tokens stays below 64 KiB.
 */
export const pickle: BlockEncoding = {
  text(value) {
    const out = Buffer.allocUnsafe(HEAD + 4 + MAX_PICKLED_TEXT);
    return finish(out, writeText(out, HEAD, value));
  },

  extraKeys(keys) {
    if (keys.length === 0) return Uint8Array.of(NONE);
    const out = Buffer.allocUnsafe(5 + MAX_PICKLED_TEXT);
    let at = writeText(out, 0, keys[0]!);
    at = out.writeUInt8(TUPLES[0], at);
    return out.subarray(0, out.writeUInt8(MEMOIZE, at));
  },

  block(parent, tokens, extra) {
    const out = Buffer.allocUnsafe(HEAD + 9 + parent.length + TOKEN * tokens.length + extra.length);
    let at = out.writeUInt8(SHORT_BINBYTES, HEAD);
    at = out.writeUInt8(parent.length, at);
    out.set(parent, at);
    at = out.writeUInt8(MEMOIZE, at + parent.length);
    at = writeTokens(out, at, tokens);
    out.set(extra, at);
    at = out.writeUInt8(TUPLES[2], at + extra.length);
    return finish(out, out.writeUInt8(MEMOIZE, at));
  },
};

/** Writes the end and, now that the length is known, the head. */
function finish(out: Buffer, at: number): Uint8Array {
  const end = out.writeUInt8(STOP, at);
  out.set(PROTO_5, 0);
  out.writeUInt8(FRAME, 2);
  out.writeBigUInt64LE(BigInt(end - HEAD), 3);
  return out.subarray(0, end);
}

function writeText(out: Buffer, start: number, value: string): number {
  let at = out.writeUInt8(SHORT_BINUNICODE, start);
  const length = out.write(value, at + 1, 'utf8');
  at = out.writeUInt8(length, at) + length;
  return out.writeUInt8(MEMOIZE, at);
}

function writeTokens(out: Buffer, start: number, tokens: Uint32Array): number {
  const short = TUPLES[tokens.length - 1];
  let at = short === undefined ? out.writeUInt8(MARK, start) : start;
  for (let i = 0; i < tokens.length; i++) at = writeInt(out, at, tokens[i]!);
  at = out.writeUInt8(short ?? TUPLE, at);
  return out.writeUInt8(MEMOIZE, at);
}

function writeInt(out: Buffer, at: number, n: number): number {
  if (n < 2 ** 8) return out.writeUInt8(n, out.writeUInt8(BININT1, at));
  if (n < 2 ** 16) return out.writeUInt16LE(n, out.writeUInt8(BININT2, at));
  if (n < 2 ** 31) return out.writeUInt32LE(n, out.writeUInt8(BININT, at));
  // Five bytes, of which the last is the sign's.
  return out.writeUIntLE(n, out.writeUInt8(5, out.writeUInt8(LONG1, at)), 5);
}
