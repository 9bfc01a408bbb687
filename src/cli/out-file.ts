import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CliError } from './cli-error.js';

/**
 * Writes a result to the file of `--out`, where one is given, and then prints what is `shown`: also when the file cannot
 * be written, so that a long run is not lost. Throws CliError.
 */
export function writeThenPrint(file: string | undefined, json: string, shown: string): void {
  try {
    if (file !== undefined) writeFileSync(file, json);
  } catch (error) {
    throw cannotWrite(file!, error);
  } finally {
    process.stdout.write(shown);
  }
}

/** Throws CliError where a file cannot be made or replaced, as far as that is seen without doing so. */
export function checkWritable(file: string): void {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    accessSync(stats === undefined ? dirname(file) : file, constants.W_OK);
  } catch (error) {
    throw cannotWrite(file, error);
  }
}

export function cannotWrite(file: string, error: unknown): CliError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new CliError(`cannot write ${file}: ${PROBLEMS[code] ?? message}`);
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'this is a directory; give a file',
  ENOENT: 'no such directory',
  ENOTDIR: 'a part of its path is no directory',
};

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
