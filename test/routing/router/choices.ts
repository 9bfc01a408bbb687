import type { RouteRequest } from '../../../src/routing/types.js';
import type { Random } from '../../property/random.js';
import type { Model } from './model.js';
import { BLOCK } from './support.js';

/** Conversations, each a chain of blocks behind one of three heads of 0, 4 and 8 blocks. */
const CONVERSATIONS = 12;
const LONGEST = 25;

/** Requests and names for a player. */
export class Choices {
  readonly #random: Random;
  readonly #model: Model;
  #nextId = 0;

  constructor(random: Random, model: Model) {
    this.#random = random;
    this.#model = model;
  }

  request(): RouteRequest & { seqHashes: BigUint64Array; inputLength: number } {
    const random = this.#random;
    const number = random.below(CONVERSATIONS);
    const head = number % 3;
    const hashes = Array.from({ length: random.between(0, LONGEST) }, (_, i) =>
      BigInt(i < 4 * head ? 1_000_000 + head * 1_000 + i : 1 + number * 1_000 + i),
    );
    const requestId = `id-${++this.#nextId}`;
    return {
      ...(!random.oneIn(5) && { session: `s${random.oneIn(6) ? random.below(CONVERSATIONS) : number}` }),
      ...(random.oneIn(2) && { requestId }),
      seqHashes: BigUint64Array.from(hashes),
      inputLength: hashes.length * BLOCK + random.below(BLOCK),
    };
  }

  /** Mostly that of a request under way, else one that has ended or never was. */
  id(): string {
    const ids = [...this.#model.requests.keys()];
    if (ids.length === 0 || this.#random.oneIn(8)) return `id-${this.#random.between(1, this.#nextId + 2)}`;
    return this.#random.oneOf(ids);
  }

  /** One that is remembered; undefined: none is. */
  session(): string | undefined {
    const names = [...this.#model.sessions.keys()];
    return names.length > 0 ? this.#random.oneOf(names) : undefined;
  }
}
