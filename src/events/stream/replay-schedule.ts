const FIRST_PAUSE_MS = 1000;
/** No pause grows longer by itself. */
const LONGEST_PAUSE_MS = 30_000;

/**
 * When to ask for a replay next: when nothing new came for a while, ever more rarely while the answers bring nothing new
 * either; after a failure, whatever else comes, with growing pauses.
 */
export class ReplaySchedule {
  readonly #idleMs: number;
  #pauseMs: number;
  #dueMs = 0;
  #failures = 0;

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
    this.#pauseMs = idleMs;
  }

  /** Replays failed, and none has ended well since. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  isDue(nowMs: number): boolean {
    return nowMs >= this.#dueMs;
  }

  /** A message was applied. */
  news(nowMs: number): void {
    this.#pauseMs = this.#idleMs;
    if (this.#failures === 0) this.#dueMs = nowMs + this.#pauseMs;
  }

  /** Something is suspicious: at the next occasion, unless replays fail. */
  hasten(nowMs: number): void {
    if (this.#failures === 0) this.#dueMs = nowMs;
  }

  ended(nowMs: number, hasNews: boolean): void {
    this.#failures = 0;
    const longer = Math.min(this.#pauseMs * 2, Math.max(LONGEST_PAUSE_MS, this.#idleMs));
    this.#pauseMs = hasNews ? this.#idleMs : longer;
    this.#dueMs = nowMs + this.#pauseMs;
  }

  /** Failures so far no longer count. */
  forgive(): void {
    this.#failures = 0;
  }

  failed(nowMs: number): void {
    this.#dueMs = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS);
    this.#failures += 1;
  }
}
