import type { BlockEncoding } from './block-encoding.js';

const UINT = 0x00;
const BYTES = 0x40;
const TEXT = 0x60;
const ARRAY = 0x80;
const NULL = 0xf6;
/** Bytes of the longest head written here: that of a u32. */
const HEAD = 5;

/** Canonical CBOR (RFC 8949, section 4.2.1), as vLLM's `sha256_cbor` and `xxhash_cbor` write it. */
export const cbor: BlockEncoding = {
  text: encodeText,

  extraKeys(keys) {
    if (keys.length === 0) return Uint8Array.of(NULL);
    const head = Buffer.alloc(HEAD);
    return Buffer.concat([head.subarray(0, writeHead(head, 0, ARRAY, keys.length)), ...keys.map(encodeText)]);
  },

  block(parent, tokens, extra) {
    const out = Buffer.allocUnsafe(3 * HEAD + parent.length + HEAD * tokens.length + extra.length);
    let at = writeHead(out, 0, ARRAY, 3);
    at = writeHead(out, at, BYTES, parent.length);
    out.set(parent, at);
    at = writeHead(out, at + parent.length, ARRAY, tokens.length);
    for (let i = 0; i < tokens.length; i++) at = writeHead(out, at, UINT, tokens[i]!);
    out.set(extra, at);
    return out.subarray(0, at + extra.length);
  },
};

function encodeText(value: string): Uint8Array {
  const bytes = Buffer.from(value, 'utf8');
  const head = Buffer.alloc(HEAD);
  return Buffer.concat([head.subarray(0, writeHead(head, 0, TEXT, bytes.length)), bytes]);
}

/** A head in its shortest form; `n` is a u32. Answers where it ends. */
function writeHead(out: Buffer, at: number, major: number, n: number): number {
  if (n < 24) return out.writeUInt8(major | n, at);
  if (n < 2 ** 8) return out.writeUInt8(n, out.writeUInt8(major | 24, at));
  if (n < 2 ** 16) return out.writeUInt16BE(n, out.writeUInt8(major | 25, at));
  return out.writeUInt32BE(n, out.writeUInt8(major | 26, at));
}
