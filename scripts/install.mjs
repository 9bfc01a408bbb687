// The `install` script. A packed kvidx whose addon loads needs nothing; anything else is built with cmake-js. It never
// fails the installation: without a compiler kvidx runs on its reference backend.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// Outside build/, which cmake-js empties for its second attempt.
const log = join(root, 'kvidx-build.log');

if (!(await packedAddonLoads()) && !build()) {
  console.warn(
    `kvidx: the native addon was not built (it needs cmake and gcc or clang with C++20; see ${log}).\n` +
      'kvidx: it runs on the slower reference backend. To build later: npm rebuild kvidx',
  );
}

/** In a checkout the sources are newer than any binary, so that the answer there is always no. */
async function packedAddonLoads() {
  if (existsSync(join(root, 'tsconfig.json'))) return false;
  const { findAddon } = await import('../dist/src/native/load.js');
  return 'addon' in findAddon('kvidx');
}

function build() {
  const cmakeJs = createRequire(import.meta.url).resolve('cmake-js/bin/cmake-js');
  const output = openSync(log, 'w');
  try {
    const args = [cmakeJs, 'compile', '-d', 'native', '-O', 'build', '-p', String(availableParallelism())];
    return spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', output, output] }).status === 0;
  } finally {
    closeSync(output);
  }
}
