import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { hasKvidxCode } from '../errors.js';
import { CliError } from './cli-error.js';
import type { SketchInspectFlags } from './sketch.js';
import { openSketch } from './sketch-file.js';
import { readHashes } from './sketch-hashes.js';
import { inspectionOf, testOf } from './sketch-inspection.js';
import { inspectTables } from './sketch-tables.js';

export async function runSketchInspect(file: string, flags: SketchInspectFlags): Promise<void> {
  const bytes = await read(file);
  const sketch = refusing(file, () => openSketch(bytes));
  const hashes = flags.hashes === undefined ? flags.test : await readHashes(flags.hashes);
  const inspection = {
    ...inspectionOf(file, sketch, Date.now()),
    tested: hashes === undefined ? null : refusing(file, () => testOf(sketch, BigUint64Array.from(hashes))),
  };
  process.stdout.write(flags.json ? `${JSON.stringify(inspection, null, 2)}\n` : inspectTables(inspection));
}

async function read(file: string): Promise<Uint8Array> {
  if (file === '-') return buffer(process.stdin);
  try {
    return readFileSync(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new CliError(`${file}: no such file`);
    if (code === 'EISDIR') throw new CliError(`${file}: this is a directory; give a file`);
    throw new CliError(`${file}: cannot be read: ${message}`);
  }
}

/** The library says what is wrong with the bytes; here stands where they came from. */
function refusing<T>(file: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!hasKvidxCode(error) && !(error instanceof CliError)) throw error;
    throw new CliError(`${file === '-' ? 'standard input' : file}: ${error.message}`);
  }
}
