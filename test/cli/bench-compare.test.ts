import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { BenchReport } from '../../bench/report.js';
import { reportOf, timesOf } from '../bench/reports.js';
import { compiledCli } from './support.js';

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-compare-'));
afterAll(() => rmSync(folder, { recursive: true }));

function stored(name: string, report: BenchReport): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(report) ?? '');
  return file;
}

const before = stored('before.json', timesOf([10, 10.1, 10.2]));
const after = stored('after.json', timesOf([12, 12.1, 12.2]));
const quick = stored('quick.json', { ...timesOf([10]), quick: true });

describe('kvidx bench --from', () => {
  it('prints a stored run', async () => {
    const { code, stdout } = await kvidx(['bench', '--from', before]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^kvidx 1\.0\.0 · Node 20\.0\.0 · a processor, 2 cores · native, avx512 · blocks of 24 tokens/,
    );
    expect(stdout).toMatch(/hash: what it is about/);
    expect(stdout).toMatch(/native *│ *10\.1 ns\/block │ ± 1\.0 %/);
  });

  it('gives back the JSON that it read', async () => {
    const { stdout } = await kvidx(['bench', '--from', before, '--json']);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(readFileSync(before, 'utf8')));
  });

  it('says which targets are missed', async () => {
    const figure = { name: 'wasm ÷ native', value: 3, unit: 'x', target: { atLeast: 4 } };
    const file = stored('missed.json', reportOf([figure, { ...figure, name: 'another', value: 5 }]));
    const { stdout } = await kvidx(['bench', '--from', file]);
    expect(stdout).toMatch(/targets: 1 of 2 met\n {2}missed: hash: wasm ÷ native: 3\.00 x, ≥ 4\n/);
  });

  it('says which scenario a stored run lacks', async () => {
    const { code, stderr } = await kvidx(['bench', 'hash', 'index', '--from', before]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'kvidx: --from: that run has no index\n' });
  });

  it.each(['--quick', '--launches=2'])('has no part in %s', async (flag) => {
    const { code, stderr } = await kvidx(['bench', '--from', before, flag]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/has no part in --from: nothing is run/);
  });
});

describe('kvidx bench --compare', () => {
  it('finds no change between a run and itself', async () => {
    const { code, stdout } = await kvidx(['bench', '--from', before, '--compare', before]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/no change: none of 1 figure moved by more than the noise\n$/);
  });

  it('tells what became slower, and by how much', async () => {
    const { stdout } = await kvidx(['bench', '--from', after, '--compare', before]);
    expect(stdout).toMatch(/hash: native │ *10\.0 ns\/block │ *12\.0 │ 1\.20 x │ .* │ slower/);
    expect(stdout).toMatch(/CHANGED: 1 worse, of 1 figure\n$/);
  });

  it('puts the comparison into the JSON', async () => {
    const { stdout } = await kvidx(['bench', '--from', after, '--compare', before, '--json']);
    const { comparison } = JSON.parse(stdout);
    expect(comparison.figures).toMatchObject([{ scenario: 'hash', ratio: 1.2, verdict: 'worse' }]);
  });

  it('blames the machine where a baseline changed', async () => {
    const [was, is] = [10, 20].map((time) =>
      stored(`base${time}.json`, timesOf([time, time], { baseline: true })),
    );
    const { stdout } = await kvidx(['bench', '--from', is!, '--compare', was!]);
    expect(stdout).toMatch(/the machine is not as it was/);
    expect(stdout).toMatch(/│ the machine/);
    expect(stdout).not.toMatch(/CHANGED/);
  });

  it('does not compare a quick run with a whole one', async () => {
    const { code, stderr } = await kvidx(['bench', '--from', before, '--compare', quick]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'kvidx: --compare: one of the runs was a quick one, the other was not\n',
    });
  });

  it.each([
    ['missing', join(folder, 'missing.json'), /missing\.json: no such file\n$/],
    ['no JSON', stored('text.json', 'text' as never), /text\.json: this is not what "kvidx bench --out"/],
    [
      'another JSON',
      stored('other.json', { scenarios: [{}] } as never),
      /this is not what "kvidx bench --out"/,
    ],
  ])('says before anything runs that the file is %s', async (_, file, message) => {
    const { code, stdout, stderr } = await kvidx(['bench', 'hash', '--quick', '--compare', file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('a damaged report', () => {
  const good = timesOf([1, 2]);
  const [scenario] = good.scenarios;
  const withFigure = (more: object) => ({
    ...good,
    scenarios: [{ ...scenario, figures: [{ ...scenario!.figures[0], ...more }] }],
  });

  it.each([
    ['no scenario', { ...good, scenarios: [null] }],
    ['no launches', withFigure({ launches: undefined })],
    ['a best that was no number', withFigure({ bests: [null] })],
    ['no bests', withFigure({ bests: [] })],
    ['half a range', withFigure({ range: [1] })],
    [
      'a histogram without edges',
      withFigure({ latency: { p50: 1, p90: 1, p99: 1, histogram: { counts: [1] } } }),
    ],
  ])('is refused in one line: %s', async (name, report) => {
    const file = stored(`${name}.json`, report as never);
    const { code, stdout, stderr } = await kvidx(['bench', '--from', file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^kvidx: .*: this is not what "kvidx bench --out" of this version writes.*\n$/);
  });
});

describe('files of kvidx bench', () => {
  it.each([
    [['--from', after, '--out', after], /--out .* is the file of --from/],
    [['--from', after, '--plot', after], /--plot .* is the file of --from/],
    [['--from', after, '--compare', before, '--plot', before], /--plot .* is the file of --compare/],
    [
      ['--from', after, '--out', join(folder, 'x'), '--plot', `${folder}/./x`],
      /--out and --plot are one file/,
    ],
  ])('are not overwritten: %j', async (args, message) => {
    const { code, stderr } = await kvidx(['bench', ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it('may be a baseline that the compared run replaces', async () => {
    const file = stored('moving.json', timesOf([10, 10.1, 10.2]));
    const { code, stdout } = await kvidx(['bench', '--from', after, '--compare', file, '--out', file]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/CHANGED/);
    expect(JSON.parse(readFileSync(file, 'utf8')).comparison.figures).toHaveLength(1);
  });
});

describe('kvidx bench --filter', () => {
  const file = stored(
    'two.json',
    reportOf(['store', 'Overlap of 64'].map((name) => ({ name, unit: 'ns', value: 1 }))),
  );

  it('leaves only figures with the text in their names', async () => {
    const { stdout } = await kvidx(['bench', '--from', file, '--filter', 'overlap']);
    expect(stdout).toMatch(/Overlap of 64/);
    expect(stdout).not.toMatch(/store/);
  });

  it('says when no figure has it', async () => {
    const { code, stderr } = await kvidx(['bench', '--from', file, '--filter', 'nothing']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/--filter nothing: no figure of this run has that in its name/);
  });
});
