import { InvalidArgumentError } from 'commander';

/** A parser of an integer option from `lo` to `hi`. */
export function integerFrom(lo: number, hi: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < lo || value > hi) {
      throw new InvalidArgumentError(`Give an integer from ${lo} to ${hi}.`);
    }
    return value;
  };
}

/** Cache sizes for `--curve`: `auto`, or integers with commas between them. */
export function cacheSizes(text: string): number[] | 'auto' {
  if (text === 'auto') return 'auto';
  const sizes = text.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : 0));
  if (sizes.some((size) => size < 1 || size > Number.MAX_SAFE_INTEGER)) {
    throw new InvalidArgumentError('Give "auto", or cache sizes in blocks such as 1000,5000,10000.');
  }
  return sizes;
}
