/** How an engine writes what it takes the digest of. */
export interface BlockEncoding {
  /** A string by itself: the root of every chain is its digest. */
  text(value: string): Uint8Array;
  /** The extra keys of a block, in the form that `block` takes; of none too. */
  extraKeys(keys: readonly string[]): Uint8Array;
  /** The tuple (parent's digest, tokens, extra keys). */
  block(parent: Uint8Array, tokens: Uint32Array, extra: Uint8Array): Uint8Array;
}
