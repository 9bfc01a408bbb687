import { CAUSE } from '../native/seam.js';
import { AgeOrder } from './age-order.js';

/** Why blocks left slots: the latest evictions, at most `most`, of blocks that have not come back since. */
export class EvictionHistory {
  readonly #most: number;
  readonly #causes = new AgeOrder<bigint, number>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#causes.size;
  }

  record(slot: number, hash: bigint, cause: number): void {
    if (this.#most === 0) return;
    this.#causes.set(keyOf(slot, hash), cause);
    if (this.#causes.size > this.#most) this.#causes.delete(this.#causes.oldest!.key);
  }

  forget(slot: number, hash: bigint): void {
    if (this.#causes.size > 0) this.#causes.delete(keyOf(slot, hash));
  }

  forgetSlot(slot: number): void {
    for (const { key } of this.#causes) if (slotOf(key) === slot) this.#causes.delete(key);
  }

  /** A CAUSE. */
  cause(slot: number, hash: bigint): number {
    return this.#causes.get(keyOf(slot, hash)) ?? CAUSE.none;
  }

  /** Oldest first. */
  *[Symbol.iterator](): Generator<readonly [slot: number, hash: bigint], void> {
    for (const { key } of this.#causes) yield [slotOf(key), BigInt.asUintN(64, key)];
  }
}

function keyOf(slot: number, hash: bigint): bigint {
  return (BigInt(slot) << 64n) | hash;
}

function slotOf(key: bigint): number {
  return Number(key >> 64n);
}
