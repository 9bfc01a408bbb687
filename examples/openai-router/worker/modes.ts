/**
 * `ok`; `slow`: everything takes ten times as long; `full`: refuses with 503; `error`: answers 500; `stall`: accepts, and never
 * answers; `break`: cuts the connection in the middle of an answer; `hang`: says nothing more there; `die`: the process ends.
 */
export const MODES = ['ok', 'slow', 'full', 'error', 'stall', 'break', 'hang', 'die'] as const;
export type Mode = (typeof MODES)[number];

export function isMode(value: unknown): value is Mode {
  return MODES.includes(value as Mode);
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
