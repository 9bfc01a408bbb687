/** Beyond 2^40 the sums are scaled down: far from where a double loses whole tokens. */
const MAX_DOUBLINGS = 40;

/**
 * Work that halves with time, kept without touching it as time passes: a token of now is added with the weight that a
 * token of the epoch would have left had it been so much larger, so that sums stay comparable as they are. Cost: one
 * power a dispatch and one a decision; all sums are divided once in some 40 half-lives.
 */
export class WorkScale {
  readonly #halfLifeMs: number;
  #epochMs: number;

  /** `halfLifeMs` Infinity: nothing decays, and sums of tokens are exact. */
  constructor(halfLifeMs: number, nowMs: number) {
    this.#halfLifeMs = halfLifeMs;
    this.#epochMs = nowMs;
  }

  /** What a token assigned at this time adds to a sum. */
  weight(timeMs: number): number {
    return 2 ** ((timeMs - this.#epochMs) / this.#halfLifeMs);
  }

  /** Moves the epoch when weights grow large; answers what every sum is to be multiplied with. */
  rescale(nowMs: number): number {
    if ((nowMs - this.#epochMs) / this.#halfLifeMs <= MAX_DOUBLINGS) return 1;
    const factor = 1 / this.weight(nowMs);
    this.#epochMs = nowMs;
    return factor;
  }
}
