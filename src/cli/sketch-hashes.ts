import { readBytes } from '../byte-source.js';
import { type Line, LineSplitter, LineTooLong } from '../trace/line-splitter.js';
import { checkHash } from '../validate.js';
import { CliError } from './cli-error.js';
import { HashList } from './hash-list.js';

/*
 * Hashes as people and scripts write them.
 */

const MAX_LINE_BYTES = 4096;
const MOST_SHOWN = 40;

/** A hash in decimal, a negative one in two's complement, or in hex behind 0x. Throws Error; RangeError beyond 64 bits. */
export function parseHash(text: string): bigint {
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  if (!/^(-?\d+|0x[\da-f]+)$/i.test(text)) {
    throw new Error(`${JSON.stringify(shown)} is no hash: give it in decimal, or in hex behind 0x`);
  }
  try {
    return checkHash(BigInt(text));
  } catch {
    throw new RangeError(`${shown} does not fit 64 bits: a hash is from −2^63 to 2^64 − 1`);
  }
}

/**
 * The hashes of a file, or of standard input for `-`: one a line, in their order, plain or gzip. What follows a # is a
 * comment; lines that are blank then are left out. Throws CliError, which names the line, also where there are none.
 */
export async function readHashes(path: string): Promise<BigUint64Array> {
  const file = path === '-' ? 'standard input' : path;
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  const list = new HashList();
  try {
    for await (const chunk of readBytes(path, () => {})) {
      for (const line of splitter.push(chunk)) take(line);
    }
    for (const line of splitter.flush()) take(line);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: ${whyUnreadable(error, splitter.count + 1)}`);
  }
  if (list.hashes.length === 0) throw new CliError(`${file}: no hashes are in it`);
  return list.hashes;

  function take({ bytes, start, end, number }: Line): void {
    const text = bytes.toString('utf8', start, end).replace(/#.*/, '').trim();
    if (text === '') return;
    try {
      list.push(parseHash(text));
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
