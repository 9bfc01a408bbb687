import { open } from 'node:fs/promises';
import { MAX_FILTER_BLOCKS } from '../sketch/sizing.js';
import { BLOCK_BYTES } from '../sketch/words.js';
import { grouped } from '../text.js';
import { CliError } from './cli-error.js';
import { BEGINNING_BYTES, formOf } from './sketch-file.js';

const INDEX_BYTES = 4;
/** More than a head with the longest names takes. */
const MAX_HEAD_BYTES = 2 ** 18;
/** No frame is longer than a delta of all blocks, each behind its index. */
const MAX_SKETCH_BYTES = MAX_FILTER_BLOCKS * (INDEX_BYTES + BLOCK_BYTES) + MAX_HEAD_BYTES;

/**
 * The bytes of a file, or of standard input for `-`. Reads no more than their beginning where that is no sketch's, and no
 * more than the largest sketch has. Throws CliError.
 */
export async function readSketch(file: string): Promise<Uint8Array> {
  if (file === '-') return collect(process.stdin);
  try {
    const handle = await open(file);
    const { size } = await handle.stat(); // 0 of what has no size of its own, such as a named pipe
    return await collect(handle.createReadStream(), { announced: size });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof CliError) throw error;
    if (code === 'ENOENT') throw new CliError('no such file');
    if (code === 'EISDIR') throw new CliError('this is a directory; give a file');
    throw new CliError(`cannot be read: ${message}`);
  }
}

/** All chunks as one. Throws CliError as soon as they cannot be those of a sketch, and asks for no more of them then. */
export async function collect(
  chunks: AsyncIterable<Buffer>,
  { announced = 0, most = MAX_SKETCH_BYTES } = {},
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const isBegun = length >= BEGINNING_BYTES;
    parts.push(chunk);
    length += chunk.length;
    if (length < BEGINNING_BYTES) continue;
    if (!isBegun) formOf(Buffer.concat(parts));
    if (Math.max(length, announced) > most) {
      throw new CliError(`it is longer than the largest sketch, which has ${grouped(most)} bytes`);
    }
  }
  const bytes = Buffer.concat(parts);
  formOf(bytes);
  return bytes;
}
