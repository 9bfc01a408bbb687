import type { KvEvent } from '../types.js';
import { type Blocks, BlockTier, halvesOf } from './block-tier.js';
import { removedEvent, storedEvent } from './make-event.js';

/**
 * A second tier, which takes what the first one evicts and tells blocks by name only. What goes back to the first one
 * stays here too.
 */
export class OffloadTier {
  readonly #tier: BlockTier;

  constructor(
    capacity: number,
    readonly medium: string,
  ) {
    this.#tier = new BlockTier(capacity);
  }

  has(halves: Uint32Array, i: number): boolean {
    return this.#tier.find(halves, i) >= 0;
  }

  /** The first `count` of the names are used now, of those the last ones the longest ago. */
  touch(halves: Uint32Array, count: number): void {
    for (let i = count - 1; i >= 0; i--) {
      const place = this.#tier.find(halves, i);
      if (place >= 0) this.#tier.release(place);
    }
  }

  /**
   * Takes blocks that are about to be evicted, the least recently used first; of more than fit the latest. Answers the
   * events, one for all that come and one for all that go, as a transfer is one.
   */
  take(blocks: Blocks): KvEvent[] {
    const halves = halvesOf(blocks.names);
    const fresh: number[] = [];
    for (let i = 0; i < blocks.names.length; i++) {
      const place = this.#tier.find(halves, i);
      if (place < 0) fresh.push(i);
      else this.#tier.release(place);
    }
    const kept = fresh.slice(-this.#tier.capacity);
    const { names: gone } = this.#tier.evict(kept.length - this.#tier.room);
    for (const i of kept) this.#tier.release(this.#tier.add(blocks, i));
    const come = BigUint64Array.from(kept, (i) => blocks.names[i]!);
    return [
      ...(gone.length > 0 ? [removedEvent(gone, this.medium)] : []),
      ...(come.length > 0 ? [storedEvent({ blockHashes: come, medium: this.medium })] : []),
    ];
  }

  blocks(): Blocks {
    return this.#tier.blocks();
  }

  clear(): void {
    this.#tier.clear();
  }
}
