import type { Random } from '../../random.js';

export interface BackoffOptions {
  /** The first pause, in ms. Default 50. */
  readonly baseMs?: number;
  /** Each further one is so many times as long; 1 or more. Default 2. */
  readonly factor?: number;
  /** No pause is longer, in ms. Default 2,000. */
  readonly maxMs?: number;
  /** The share of a pause that is left to chance, 0 … 1: sessions refused together shall not come back together. Default 0.5. */
  readonly jitter?: number;
}

/** The pauses of one dispatch. */
export class Backoff {
  readonly #settings: Required<BackoffOptions>;
  readonly #maxPauseMs: number;
  readonly #random: Random;
  #nextMs: number;

  /** `maxPauseMs` caps what workers recommend. */
  constructor(settings: Required<BackoffOptions>, maxPauseMs: number, random: Random) {
    this.#settings = settings;
    this.#maxPauseMs = maxPauseMs;
    this.#random = random;
    this.#nextMs = Math.min(settings.baseMs, settings.maxMs);
  }

  /** What the worker recommends, capped; else the next pause in turn, less a random part. */
  next(recommendedMs: number | undefined): number {
    if (recommendedMs !== undefined) return Math.min(recommendedMs, this.#maxPauseMs);
    const { factor, maxMs, jitter } = this.#settings;
    const pauseMs = this.#nextMs * (1 - jitter * this.#random.uniform());
    this.#nextMs = Math.min(this.#nextMs * factor, maxMs);
    return pauseMs;
  }
}
