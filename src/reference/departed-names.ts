import { DEPARTED_NAMES } from '../native/seam.js';

interface Departure {
  readonly seq: bigint;
  readonly number: number;
}

/** A name, and its hash. */
const ENTRY_BYTES = 8 + 8;

/** What the names meant that departed last. The twin of `native/core/departed_names.hpp`. */
export class DepartedNames {
  /** The last departure of each name, oldest first. */
  readonly #last = new Map<bigint, Departure>();
  #departures = 0;

  note(name: bigint, seq: bigint): void {
    this.#last.delete(name);
    this.#last.set(name, { seq, number: this.#departures++ });
    for (const [oldest, { number }] of this.#last) {
      if (number >= this.#departures - DEPARTED_NAMES) break;
      this.#last.delete(oldest);
    }
  }

  seqOf(name: bigint): bigint | undefined {
    return this.#last.get(name)?.seq;
  }

  clear(): void {
    this.#last.clear();
  }

  usedBytes(): number {
    return this.#last.size * ENTRY_BYTES;
  }
}
