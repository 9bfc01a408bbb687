import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Figure } from '../../bench/figures.js';
import { type BenchReport, mergeLaunches } from '../../bench/report.js';
import { binsOf } from '../../bench/statistics.js';
import { findAddon } from '../../src/native/load.js';
import { reportOf } from '../bench/reports.js';
import { hasNoChromium, launchChromium, openPage } from '../browser/chromium.js';
import { compiledCli } from './support.js';

const kvidx = compiledCli();
const folder = mkdtempSync(join(tmpdir(), 'kvidx-bench-page-'));
afterAll(() => rmSync(folder, { recursive: true }));

const addon = findAddon('kvidx');
const built = 'addon' in addon && 'addon' in findAddon('kvidx_bench');

const HOSTILE = `</script><img src=x onerror="document.title='taken'"><!-- 'q' & "q"`;

/** Some 1 µs, a tenth of them twice as long, and one very much longer. */
const SAMPLES = [...Array.from({ length: 1_000 }, (_, i) => (i % 10 === 0 ? 2_000 : 1_000) + (i % 7)), 1e6];

const HASH: Figure[] = [
  { name: 'xxhash-wasm ÷ native', value: 21, unit: 'x', target: { atLeast: 20 }, better: 'higher' },
  {
    name: 'hashMany, one by one ÷ together',
    value: 1.1,
    unit: 'x',
    target: { atLeast: 1.4 },
    better: 'higher',
  },
  { name: 'twin ÷ native', value: 2_500, unit: 'x', better: 'higher' },
  {
    name: 'native',
    value: 1.01,
    unit: 'µs',
    better: 'lower',
    latency: { p50: 1.01, p90: 2, p99: 2.01, histogram: binsOf(SAMPLES) },
  },
  { name: 'xxhash-wasm', value: 170, unit: 'µs', baseline: true },
  { name: 'memory given back', value: -3, unit: 'bytes/block' },
  { name: 'blocks', value: 7, unit: 'blocks' },
  { name: 'sessions', value: 8, unit: 'blocks' },
  { name: 'memory kept', value: 0, unit: 'bytes/block' },
];

function report(more: Partial<BenchReport> = {}): BenchReport {
  const other = mergeLaunches({ description: HOSTILE }, [
    {
      scenario: 'boundary',
      quick: false,
      checks: [HOSTILE],
      notes: [HOSTILE],
      figures: [
        { name: HOSTILE, value: 40, unit: 'ns' },
        { name: 'x'.repeat(300), value: 80, unit: 'ns' },
      ],
    },
  ]);
  const { scenarios, ...rest } = reportOf(
    HASH,
    HASH.map((figure) => ({ ...figure, value: figure.value * 1.02 })),
  );
  return { ...rest, scenarios: [...scenarios, other], ...more };
}

