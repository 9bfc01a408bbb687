/** Whoever has something to do waits its turn: one at a time, in the order in which they came. */
export class Line {
  /** Calls the one that waits. */
  readonly #waiting = new Set<() => void>();
  #isBusy = false;

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Rejects with what the task rejects with, or with the reason of an abort, at once: whoever waits leaves the line. */
  async run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    await this.#turn(signal);
    try {
      return await task();
    } finally {
      this.#next();
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#isBusy) {
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          this.#waiting.delete(call);
          reject(signal.reason);
        };
        const call = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        this.#waiting.add(call);
        signal.addEventListener('abort', leave, { once: true });
      });
    }
    this.#isBusy = true;
  }

  #next(): void {
    const [call] = this.#waiting;
    if (call === undefined) {
      this.#isBusy = false;
    } else {
      this.#waiting.delete(call); // the turn passes on: whoever comes now still finds it busy
      call();
    }
  }
}
