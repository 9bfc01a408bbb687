import type { UpstreamFailure } from './upstream.js';

const FIRST_MS = 500;
const MOST_MS = 8000;
/** Of what a worker asks for by `retry-after`. */
const MOST_TOLD_MS = 60_000;

/**
 * A worker that failed requests gets none for a while: who refuses at once has the least load of all, and a policy that looks
 * at load would send ever more there.
 */
export class Hold {
  /** In a row. */
  #failures = 0;
  #untilMs = 0;

  /** 0: it is not on hold. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - performance.now());
  }

  /** Answers whether a hold began. */
  failed({ failure, retryAfterS }: UpstreamFailure): boolean {
    const isHeld = this.leftMs > 0;
    if (retryAfterS !== undefined) {
      this.#extend(Math.min(retryAfterS * 1000, MOST_TOLD_MS));
    } else if (!isHeld) {
      // What fails during a hold was sent before it. A connection that idled may break by chance: not twice in a row.
      const counts = failure !== 'cut' || this.#failures > 0;
      if (counts) this.#extend(Math.min(FIRST_MS * 2 ** this.#failures, MOST_MS));
      this.#failures++;
    }
    return !isHeld && this.leftMs > 0;
  }

  end(): void {
    this.#failures = 0;
    this.#untilMs = 0;
  }

  #extend(ms: number): void {
    this.#untilMs = Math.max(this.#untilMs, performance.now() + ms);
  }
}
