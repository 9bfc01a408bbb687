import type { Random } from './random.js';

/** Random requests of a few sessions: prompts grow, are edited or start over, and share boilerplate. */
export class Requests {
  readonly #random: Random;
  readonly #prompts: bigint[][];
  readonly #growth: number;
  #nextId = 1n;

  constructor(random: Random, sessions = 6, growth = 6) {
    this.#random = random;
    this.#growth = growth;
    const boilerplate = this.#fresh();
    this.#prompts = Array.from({ length: sessions }, () => [...boilerplate]);
  }

  /** Session 0: a request without one. */
  next(): { session: number; ids: BigUint64Array } {
    const random = this.#random;
    const session = random.below(this.#prompts.length);
    const kind = random.below(12);
    let prompt = this.#prompts[session]!;
    if (kind === 0) prompt = this.#fresh();
    else if (kind < 3) prompt = prompt.slice(0, random.below(prompt.length + 1));
    else if (kind === 3) prompt = random.oneOf(this.#prompts).slice();
    prompt = kind === 4 ? prompt : [...prompt, ...this.#fresh()];
    this.#prompts[session] = prompt;
    return { session, ids: BigUint64Array.from(prompt) };
  }

  /** Ids of before come back now and then, at other places. */
  #fresh(): bigint[] {
    const random = this.#random;
    const count = random.below(this.#growth + 1);
    return Array.from({ length: count }, () => (random.oneIn(4) ? BigInt(random.below(8)) : this.#nextId++));
  }
}
