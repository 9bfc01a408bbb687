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

const built = 'addon' in findAddon('kvidx') && 'addon' in findAddon('kvidx_bench');
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

  it.runIf(built)('fails when its file cannot be written', async () => {
    const { code, stderr } = await kvidx(['bench', 'hash', '--quick', '--out', join(folder, 'no', 'folder')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/cannot write .*no.folder/);
  });
});
