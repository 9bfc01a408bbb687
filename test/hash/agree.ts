import { expect } from 'vitest';
import type { FlatExtraKeys, HashPath } from '../../src/native/seam.js';
import { reference } from './backends.js';

/** Expects of a backend, or of one of its paths, the hashes that the reference backend gives. */
export function agree(
  hashing: Pick<HashPath, 'localHashes' | 'seqHashes'>,
  tokens: Uint32Array,
  blockSize: number,
  parent: bigint,
  extra: FlatExtraKeys | undefined,
): void {
  const count = Math.floor(tokens.length / blockSize);
  const [got, expected] = [new BigUint64Array(count), new BigUint64Array(count)];
  hashing.localHashes(tokens, blockSize, extra, got);
  reference.localHashes(tokens, blockSize, extra, expected);
  expect(got, `locals, ${count} blocks of ${blockSize}`).toEqual(expected);
  hashing.seqHashes(tokens, blockSize, parent, extra, got);
  reference.seqHashes(tokens, blockSize, parent, extra, expected);
  expect(got, `seqs, ${count} blocks of ${blockSize}`).toEqual(expected);
}
