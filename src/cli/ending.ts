import { setTimeout as delay } from 'node:timers/promises';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * When a command that goes on by itself ends: at Ctrl-C or SIGTERM, when the time that was given for it is over, when
 * nobody reads its standard output any more, or when it says so. A second Ctrl-C ends the process at once.
 */
export class Ending {
  readonly #controller = new AbortController();

  constructor(seconds?: number) {
    const end = () => this.end();
    for (const signal of SIGNALS) process.once(signal, end);
    process.stdout.once('error', end);
    const timer = seconds === undefined ? undefined : setTimeout(end, seconds * 1000);
    this.#controller.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      for (const signal of SIGNALS) process.off(signal, end);
      process.stdout.off('error', end);
    });
  }

  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  end(): void {
    this.#controller.abort();
  }

  /** Resolves after so many ms, or at the end. */
  async sleep(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#controller.signal }).catch(() => {});
  }

  /** Resolves at the end. The process stays alive until then. */
  async wait(): Promise<void> {
    while (!this.isOver) await this.sleep(2 ** 30);
  }
}
