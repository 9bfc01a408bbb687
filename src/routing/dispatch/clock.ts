/** The present, and being called later. */
export interface Clock {
  /** In ms; never goes back. */
  now(): number;
  /** Calls `callback` once, `ms` (0 or more) from now; what is answered takes that back. */
  after(ms: number, callback: () => void): () => void;
}

/** Waiting dispatches keep the process alive. `ms` up to MAX_DELAY_MS. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.ceil(ms));
    return () => clearTimeout(timer);
  },
};

/** Beyond it setTimeout fires at once. */
export const MAX_DELAY_MS = 2 ** 31 - 1;
