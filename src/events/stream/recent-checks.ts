const CAPACITY = 1024;
const NONE = -1;

/** What the last messages of a stream were: sequence → XXH64 of the payload. 16 KiB, constant time. */
export class RecentChecks {
  readonly #sequences = new Float64Array(CAPACITY).fill(NONE);
  readonly #checks = new BigUint64Array(CAPACITY);

  set(sequence: number, check: bigint): void {
    const slot = sequence % CAPACITY;
    this.#sequences[slot] = sequence;
    this.#checks[slot] = check;
  }

  /** Undefined: too old, or never applied. */
  get(sequence: number): bigint | undefined {
    const slot = sequence % CAPACITY;
    return this.#sequences[slot] === sequence ? this.#checks[slot] : undefined;
  }

  clear(): void {
    this.#sequences.fill(NONE);
  }
}