/** The page that the command draws of a report. */
async function drawn(name: string, of: BenchReport): Promise<string> {
  const [from, plot] = [join(folder, `${name}.json`), join(folder, `${name}.html`)];
  writeFileSync(from, JSON.stringify(of));
  const { code, stderr } = await kvidx(['bench', '--from', from, '--plot', plot]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return plot;
}

describe.skipIf(hasNoChromium)('the page of kvidx bench', () => {
  let browser: Browser;
  let plain: string;
  let long: string;
  beforeAll(async () => {
    browser = await launchChromium();
    plain = await drawn('plain', report());
    long = await drawn('long', report({ cpu: 'x'.repeat(300) }));
  });
  afterAll(() => browser?.close());

  /** The page with its charts, and what the browser complained of. */
  async function opened(file: string): Promise<{ page: Page; complaints: string[] }> {
    const { page, complaints } = await openPage(browser, pathToFileURL(file).href);
    await holds(page, `document.querySelectorAll('.plot:empty').length === 0`);
    return { page, complaints };
  }

  it('names machine, scenarios and figures, and tells which targets are met', async () => {
    const { page, complaints } = await opened(plain);
    expect(await page.locator('h2').allTextContents()).toEqual(['hash', 'boundary']);
    expect(await page.locator('nav a').allTextContents()).toEqual(['hash', 'boundary']);
    const header = await page.locator('header').textContent();
    for (const fact of [
      'a processor',
      'native, avx512',
      '24 tokens',
      '2 of each',
      '20.0.0',
      '1.0.0',
      '2026-01-01',
    ]) {
      expect(header).toContain(fact);
    }
    expect(header).toContain('✓ 1 target met, ✗ 1 missed');
    const missed = page.getByRole('row', { name: /hashMany/ });
    expect(await missed.textContent()).toMatch(/1\.\d+ ×\s*± \d\.\d %.*≥ 1\.4.*✗ missed/s);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('draws bars of each unit and a histogram of each latency, with names for who cannot see them', async () => {
    const { page } = await opened(plain);
    const charts = await page.evaluate<string[]>(
      `Array.from(document.querySelectorAll('svg[role=img]'), (svg) => svg.ariaLabel)`,
    );
    expect(charts).toEqual([
      'hash: Ratios: higher is better',
      'hash: µs: lower is better',
      'hash: bytes/block',
      'hash: how long the samples of “native” took',
      'boundary: ns',
    ]);
    expect(await page.locator('figcaption', { hasText: '2,002 samples' }).textContent()).toMatch(
      /p50 1\.01, p90 2\.00, p99 2\.01 µs.* 2 slower ones up to 1,\d\d\d µs not shown/,
    );
    await page.close();
  });

  it('shows what comes from a report as text, never as markup', async () => {
    const { page, complaints } = await opened(await drawn('hostile', report({ cpu: HOSTILE })));
    expect(await page.title()).toBe('kvidx bench, 2026-01-01');
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.getByRole('rowheader', { name: HOSTILE, exact: true }).count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('draws no targets of a quick run, since they do not apply', async () => {
    const quick = report();
    const scenarios = quick.scenarios.map((each) => ({ ...each, quick: true }));
    const { page } = await opened(await drawn('quick', { ...quick, quick: true, scenarios }));
    const text = await page.locator('body').textContent();
    expect(text).toContain('the targets do not apply');
    expect(text).not.toMatch(/[✓✗] ([≥≤]|met|missed)/);
    await page.close();
  });

  it.each([320, 390, 800, 1280])('fits into %i pixels, with long names too', async (width) => {
    const { page } = await opened(long);
    await page.setViewportSize({ width, height: 800 });
    const widths =
      '[...document.querySelectorAll(".plot svg")].map((svg) => svg.clientWidth - svg.parentNode.clientWidth)';
    await holds(page, `${widths}.every((apart) => Math.abs(apart) <= 1)`);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await page.close();
  });

  it('needs nothing but itself', async () => {
    const { page, complaints } = await opened(plain);
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(request.url()));
    await page.reload();
    await holds(page, `document.querySelectorAll('.plot:empty').length === 0`);
    expect([...asked].filter((url) => !url.startsWith('data:'))).toEqual([pathToFileURL(plain).href]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it.runIf(built)('is drawn of a run as it is of its file', async () => {
    const [out, plot] = [join(folder, 'run.json'), join(folder, 'run.html')];
    const names = ['boundary', 'hash'];
    const { code } = await kvidx([
      'bench',
      ...names,
      '--quick',
      '--launches',
      '1',
      '--out',
      out,
      '--plot',
      plot,
    ]);
    expect(code).toBe(0);
    const { page, complaints } = await opened(plot);
    expect((await page.locator('h2').allTextContents()).toSorted()).toEqual(names);
    expect(await page.locator('svg[role=img]').count()).toBeGreaterThan(2);
    expect(complaints).toEqual([]);
    await page.close();
    expect(readFileSync(await drawn('again', JSON.parse(readFileSync(out, 'utf8'))), 'utf8')).toBe(
      readFileSync(plot, 'utf8'),
    );
  });
});

/** Asks from outside until it is so: what playwright would ask by itself, within the page, its policy forbids. */
async function holds(page: Page, expression: string): Promise<void> {
  await expect.poll(() => page.evaluate(expression), { timeout: 10_000 }).toBe(true);
}

describe('kvidx bench --plot', () => {
  it('fails when its file cannot be written, before anything is run', async () => {
    const { code, stdout, stderr } = await kvidx([
      'bench',
      'hash',
      '--quick',
      '--plot',
      join(folder, 'no', 'page.html'),
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/cannot write .*page\.html: no such directory/);
  });
});
