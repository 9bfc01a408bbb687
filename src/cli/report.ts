import { CommanderError } from 'commander';
import { hasKvidxCode } from '../errors.js';
import { CliError } from './cli-error.js';

export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/** Says on standard error what failed, and answers the exit code. A stack only for what nobody foresaw. */
export function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage; // it has spoken already
  const expected = error instanceof CliError || hasKvidxCode(error);
  process.stderr.write(`kvidx: ${expected ? error.message : ((error as Error)?.stack ?? error)}\n`);
  return EXIT.failed;
}
