import { firstU64, sha256 } from './digest.js';
import { tokenBytes } from './token-bytes.js';

/** What a chain starts from: nothing, or the digest of a cache salt. */
export function sglangRoot(cacheSalt: string | undefined): Uint8Array {
  return cacheSalt === undefined
    ? new Uint8Array(0)
    : sha256(Buffer.from(`sglang-cache-salt-v1\0${cacheSalt}`, 'utf8'));
}

/** `get_hash_str` of SGLang's mem_cache/utils.py: a page's digest is that of its parent's and its u32le tokens. */
export function sglangDigest(parent: Uint8Array, tokens: Uint32Array): Uint8Array {
  return sha256(Buffer.concat([parent, tokenBytes(tokens)]));
}

/** `Uint32Array[n] → BigUint64Array[⌊n / pageSize⌋]`: the first 8 bytes of each page's digest, as in events. */
export function sglangHashes(root: Uint8Array, pageSize: number, tokens: Uint32Array): BigUint64Array {
  const hashes = new BigUint64Array(Math.floor(tokens.length / pageSize));
  let parent = root;
  for (let i = 0; i < hashes.length; i++) {
    parent = sglangDigest(parent, tokens.subarray(i * pageSize, (i + 1) * pageSize));
    hashes[i] = firstU64(parent);
  }
  return hashes;
}
