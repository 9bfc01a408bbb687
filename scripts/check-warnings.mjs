// Compiles every C++ file as far as warnings need it (no code is made), with warnings as errors.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
// cmake-js brings the headers of Node-API.
const nodeApi = createRequire(require.resolve('cmake-js/package.json'))('node-api-headers');
const compiler = process.env.CXX ?? 'g++';
const flags = [
  ...['-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wconversion', '-Werror', '-Inative'],
  ...['-isystem', nodeApi.include_dir, '-isystem', require('node-addon-api').include_dir],
  ...['-DNAPI_VERSION=9', '-DNAPI_CPP_EXCEPTIONS', '-DNODE_ADDON_API_DISABLE_DEPRECATED'],
];
const files = ['core', 'binding', 'bench', 'test'].flatMap((room) =>
  readdirSync(join(root, 'native', room))
    .filter((name) => name.endsWith('.cpp'))
    .map((name) => join('native', room, name)),
);

const queue = files.values();
await Promise.all(Array.from({ length: availableParallelism() }, work));

/** Each worker takes the next file until none is left. */
async function work() {
  for (const file of queue) {
    await promisify(execFile)(compiler, [...flags, file], { cwd: root }).catch((error) => {
      process.stderr.write(error.stderr || `${error.message}\n`);
      process.exitCode = 1;
    });
  }
}
