/**
 * Hands out the smallest number ≥ 1 that is not in use, in O(log n). Every number up to `#highest` is in use or waits
 * in a binary heap.
 */
export class NumberPool {
  readonly #heap: number[];
  #highest: number;

  /** `free`: the numbers below `highest` or equal to it that are not in use, ascending. */
  constructor(highest = 0, free: readonly number[] = []) {
    this.#highest = highest;
    // An ascending list is a heap as it is.
    this.#heap = free.slice();
  }

  take(): number {
    return this.#heap.length > 0 ? this.#pop() : ++this.#highest;
  }

  giveBack(number: number): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (heap[up]! <= number) break;
      heap[at] = heap[up]!;
      at = up;
    }
    heap[at] = number;
  }

  /** Numbers given back and not taken again, ascending. */
  free(): number[] {
    return this.#heap.toSorted((a, b) => a - b);
  }

  #pop(): number {
    const heap = this.#heap;
    const smallest = heap[0]!;
    const last = heap.pop()!;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && heap[down + 1]! < heap[down]!) down++;
      if (heap[down]! >= last) break;
      heap[at] = heap[down]!;
      at = down;
    }
    if (heap.length > 0) heap[at] = last;
    return smallest;
  }
}
