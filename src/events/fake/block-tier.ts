/** Blocks of one tier: engine's name and seq hash of each, by place. */
export interface Blocks {
  readonly names: BigUint64Array;
  readonly seqHashes: BigUint64Array;
}

const NONE = -1;

/**
 * The blocks of one tier, least recently used first. A block that is held is in use and cannot be evicted.
 *
 * ```
 * table  : hash slots → place of a name (linear probing, at most half full)
 * places : name │ seq hash │ neighbours in the list of blocks that are not held
 * ```
 *
 * Names are compared as pairs of u32, so that looking one up makes no bigint. Every operation on a block is O(1).
 */
export class BlockTier {
  readonly #names: BigUint64Array;
  readonly #halves: Uint32Array;
  readonly #seqHashes: BigUint64Array;
  readonly #table: Int32Array;
  readonly #mask: number;
  /** A ring through the places that are not held; its end is the extra last place. NONE in `#newer`: held, or free. */
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  /** Free places, the last one first. */
  readonly #unused: Int32Array;
  #size = 0;

  constructor(readonly capacity: number) {
    this.#names = new BigUint64Array(capacity);
    this.#halves = halvesOf(this.#names);
    this.#seqHashes = new BigUint64Array(capacity);
    const slots = 2 ** Math.ceil(Math.log2(2 * capacity));
    this.#mask = slots - 1;
    this.#table = new Int32Array(slots);
    this.#newer = new Int32Array(capacity + 1);
    this.#older = new Int32Array(capacity + 1);
    this.#unused = new Int32Array(capacity);
    this.clear();
  }

  get room(): number {
    return this.capacity - this.#size;
  }

  /** The place of name `i` of an array given by its halves; −1: not here. */
  find(halves: Uint32Array, i: number): number {
    const low = halves[2 * i]!;
    const high = halves[2 * i + 1]!;
    for (let slot = low & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const place = this.#table[slot]!;
      if (place === NONE) return NONE;
      if (this.#halves[2 * place] === low && this.#halves[2 * place + 1] === high) return place;
    }
  }

  /** Adds block `i`, whose name is not here, and for which there is room; held. Answers its place. */
  add({ names, seqHashes }: Blocks, i: number): number {
    const place = this.#unused[this.#size++]!;
    this.#names[place] = names[i]!;
    this.#seqHashes[place] = seqHashes[i]!;
    let slot = this.#home(place);
    while (this.#table[slot] !== NONE) slot = (slot + 1) & this.#mask;
    this.#table[slot] = place;
    return place;
  }

  hold(place: number): void {
    const newer = this.#newer[place]!;
    if (newer === NONE) return;
    const older = this.#older[place]!;
    this.#newer[older] = newer;
    this.#older[newer] = older;
    this.#newer[place] = NONE;
  }

  /** As the most recently used. */
  release(place: number): void {
    this.hold(place);
    const end = this.capacity;
    const newest = this.#older[end]!;
    this.#newer[newest] = place;
    this.#older[place] = newest;
    this.#newer[place] = end;
    this.#older[end] = place;
  }

  /** Takes out the `count` least recently used blocks, or as many as are not held. */
  evict(count: number): Blocks {
    const names = new BigUint64Array(Math.max(0, count));
    const seqHashes = new BigUint64Array(names.length);
    let evicted = 0;
    for (; evicted < names.length; evicted++) {
      const oldest = this.#newer[this.capacity]!;
      if (oldest === this.capacity) break;
      names[evicted] = this.#names[oldest]!;
      seqHashes[evicted] = this.#seqHashes[oldest]!;
      this.#remove(oldest);
    }
    return { names: names.subarray(0, evicted), seqHashes: seqHashes.subarray(0, evicted) };
  }

  /** All blocks, in no order. */
  blocks(): Blocks {
    const places = this.#table.filter((place) => place !== NONE);
    return {
      names: BigUint64Array.from(places, (place) => this.#names[place]!),
      seqHashes: BigUint64Array.from(places, (place) => this.#seqHashes[place]!),
    };
  }

  clear(): void {
    this.#size = 0;
    this.#table.fill(NONE);
    this.#newer.fill(NONE);
    this.#newer[this.capacity] = this.#older[this.capacity] = this.capacity;
    for (let i = 0; i < this.capacity; i++) this.#unused[i] = i;
  }

  #home(place: number): number {
    return this.#halves[2 * place]! & this.#mask;
  }

  #remove(place: number): void {
    this.hold(place);
    let hole = this.#home(place);
    while (this.#table[hole] !== place) hole = (hole + 1) & this.#mask;
    this.#closeHole(hole);
    this.#unused[--this.#size] = place;
  }

  /** Moves up every later entry of the run of slots that would not be found behind the hole. */
  #closeHole(hole: number): void {
    for (let slot = (hole + 1) & this.#mask; this.#table[slot] !== NONE; slot = (slot + 1) & this.#mask) {
      const place = this.#table[slot]!;
      const fromHome = (slot - this.#home(place)) & this.#mask;
      if (fromHome < ((slot - hole) & this.#mask)) continue;
      this.#table[hole] = place;
      hole = slot;
    }
    this.#table[hole] = NONE;
  }
}

/** Names as pairs of u32. */
export function halvesOf(names: BigUint64Array): Uint32Array {
  return new Uint32Array(names.buffer, names.byteOffset, 2 * names.length);
}
