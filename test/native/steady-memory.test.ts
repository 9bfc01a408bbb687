import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { findAddon } from '../../src/native/load.js';
import { compileSources } from '../cli/support.js';

const QUERIES = 1_000_000;

const run = promisify(execFile);
const bench = findAddon('kvidx_bench');
const counts = 'addon' in bench && 'allocations' in bench.addon;

const folder = compileSources();
afterAll(() => rmSync(folder, { recursive: true }));

/** In a process of its own, whose heap nobody else uses. */
async function measured(backend: string, setUp: string, addon: string) {
  const from = (file: string) => JSON.stringify(pathToFileURL(join(folder, file)).href);
  const { stdout } = await run(
    process.execPath,
    [
      '--expose-gc',
      '--input-type=module',
      '-e',
      `import * as backends from ${from('bench/backends.js')};
      import { measureSteadyQueries } from ${from('bench/steady-queries.js')};
      ${setUp}
      console.log(JSON.stringify(measureSteadyQueries(${addon}, ${QUERIES})));`,
    ],
    { env: { ...process.env, KVIDX_BACKEND: backend } },
  );
  return JSON.parse(stdout) as { heapBytes: number; allocations?: number };
}

describe.skipIf(!('addon' in findAddon('kvidx')))('a million queries', () => {
  test('leave the JavaScript heap where it was', async () => {
    const { heapBytes } = await measured('native', '', '{}');
    expect(Math.abs(heapBytes)).toBeLessThan(2 ** 20);
  });

  test.skipIf(!counts)('ask for no memory in the core', async () => {
    const { allocations } = await measured('native', 'backends.countKvIndexes();', 'backends.benchAddon()');
    expect(allocations).toBe(0);
  });
});
