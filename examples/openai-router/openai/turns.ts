/** Of each turn of the event loop, for all that share it together. */
const TURN_MS = 4;

/**
 * Long computations share the event loop with everything else, and with each other: so much in each turn of the loop, and
 * one after the other, so that neither sockets nor short computations wait for a long one to end.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  /** When the time of this turn is over. Undefined: nobody has begun. */
  #ends: number | undefined;
  #isScheduled = false;

  /** Resolves when there is time for a piece of work, at once where this turn has some left. Rejects with the signal's reason. */
  async next(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#hasTime()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    signal?.throwIfAborted();
  }

  #hasTime(): boolean {
    const now = performance.now();
    this.#ends ??= now + TURN_MS;
    this.#schedule();
    return now < this.#ends;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const goOn = this.#waiting.shift();
      this.#ends = goOn && performance.now() + TURN_MS;
      if (goOn === undefined) return;
      this.#schedule();
      goOn();
    });
  }
}
