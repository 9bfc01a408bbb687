import { grouped } from '../text.js';
import { CliError } from './cli-error.js';

/** 1 GiB, as the largest filter. */
const MAX_HASHES = 2 ** 27;

/** Hashes that come one by one, 8 bytes each, from a source that may have no end. */
export class HashList {
  readonly #most: number;
  #hashes = new BigUint64Array(1024);
  #length = 0;

  constructor(most = MAX_HASHES) {
    this.#most = most;
  }

  /** Throws CliError. */
  push(hash: bigint): void {
    if (this.#length === this.#most)
      throw new CliError(`more than ${grouped(this.#most)} hashes are too many`);
    if (this.#length === this.#hashes.length) {
      const larger = new BigUint64Array(2 * this.#length);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[this.#length++] = hash;
  }

  /** Aliased, until the next one is pushed. */
  get hashes(): BigUint64Array {
    return this.#hashes.subarray(0, this.#length);
  }
}
