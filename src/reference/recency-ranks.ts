const MIN_STAMPS = 1 << 16;

/**
 * How recently each block was used, as its rank: 1 = most recently. Blocks are small integers.
 *
 * Every use takes the next stamp; a Fenwick tree over stamps counts the blocks whose last stamp lies in a range. When
 * stamps run out, those in use are renumbered from 0, in order. Using and ranking a block cost O(log stamps).
 */
export class RecencyRanks {
  /** Last stamp of each block, −1: never used. */
  #stamps = new Int32Array(1024).fill(-1);
  /** Blocks used at least once. */
  #blocks = 0;
  /** `#tree[i]` counts the blocks whose last stamp is in [i − lowbit(i), i). */
  #tree = new Int32Array(MIN_STAMPS + 1);
  #nextStamp = 0;

  /** Rank of a block that was used before. */
  rank(block: number): number {
    let older = 0;
    for (let i = this.#stamps[block]!; i > 0; i &= i - 1) older += this.#tree[i]!;
    return this.#blocks - older;
  }

  /** Uses the blocks of a path; its head becomes the most recent one. */
  usePath(path: Uint32Array): void {
    if (this.#nextStamp + path.length >= this.#tree.length) this.#renumber(path.length);
    for (let i = path.length - 1; i >= 0; i--) this.#use(path[i]!);
  }

  clear(): void {
    this.#stamps = new Int32Array(0);
    this.#tree = new Int32Array(1);
    this.#blocks = 0;
    this.#nextStamp = 0;
  }

  #use(block: number): void {
    if (block >= this.#stamps.length) this.#growStamps(block);
    const stamp = this.#stamps[block]!;
    if (stamp < 0) this.#blocks++;
    else this.#add(stamp, -1);
    this.#stamps[block] = this.#nextStamp;
    this.#add(this.#nextStamp++, 1);
  }

  #add(stamp: number, delta: number): void {
    const tree = this.#tree;
    for (let i = stamp + 1; i < tree.length; i += i & -i) tree[i]! += delta;
  }

  #growStamps(block: number): void {
    const larger = new Int32Array(2 * (block + 1)).fill(-1);
    larger.set(this.#stamps);
    this.#stamps = larger;
  }

  /** Leaves room for `more` uses and for as many again as there are blocks, so that its cost is O(1) a use. */
  #renumber(more: number): void {
    const byStamp = new Int32Array(this.#nextStamp).fill(-1);
    for (const [block, stamp] of this.#stamps.entries()) if (stamp >= 0) byStamp[stamp] = block;
    this.#nextStamp = 0;
    for (const block of byStamp) if (block >= 0) this.#stamps[block] = this.#nextStamp++;
    this.#tree = new Int32Array(Math.max(2 * (this.#nextStamp + more), MIN_STAMPS) + 1);
    const tree = this.#tree;
    for (let i = 1; i < tree.length; i++) {
      if (i <= this.#nextStamp) tree[i]!++;
      const up = i + (i & -i);
      if (up < tree.length) tree[up]! += tree[i]!;
    }
  }
}
