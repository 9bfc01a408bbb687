import { defineConfig } from 'vitest/config';

/*
 * `default` runs on the backend that loads, `reference` the suites of public behaviour once more on the reference
 * backend. `package` packs, installs and rebuilds, and is run by itself: npm run test:package.
 */
const slow = 'test/package/**';
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
  test: {
    testTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'default', include: ['test/**/*.test.ts'], exclude: [slow] } },
      { extends: true, test: { name: 'reference', include: shared, env: { KVIDX_BACKEND: 'wasm' } } },
      {
        extends: true,
        test: { name: 'package', include: [`${slow}/*.test.ts`], testTimeout: 600_000, hookTimeout: 600_000 },
      },
    ],
  },
});
