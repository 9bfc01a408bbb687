import { readBytes } from '../trace/byte-source.js';
import { type Line, LineSplitter, LineTooLong } from '../trace/line-splitter.js';
import { checkHash } from '../validate.js';
import { CliError } from './cli-error.js';

/*
 * Hashes as people and scripts write them.
 */

const MAX_LINE_BYTES = 4096;
const MOST_SHOWN = 40;

/** A hash in decimal, a negative one in two's complement, or in hex behind 0x. Throws Error. */
export function parseHash(text: string): bigint {
  if (!/^(-?\d+|0x[\da-f]+)$/i.test(text)) {
    const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
    throw new Error(`${JSON.stringify(shown)} is no hash: give it in decimal, or in hex behind 0x`);
  }
  return checkHash(BigInt(text));
}

/**
 * The hashes of a file, or of standard input for `-`: one a line, in their order, plain or gzip. What follows a # is a
 * comment; lines that are blank then are left out. Throws CliError, which names the line.
 */
export async function readHashes(path: string): Promise<BigUint64Array> {
  const file = path === '-' ? 'standard input' : path;
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  const hashes: bigint[] = [];
  try {
    for await (const chunk of readBytes(path, () => {})) {
      for (const line of splitter.push(chunk)) take(line);
    }
    for (const line of splitter.flush()) take(line);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: ${whyUnreadable(error, splitter.count + 1)}`);
  }
  return BigUint64Array.from(hashes);

  function take({ bytes, start, end, number }: Line): void {
    const text = bytes.toString('utf8', start, end).replace(/#.*/, '').trim();
    if (text === '') return;
    try {
      hashes.push(parseHash(text));
    } catch (error) {
      const hint = text.startsWith('{') ? '\n(--trace reads a trace)' : '';
      throw new CliError(`${file}:${number}: ${(error as Error).message}${hint}`);
    }
  }
}

function whyUnreadable(error: unknown, line: number): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'no such file';
  if (code === 'EISDIR') return 'this is a directory; give a file';
  return error instanceof LineTooLong
    ? `${message} (line ${line}): is this a list of hashes?`
    : `cannot be read: ${message}`;
}
