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

/** The same clock, except that it calls nobody back before `after` returned: what that answers is needed then. */
export function neverAtOnce(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    after(ms, callback) {
      let returned = false;
      let cancelled = false;
      const cancel = clock.after(ms, () => {
        if (returned) callback();
        else queueMicrotask(() => !cancelled && callback());
      });
      returned = true;
      return () => {
        cancelled = true;
        cancel();
      };
    },
  };
}
