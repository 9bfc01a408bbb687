export const MODES = {
  ok: 'as an engine should',
  slow: 'ten times slower',
  full: 'refuses with 503 and retry-after',
  error: 'answers 500',
  stall: 'accepts, and never answers',
  break: 'cuts the connection in the middle of an answer',
  hang: 'says nothing more in the middle of an answer',
  die: 'the process ends at once',
} as const;
export type Mode = keyof typeof MODES;

export function isMode(value: unknown): value is Mode {
  return typeof value === 'string' && Object.hasOwn(MODES, value);
}

/** How the worker behaves towards requests that come; those under way go on as they began. */
export class Modes {
  readonly #die: () => void;
  #mode: Mode = 'ok';
  /** What begins after so many further requests. */
  #coming: { readonly mode: Mode; after: number } | undefined;

  constructor(die: () => void) {
    this.#die = die;
  }

  get current(): Mode {
    return this.#mode;
  }

  set(mode: Mode, after = 0): void {
    this.#coming = { mode, after };
    this.#beginWhatIsDue();
  }

  /** A request comes: the mode that it meets. */
  meet(): Mode {
    this.#beginWhatIsDue();
    if (this.#coming !== undefined) this.#coming.after--;
    return this.#mode;
  }

  #beginWhatIsDue(): void {
    if (this.#coming?.after !== 0) return;
    this.#mode = this.#coming.mode;
    this.#coming = undefined;
    if (this.#mode === 'die') this.#die();
  }
}
