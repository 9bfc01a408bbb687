import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { BloomFilter } from '../../../src/sketch/bloom-filter.js';
import type { ClearFrame, DeltaFrame, FullFrame, ResidentBlocks } from '../../../src/sketch/types.js';
import { range } from '../../kv-index/support.js';

/** Resolves when the condition holds; fails, saying what, when it does not within `ms`. */
export async function until(what: string, holds: () => boolean, ms = 20_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > deadline) expect.fail(`${what}: not within ${ms} ms`);
    await pause(2);
  }
}

/** What a worker holds, to be changed at will. */
export class Resident implements ResidentBlocks {
  readonly blockSize = 24;
  readonly held = new Set<bigint>();

  constructor(hashes: Iterable<bigint> = []) {
    this.add(hashes);
  }

  add(hashes: Iterable<bigint>): void {
    for (const hash of hashes) this.held.add(hash);
  }

  hashes(): BigUint64Array {
    return BigUint64Array.from(this.held);
  }

  /** In z blocks. */
  filter(z: number): BloomFilter {
    const filter = new BloomFilter(z);
    filter.add(this.hashes());
    return filter;
  }
}

const head = { worker: 'w', session: undefined, timestampMs: 1000, keys: 20, targetFpp: 0.01, blockSize: 24 };
/** Blocks of the filters below. */
const Z = 4;

export function full(epoch: number, sequence: number, hashes = range(0, 20)): FullFrame {
  const filter = new BloomFilter(Z);
  filter.add(hashes);
  return { kind: 'full', ...head, epoch, sequence, filter };
}

/** One block, of these 8 words. */
export function delta(epoch: number, sequence: number, word = 1, index = 0, z = Z): DeltaFrame {
  const indices = Uint32Array.of(index);
  return { kind: 'delta', ...head, epoch, sequence, z, indices, blocks: new Uint32Array(8).fill(word) };
}

export function clear(epoch: number, sequence: number, z = Z): ClearFrame {
  return { kind: 'clear', ...head, keys: 0, epoch, sequence, z };
}
