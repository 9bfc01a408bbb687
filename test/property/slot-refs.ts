import type { Random } from './random.js';

/** One life of a slot. */
export interface SlotRef {
  readonly slot: number;
  readonly incarnation: number;
}

/** The slots that are live, and lives that are over. */
export class SlotRefs {
  readonly #random: Random;
  #live: SlotRef[] = [];
  readonly #former: SlotRef[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  get live(): readonly SlotRef[] {
    return this.#live;
  }

  add(ref: SlotRef): void {
    this.#live.push(ref);
  }

  end({ slot, incarnation }: SlotRef): void {
    this.#former.push({ slot, incarnation });
    this.#live = this.#live.filter((ref) => ref.slot !== slot || ref.incarnation !== incarnation);
  }

  /** All lives but these are over. */
  renew(live: SlotRef[]): void {
    this.#former.push(...this.#live);
    this.#live = live;
  }

  /** In a new index no life of before means anything. */
  forget(): void {
    this.#live = [];
    this.#former.length = 0;
  }

  /** A live one, now and then one that is over. */
  pick(): SlotRef {
    const isStale = this.#former.length > 0 && this.#random.oneIn(40);
    return this.#random.oneOf(isStale ? this.#former : this.#live);
  }
}
