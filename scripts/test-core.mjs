// Builds the core and its tests with cmake and runs them, without Node's addon. Assertions are on, so the fuzz driver
// of the index also validates it after every operation.
//
//   node scripts/test-core.mjs [--sanitize] [--operations 300000] [--inputs 200000] [--seed 1]
//
// --operations: on indexes; --inputs: sketch frames, and as many messages of KV events.
// --sanitize: under AddressSanitizer and UndefinedBehaviorSanitizer. Exit status 1: something failed.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    sanitize: { type: 'boolean', default: false },
    operations: { type: 'string', default: '300000' },
    inputs: { type: 'string', default: '200000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const build = join(root, 'build', values.sanitize ? 'core-tests-sanitized' : 'core-tests');

run('cmake', [
  ...['-S', join(root, 'native'), '-B', build],
  ...['-DKVIDX_TESTS=ON', '-DKVIDX_WERROR=ON', `-DKVIDX_SANITIZE=${values.sanitize ? 'ON' : 'OFF'}`],
  ...['-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g'],
]);
run('cmake', ['--build', build, '--parallel', '2']);
const tests = join(root, 'native', 'test');
for (const source of readdirSync(tests).filter((name) => name.endsWith('_test.cpp'))) {
  run(join(build, 'test', source.replace('.cpp', '')), []);
}
const fuzz = join(build, 'test', 'core_fuzz');
run(
  fuzz,
  readdirSync(join(tests, 'corpus')).map((name) => join(tests, 'corpus', name)),
);
run(fuzz, ['--seed', values.seed, '--operations', values.operations]);
for (const reader of ['frame_fuzz', 'event_fuzz']) {
  run(join(build, 'test', reader), ['--seed', values.seed, '--inputs', values.inputs]);
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error) console.error(`${command}: ${error.message}`);
  if (status === 0) return;
  console.error(`failed: ${[command, ...args].join(' ')}`);
  process.exit(1);
}
