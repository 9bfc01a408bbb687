/** The caller's function, if any, whose own errors stop nothing here. */
export function guarded<A extends unknown[]>(
  callback: ((...args: A) => void) | undefined,
): (...args: A) => void {
  return (...args) => {
    try {
      callback?.(...args);
    } catch {
      // It was told; what it does with that is its own affair.
    }
  };
}
