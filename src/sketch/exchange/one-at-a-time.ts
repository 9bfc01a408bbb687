/** Runs a task for who asks, one run at a time: all who ask during a run share one more, which begins after it. */
export class OneAtATime<T> {
  readonly #task: () => Promise<T>;
  /** Until the present run has ended. */
  #ending: Promise<void> | undefined;
  #next: Promise<T> | undefined;

  /** The task does not reject. */
  constructor(task: () => Promise<T>) {
    this.#task = task;
  }

  get isRunning(): boolean {
    return this.#ending !== undefined || this.#next !== undefined;
  }

  run(): Promise<T> {
    if (this.#next) return this.#next;
    if (!this.#ending) return this.#begin();
    this.#next = this.#ending.then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  /** Resolves when nothing runs, and nothing is to. */
  async idle(): Promise<void> {
    while (this.isRunning) await (this.#next ?? this.#ending);
  }

  #begin(): Promise<T> {
    const run = this.#task();
    this.#ending = run.then(() => {
      this.#ending = undefined;
    });
    return run;
  }
}
