import { Random } from '../../random.js';

/** Who of two or more candidates with equal scores gets the request, as an index among them. */
export interface Ties {
  /** What `take` would answer. */
  peek(tied: number): number;
  take(tied: number): number;
  /** Why another one did not get it. */
  readonly lost: string;
}

export const FIRST_WINS: Ties = {
  peek: () => 0,
  take: () => 0,
  lost: 'first wins',
};

/** Index = counter mod number of tied; the counter rises with every tie. */
export class Rotation implements Ties {
  readonly lost = 'its turn in the rotation comes later';
  #counter = 0;

  peek(tied: number): number {
    return this.#counter % tied;
  }

  take(tied: number): number {
    return this.#counter++ % tied;
  }
}

/** Drawn evenly. */
export class Draw implements Ties {
  readonly lost = 'the draw fell on another';
  readonly #random: Random;
  /** Drawn ahead, so that `peek` leaves the source alone. */
  #next: number;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#next = this.#random.uniform();
  }

  peek(tied: number): number {
    return Math.floor(this.#next * tied);
  }

  take(tied: number): number {
    const index = this.peek(tied);
    this.#next = this.#random.uniform();
    return index;
  }
}
