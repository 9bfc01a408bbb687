/** The memory of tokens, aliased: u32le, as on every machine that this package runs on. */
export function tokenBytes(tokens: Uint32Array): Uint8Array {
  return new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength);
}
