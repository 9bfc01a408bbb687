import { readFileSync } from 'node:fs';
import type { Namespace } from '../../src/hash/namespace.js';
import type { FlatExtraKeys } from '../../src/native/seam.js';

/** A golden case of scheme xxh64-v1; hashes are decimal strings, because JSON has no u64. */
export interface Vector {
  readonly name: string;
  readonly block_size: number;
  readonly tokens: number[];
  readonly namespace?: Namespace;
  readonly root: string;
  readonly extra?: Record<string, string[]>;
  readonly local: string[];
  readonly seq: string[];
}

const vectors: Vector[] = JSON.parse(
  readFileSync(new URL('../fixtures/hash-xxh64-v1.json', import.meta.url), 'utf8'),
);

/** Rows for `it.each`. */
export const namedVectors = vectors.map((vector) => [vector.name, vector] as const);

/** Extra keys of a vector in the form of the seam. */
export function flatKeys(extra: Record<string, string[]> | undefined): FlatExtraKeys | undefined {
  if (!extra) return undefined;
  const pairs = Object.entries(extra).flatMap(([block, keys]) =>
    keys
      .map(BigInt)
      .sort((a, b) => Number(a - b))
      .map((key) => [Number(block), key] as const),
  );
  return {
    blocks: Uint32Array.from(pairs, ([block]) => block),
    keys: BigUint64Array.from(pairs, ([, key]) => key),
  };
}
