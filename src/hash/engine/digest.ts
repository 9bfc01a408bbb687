import { createHash } from 'node:crypto';
import { createXXHash3, createXXHash128 } from 'hash-wasm';

/*
 * The digests of engines: SHA-256 of Node, XXH3 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) of hash-wasm.
 * Cost: each XXH3 function holds a WebAssembly memory of its own, with its seed in it.
 */

export type Digest = (bytes: Uint8Array) => Uint8Array;

/** 32 bytes. */
export const sha256: Digest = (bytes) => createHash('sha256').update(bytes).digest();

/** XXH3-128 with seed 0: 16 bytes, canonical, which is big-endian. */
export async function createXxh3Wide(): Promise<Digest> {
  const hasher = await createXXHash128();
  return (bytes) => hasher.init().update(bytes).digest('binary');
}

/** XXH3-64 with this seed, a u64. */
export async function createXxh3(seed: bigint): Promise<(bytes: Uint8Array) => bigint> {
  const hasher = await createXXHash3(Number(seed & 0xffff_ffffn), Number(seed >> 32n));
  return (bytes) => lastU64(hasher.init().update(bytes).digest('binary'));
}

/** The first 8 bytes of a digest, big-endian. */
export function firstU64(digest: Uint8Array): bigint {
  return u64At(digest, 0);
}

/** The last 8 bytes of a digest, big-endian. */
export function lastU64(digest: Uint8Array): bigint {
  return u64At(digest, digest.length - 8);
}

function u64At(bytes: Uint8Array, at: number): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(at);
}
