/*
 * A filter's blocks are 8 × u32 each. Their memory, little-endian as on every machine that this package runs on, is what the
 * wire and Parquet files carry.
 */

export const WORDS_A_BLOCK = 8;
export const BLOCK_BYTES = 32;

/** The memory of the words, aliased. */
export function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
