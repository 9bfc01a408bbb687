// Around `npm pack`: copies the addons of build/Release to prebuilds/<platform>-<arch>/, and `clean` removes them again,
// because the loader prefers them and they would hide later builds of a checkout.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const prebuilds = join(root, 'prebuilds');

rmSync(prebuilds, { recursive: true, force: true });
if (process.argv[2] !== 'clean') {
  const target = join(prebuilds, `${process.platform}-${process.arch}`);
  mkdirSync(target, { recursive: true });
  for (const name of ['kvidx.node', 'kvidx_bench.node', 'kvidx_unbounded.node']) {
    cpSync(join(root, 'build', 'Release', name), join(target, name));
  }
}
