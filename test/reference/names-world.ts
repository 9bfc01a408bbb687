import { expect } from 'vitest';
import {
  type CoreEngineNames,
  type CoreIndex,
  type CoreIndexOptions,
  type FlatExtraKeys,
  type Seam,
  TIER_COUNT,
} from '../../src/native/seam.js';
import { applyTo, listOf, type Told } from './told-events.js';

export const BLOCK_SIZE = 2;
export const ROOT = 77n;
/** Names; A is that of the first block. */
export const [A, B, C, D, X] = [0xa000_0000_0000_0001n, 2n, 3n, 4n, 99n];
/** Tokens of three blocks. */
export const ABC = [1, 1, 2, 2, 3, 3];

/** The names of one rank in an index. */
export class NamesWorld {
  readonly index: CoreIndex;
  readonly names: CoreEngineNames;
  readonly slots = new Uint32Array(2 * TIER_COUNT);
  readonly #seam: Seam;

  constructor(seam: Seam, { countsCopies = false, countsBlocks = true, tiers = 2, maxBlocks = 0 } = {}) {
    this.#seam = seam;
    const options: CoreIndexOptions = { maxSessions: 0, maxBlocks, evictedHistory: 0 };
    this.index = seam.createIndex(options);
    this.names = this.index.createEngineNames(countsCopies);
    for (let tier = 0; tier < tiers; tier++) {
      const slot = this.index.addSlot();
      const incarnation = this.index.incarnation(slot);
      if (countsBlocks) this.index.countReferences(slot, incarnation);
      this.slots.set([slot, incarnation], 2 * tier);
    }
  }

  apply(...events: Told[]) {
    const applied = applyTo(this.names, events, { slots: this.slots, root: ROOT, blockSize: BLOCK_SIZE });
    expect(this.index.validate()).toBe('');
    return applied;
  }

  applyWith(extra: FlatExtraKeys, ...events: Told[]) {
    return applyTo(this.names, events, { slots: this.slots, root: ROOT, blockSize: BLOCK_SIZE, extra });
  }

  seqs(tokens: readonly number[], parent = ROOT, extra?: FlatExtraKeys): bigint[] {
    const out = new BigUint64Array(tokens.length / BLOCK_SIZE);
    this.#seam.seqHashes(Uint32Array.from(tokens), BLOCK_SIZE, parent, extra, out);
    return Array.from(out);
  }

  held(tier = 0): bigint[] {
    return Array.from(this.index.enumerate(this.slots[2 * tier]!, true));
  }

  known(): string {
    return listOf(this.names)
      .map(({ name, copies }) => `${name === A ? 'A' : 'BCD'[Number(name) - 2]}:${copies.join('')}`)
      .join(' ');
  }
}
