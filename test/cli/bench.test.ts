import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ScenarioResult } from '../../bench/harness.js';
import { findAddon } from '../../src/native/load.js';
import { compiledCli } from './support.js';

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-bench-'));
afterAll(() => rmSync(folder, { recursive: true }));

const addon = findAddon('kvidx');
const built = 'addon' in addon && 'addon' in findAddon('kvidx_bench');
if (!built)
  console.warn('The scenarios of kvidx bench are not tested: no addon is built (npm run build:native).');

describe('kvidx bench', () => {
  it('lists its scenarios', async () => {
    const { code, stdout } = await kvidx(['bench', '--list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hash .*\nindex .*\n$/);
  });

  it('exits with 2 when a scenario is unknown', async () => {
    const { code, stdout, stderr } = await kvidx(['bench', 'nonsense']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/hash, index/);
  });

  it.runIf(built)(
    'prints the figures of every scenario as one JSON object, and writes the same',
    async () => {
      const out = join(folder, 'figures.json');
      const { code, stdout } = await kvidx(['bench', '--quick', '--json', '--out', out]);
      expect(code).toBe(0);
      expect(readFileSync(out, 'utf8')).toBe(stdout);
      const report: { isa: string; scenarios: ScenarioResult[] } = JSON.parse(stdout);
      expect(report.scenarios.map(({ scenario, quick }) => [scenario, quick])).toEqual([
        ['hash', true],
        ['index', true],
      ]);
      for (const { checks, figures } of report.scenarios) {
        expect(checks).not.toHaveLength(0);
        for (const { name, value } of figures) expect(value, name).toBeGreaterThan(0);
      }
    },
  );

  it.runIf(built)('prints a table of figures and targets', async () => {
    const { code, stdout } = await kvidx(['bench', 'hash', '--quick']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/xxhash-wasm ÷ native .* x /);
    expect(stdout).toMatch(/asserted: both backends give the same 2818 seq hashes/);
  });

  it.runIf(built)('measures the addon whatever KVIDX_BACKEND says', async () => {
    const { code, stdout } = await kvidx(['bench', 'hash', '--quick'], { env: { KVIDX_BACKEND: 'wasm' } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/, addon: (scalar|avx2|avx512)\n/);
  });

  it.runIf(built)('fails when its file cannot be written, and prints what it measured', async () => {
    const out = join(folder, 'no', 'folder');
    const { code, stdout, stderr } = await kvidx(['bench', 'hash', '--quick', '--json', '--out', out]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/cannot write .*no.folder/);
    expect(JSON.parse(stdout).scenarios).toHaveLength(1);
  });

  it.runIf(built)('writes its file also when nobody reads what it prints', async () => {
    const out = join(folder, 'unread.json');
    const { code, stderr } = await kvidx(['bench', '--quick', '--out', out], { stopReading: true });
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/Error|kvidx:/);
    expect(JSON.parse(readFileSync(out, 'utf8')).scenarios).toHaveLength(2);
  });

  it.runIf(built)('ends quietly when nobody reads what it prints, and there is no file', async () => {
    const { code, stderr } = await kvidx(['bench', '--quick'], { stopReading: true });
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/Error|kvidx:/);
  });
});

describe('kvidx bench without an addon', () => {
  const bare = compiledCli({ addons: [] });

  it('says in one line what to do', async () => {
    const { code, stdout, stderr } = await bare(['bench', '--quick']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^kvidx: .*kvidx\.node.*npm run build:native.*npm rebuild kvidx.*\n$/);
  });
});

describe.runIf('addon' in addon)('kvidx bench with half of its addons', () => {
  const half = compiledCli({ addons: 'path' in addon ? [addon.path] : [] });

  it("passes on in one line what a scenario's process misses", async () => {
    const { code, stderr } = await half(['bench', 'index', '--quick']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nkvidx: bench index: .*kvidx_bench\.node.*npm rebuild kvidx.*\n$/);
    expect(stderr).not.toMatch(/ at /);
  });
});
