/** Seeded numbers (xorshift32), so that every run of a scenario works on the same data. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 1;
  }

  u32(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }

  tokens(count: number): Uint32Array {
    return Uint32Array.from({ length: count }, () => this.u32() % 151_936);
  }

  hashes(count: number): BigUint64Array {
    const halves = new Uint32Array(count * 2);
    for (let i = 0; i < halves.length; i++) halves[i] = this.u32();
    return new BigUint64Array(halves.buffer);
  }

  /** 0 … count − 1 in random order. */
  permutation(count: number): Uint32Array {
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = this.u32() % (i + 1);
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }
}
