import { hasKvidxCode } from '../errors.js';
import { CliError } from './cli-error.js';
import { print } from './print.js';
import { readSketch } from './read-sketch.js';
import type { SketchInspectFlags } from './sketch.js';
import { openSketch } from './sketch-file.js';
import { readHashes } from './sketch-hashes.js';
import { inspectionOf, testOf } from './sketch-inspection.js';
import { inspectionJson } from './sketch-json.js';
import { inspectTables } from './sketch-tables.js';

export async function runSketchInspect(file: string, flags: SketchInspectFlags): Promise<void> {
  const sketch = await refusing(file, async () => openSketch(await readSketch(file)));
  const hashes = await hashesOf(flags);
  const inspection = inspectionOf(file, sketch, Date.now());
  const tested = hashes === undefined ? null : await refusing(file, () => testOf(sketch, hashes));
  await print(flags.json ? inspectionJson(inspection, tested) : [inspectTables(inspection, tested)]);
}

async function hashesOf({ test, hashes }: SketchInspectFlags): Promise<BigUint64Array | undefined> {
  if (hashes !== undefined) return readHashes(hashes);
  return test && BigUint64Array.from(test);
}

/** What is wrong with the bytes is said where it is found; here stands where they came from. */
async function refusing<T>(file: string, body: () => T | Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!hasKvidxCode(error) && !(error instanceof CliError)) throw error;
    throw new CliError(`${file === '-' ? 'standard input' : file}: ${error.message}`);
  }
}
