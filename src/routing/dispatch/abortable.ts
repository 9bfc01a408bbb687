/**
 * A promise that `start` resolves, or that rejects with the signal's reason once it is aborted; what `start` answers is
 * called then, and never after it resolved. `start` must not resolve before it returned.
 */
export function abortable<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal === undefined) {
      start(resolve);
      return;
    }
    signal.throwIfAborted();
    const undo = start((value) => {
      signal.removeEventListener('abort', onAbort);
      resolve(value);
    });
    const onAbort = (): void => {
      undo();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
