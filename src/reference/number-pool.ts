/**
 * Hands out the smallest number ≥ 1 that is not in use, in O(log n). Numbers that were given back wait in a binary
 * heap; everything from `#fresh` on was never looked at, so a pool over restored numbers costs nothing to set up.
 */
export class NumberPool {
  readonly #inUse: (number: number) => boolean;
  readonly #heap: number[] = [];
  #fresh = 1;

  constructor(inUse: (number: number) => boolean) {
    this.#inUse = inUse;
  }

  take(): number {
    if (this.#heap.length > 0) return this.#pop();
    while (this.#inUse(this.#fresh)) this.#fresh++;
    return this.#fresh++;
  }

  giveBack(number: number): void {
    if (number < this.#fresh) this.#push(number);
  }

  #push(number: number): void {
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
