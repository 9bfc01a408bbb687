// Checks that clang-format would leave every C++ file as it is; `--write` formats them instead. The npm package brings
// the binary, so that every machine formats alike.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const files = ['core', 'binding', 'bench', 'test'].flatMap((room) =>
  readdirSync(join(root, 'native', room), { recursive: true })
    .filter((name) => /\.[ch]pp$/.test(name))
    .map((name) => join('native', room, name)),
);
const mode = process.argv.includes('--write') ? ['-i'] : ['--dry-run', '-Werror'];
const clangFormat = createRequire(import.meta.url)('clang-format').location;
process.exit(spawnSync(clangFormat, [...mode, ...files], { cwd: root, stdio: 'inherit' }).status ?? 1);
