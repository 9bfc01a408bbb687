import { counted } from '../text.js';
import { BadRow } from '../trace/row-parser.js';
import type { TraceReader } from '../trace/trace-reader.js';
import { CliError } from './cli-error.js';

/*
 * What the commands that read a trace say on standard error.
 */

const SKIP_HINT = '(--on-error skip leaves bad rows out and counts them)';

export function note(text: string): void {
  process.stderr.write(`kvidx: ${text}\n`);
}

/** Throws the error, with a way out where a bad row ended the reading. */
export function throwWithHint(error: Error): never {
  throw error.cause instanceof BadRow ? new CliError(`${error.message}\n${SKIP_HINT}`) : error;
}

export function noteSkippedRows({ skipped, firstSkipped }: TraceReader): void {
  if (firstSkipped === undefined) return;
  const were = skipped === 1 ? 'was' : 'were';
  note(`${counted(skipped, 'bad row')} ${were} left out; the first: ${firstSkipped.message}`);
}
