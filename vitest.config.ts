import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/*
 * `default` runs on the backend that loads, `reference` the suites of public behaviour once more on the reference
 * backend. `package` packs, installs and rebuilds, `fleet` starts what the example router needs; both are run by
 * themselves: npm run test:package, npm run test:fleet.
 */
const slow = 'test/package/**';
/** A router, workers and a browser, in processes of their own. */
const fleet = 'test/examples/openai-router/fleet/**';
const shared = [
  'test/trace/**/*.test.ts',
  'test/analysis/**/*.test.ts',
  'test/kv-index/**/*.test.ts',
  'test/cases/**/*.test.ts',
  'test/hash/**/*.test.ts',
  'test/sketch/**/*.test.ts',
  'test/events/feed/**/*.test.ts',
];

export default defineConfig({
  // Examples import the package by its name; here that is the sources, not what an earlier build left.
  resolve: {
    alias: [{ find: /^kvidx$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) }],
  },
  test: {
    testTimeout: 60_000,
    maxWorkers: '100%', // of the cores; half of them by default, where there are two
    projects: [
      { extends: true, test: { name: 'default', include: ['test/**/*.test.ts'], exclude: [slow, fleet] } },
      { extends: true, test: { name: 'reference', include: shared, env: { KVIDX_BACKEND: 'wasm' } } },
      {
        extends: true,
        test: { name: 'fleet', include: [`${fleet}/*.test.ts`], testTimeout: 300_000, hookTimeout: 60_000 },
      },
      {
        extends: true,
        test: { name: 'package', include: [`${slow}/*.test.ts`], testTimeout: 600_000, hookTimeout: 600_000 },
      },
    ],
  },
});
