import { InvalidArgumentError } from 'commander';
import { MAX_CURVE_SIZES } from '../analysis/limits.js';
import { grouped } from '../text.js';

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

/** A parser of a file's name: that of an option, or of an argument. */
export function fileName(option?: string): (text: string) => string {
  return (text) => {
    if (text === '') {
      throw new InvalidArgumentError(option ? `${option} needs a file name.` : 'It is an empty file name.');
    }
    return text;
  };
}

/** Cache sizes for `--curve`: `auto`, or up to MAX_CURVE_SIZES integers with commas between them. */
export function cacheSizes(text: string): number[] | 'auto' {
  if (text === 'auto') return 'auto';
  const sizes = text.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : 0));
  if (sizes.some((size) => size < 1 || size > Number.MAX_SAFE_INTEGER)) {
    throw new InvalidArgumentError('Give "auto", or cache sizes in blocks such as 1000,5000,10000.');
  }
  if (sizes.length > MAX_CURVE_SIZES) {
    throw new InvalidArgumentError(`Give at most ${grouped(MAX_CURVE_SIZES)} cache sizes.`);
  }
  return sizes;
}
