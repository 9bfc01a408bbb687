import type { CoreApcCounter, HashSeam } from '../native/seam.js';
import { RecencyRanks } from './recency-ranks.js';

/** Places in `hits` before those of the capacities. */
const ANY = 0;
const INTRA = 1;
const CAPACITIES = 2;

/** Exact prefix hits of a trace; n blocks of a request cost O(n), or O(n log blocks) with capacities. */
export function createReferenceApcCounter(
  capacities: Float64Array,
  hasher: Pick<HashSeam, 'chainHashes'>,
): CoreApcCounter {
  return new ReferenceApcCounter(capacities, hasher);
}

class ReferenceApcCounter implements CoreApcCounter {
  readonly #capacities: Float64Array;
  readonly #hasher: Pick<HashSeam, 'chainHashes'>;
  /** Every block seen gets the next number. */
  readonly #numbers = new Map<bigint, number>();
  readonly #seenBySession = new Map<number, Set<number>>();
  readonly #ranks = new RecencyRanks();

  constructor(capacities: Float64Array, hasher: Pick<HashSeam, 'chainHashes'>) {
    this.#capacities = capacities.slice();
    this.#hasher = hasher;
  }

  add(session: number, ids: BigUint64Array, hits: Uint32Array): void {
    const chained = new BigUint64Array(ids.length);
    this.#hasher.chainHashes(ids, 0n, chained);
    const path = new Uint32Array(ids.length);
    const known = this.#numbers.size;
    for (let i = 0; i < path.length; i++) path[i] = this.#numberOf(chained[i]!);
    let any = 0;
    while (any < path.length && path[any]! < known) any++;
    hits[ANY] = any;
    hits[INTRA] = session === 0 ? 0 : this.#addToSession(session, path);
    if (this.#capacities.length === 0) return;
    for (const [i, capacity] of this.#capacities.entries()) {
      hits[CAPACITIES + i] = this.#cachedBlocks(path, any, capacity);
    }
    this.#ranks.usePath(path);
  }

  uniqueBlocks(): number {
    return this.#numbers.size;
  }

  close(): void {
    this.#numbers.clear();
    this.#seenBySession.clear();
    this.#ranks.clear();
  }

  #numberOf(hash: bigint): number {
    const present = this.#numbers.get(hash);
    if (present !== undefined) return present;
    const number = this.#numbers.size;
    this.#numbers.set(hash, number);
    return number;
  }

  /** Answers how many leading blocks the session had seen. */
  #addToSession(session: number, path: Uint32Array): number {
    const seen = this.#seenBySession.get(session) ?? new Set<number>();
    this.#seenBySession.set(session, seen);
    let hits = 0;
    while (hits < path.length && seen.has(path[hits]!)) hits++;
    // A session that saw a block saw the path before it: behind the first miss everything is new.
    for (let i = hits; i < path.length; i++) seen.add(path[i]!);
    return hits;
  }

  /** Every request makes the head of its path newest, so ranks rise along a path and can be searched by halving. */
  #cachedBlocks(path: Uint32Array, any: number, capacity: number): number {
    let low = 0;
    let high = any;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ranks.rank(path[middle]!) <= capacity) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
