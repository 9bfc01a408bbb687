/** Hashes in memory that is used again: `hashes` is a view of the first of `memory`. */
export interface HashBuffer {
  readonly hashes: BigUint64Array;
  readonly memory: BigUint64Array;
}

const LEAST = 64;
/** 16 MiB of buffers may wait for their next use. */
const MAX_FREE_HASHES = 2 ** 21;

/**
 * Memory for the hashes of requests under way, in powers of two, so that in steady state a request allocates none,
 * however long its prompt.
 */
export class HashBuffers {
  readonly #free: BigUint64Array[][] = [];
  #freeHashes = 0;

  /** Room for `count` hashes, which stand for nothing yet. */
  take(count: number): HashBuffer {
    const size = Math.max(LEAST, 2 ** Math.ceil(Math.log2(count)));
    let memory = this.#free[sizeClass(size)]?.pop();
    if (memory) this.#freeHashes -= size;
    else memory = new BigUint64Array(size);
    return { hashes: memory.subarray(0, count), memory };
  }

  /** Must be given once, and not be used afterwards. */
  give({ memory }: HashBuffer): void {
    if (this.#freeHashes + memory.length > MAX_FREE_HASHES) return;
    this.#freeHashes += memory.length;
    const place = sizeClass(memory.length);
    this.#free[place] ??= [];
    this.#free[place].push(memory);
  }
}

function sizeClass(size: number): number {
  return Math.log2(size);
}
