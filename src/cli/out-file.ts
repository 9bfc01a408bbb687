import { statSync, writeFileSync } from 'node:fs';
import { CliError } from './cli-error.js';

/**
 * Writes a result to the file of `--out`, where one is given, and then prints what is `shown`: also when the file cannot
 * be written, so that a long run is not lost. Throws CliError.
 */
export function writeThenPrint(file: string | undefined, json: string, shown: string): void {
  try {
    if (file !== undefined) writeFileSync(file, json);
  } catch (error) {
    throw new CliError(`cannot write ${file}: ${(error as Error).message}`);
  } finally {
    process.stdout.write(shown);
  }
}

/** Are both names those of one existing file? */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [identity(a), identity(b)];
  return one !== undefined && one === other;
}

/** Undefined: there is no such file, or it cannot be looked at; who opens it says why. */
function identity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
