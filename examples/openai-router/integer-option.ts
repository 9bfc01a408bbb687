import { InvalidArgumentError } from 'commander';

/** Reads the value of an option of the command line. */
export function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be an integer from ${least} to ${most}.`);
    }
    return value;
  };
}
