import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasNoChromium, launchChromium, openPage } from '../../../browser/chromium.js';
import { cellsOf, curlOf, tile, workerText } from './page-parts.js';
import { decisionOf, StubRouter, stateOf, totalsOf, workerOf } from './stub-router.js';

const HOSTILE = '<img src=x onerror="document.title=\'taken\'"><b>not bold</b>';

describe.skipIf(hasNoChromium)('the page of the router', () => {
  let browser: Browser;
  let stub: StubRouter;
  let page: Page;
  /** What the browser complained of. */
  let complaints: string[];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    stub = await StubRouter.start();
    ({ page, complaints } = await openPage(browser, stub.url));
  });
  afterEach(async () => {
    await page.close();
    await stub.stop();
  });

  it('says before any request how to send one, in a line that a shell takes', async () => {
    stub.state = stateOf({ models: ["it's"] });
    await page.locator('#how pre').getByText("it'").waitFor();
    const { url, headers, body } = await curlOf(page);
    expect(url).toBe(`${stub.url}v1/chat/completions`);
    expect(headers).toContainEqual(['content-type', 'application/json']);
    expect(JSON.parse(body)).toMatchObject({ model: "it's", messages: [{ role: 'user' }] });
    expect(await page.locator('#decided').isVisible()).toBe(false);
  });

  it('shows the numbers of the state, each with what it means', async () => {
    stub.state = stateOf({
      totals: totalsOf({
        requests: 1234,
        failed: 3,
        abandoned: 2,
        retries: 5,
        promptTokens: 40_000,
        expectedTokens: 10_000,
        toldPromptTokens: 20_000,
        toldCachedTokens: 15_000,
      }),
      workers: [
        workerOf('w0', { running: 4, requests: 30, promptTokens: 1000, expectedTokens: 250 }),
        workerOf('w1', { running: 3, requests: 10, residentBlocks: 1700, residencyAgeMs: 12_300 }),
      ],
    });
    await page.getByText('1,234 in all since the start').waitFor();
    expect(await tile(page, 'Hit rate since start')).toMatch(
      /^75.0 % 15K of 20K prompt tokens, told by workers$/,
    );
    expect(await tile(page, 'Running now')).toMatch(/^7 /);
    expect(await tile(page, 'Failed')).toMatch(/^3 .* 2 clients hung up$/);
    expect(await tile(page, 'Retries')).toMatch(/^5 sent to another worker/);
    expect(await workerText(page, 'w0')).toMatch(/Share of requests 75.0 % Hit rate, expected 25.0 %/);
    expect(await workerText(page, 'w1')).toMatch(/1,700 blocks by its KV events, told 12 s ago/);
    expect(await page.locator('#how').isVisible()).toBe(false);
  });

  it('shows what the router expected as long as no worker told what was cached', async () => {
    stub.state = stateOf({ totals: totalsOf({ requests: 1, promptTokens: 1000, expectedTokens: 480 }) });
    await page.getByText('480 of 1K prompt tokens, expected by the router').first().waitFor();
    expect(await tile(page, 'Hit rate since start')).toMatch(/^48.0 %/);
  });

  it('rates are differences of polls, and begin anew with another router', async () => {
    const startedAt = Date.now() - 60_000;
    const served = (requests: number, begun: number) =>
      stateOf({
        startedAt: begun,
        totals: totalsOf({ requests, promptTokens: 100 * requests, expectedTokens: 50 * requests }),
        workers: [workerOf('w0', { requests })],
      });
    stub.state = served(1000, startedAt);
    await page.getByText('1,000 in all').waitFor();
    await page.reload();
    await page.getByText('1,000 in all').waitFor();
    await vi.waitFor(async () => expect(await tile(page, 'Requests a second')).toMatch(/^0.0 /), 10_000);
    stub.state = served(1100, startedAt);
    await page.getByText('1,100 in all').waitFor();
    expect(Number.parseFloat(await tile(page, 'Requests a second'))).toBeGreaterThan(0);
    expect(await tile(page, 'Hit rate last 10 s')).toMatch(/^50.0 % 5K of 10K/);

    stub.state = served(10, startedAt + 59_000);
    await page.getByText('10 in all').waitFor();
    await vi.waitFor(async () => expect(await tile(page, 'Requests a second')).toMatch(/^0.0 /), 10_000);
    expect(await tile(page, 'Hit rate last 10 s')).toMatch(/^– no prompts/);
  });

  it('lists decisions with their outcome in words, the newest first, and holds them when asked', async () => {
    const totals = totalsOf({ requests: 4 });
    const decisions = [
      decisionOf('r4', { outcome: 'failed', attempts: 3, error: 'w1 answered 500' }),
      decisionOf('r3', { outcome: 'abandoned' }),
      decisionOf('r2'),
    ];
    stub.state = stateOf({ totals, decisions });
    await page.getByText('client hung up', { exact: false }).last().waitFor();
    const [failed, abandoned, answered] = await cellsOf(page);
    expect(failed!.slice(6)).toEqual(['3', '✗ failed', '12', '210', 'w1 answered 500']);
    expect(abandoned![7]).toBe('✗ client hung up');
    expect(answered!.slice(1)).toEqual([
      'chat-1',
      'w0',
      '1,000',
      '960 · 96.0 %',
      '960 · 96.0 %',
      '1',
      '✓ answered',
      '12',
      '210',
      '',
    ]);

    const { cachedTokens: _, firstTokenMs: __, totalMs: ___, session: ____, ...begun } = decisionOf('r5');
    stub.state = stateOf({ totals, decisions: [{ ...begun, outcome: 'running' }, ...decisions.slice(0, 2)] });
    await page.getByText('… running').waitFor();
    const rows = await cellsOf(page);
    expect(rows).toHaveLength(3);
    expect(rows[0]!.slice(1)).toEqual([
      '–',
      'w0',
      '1,000',
      '960 · 96.0 %',
      '–',
      '1',
      '… running',
      '–',
      '–',
      '',
    ]);
    expect(rows[1]).toEqual(failed);

    await page.getByRole('button', { name: 'Pause the list' }).press('Enter');
    stub.state = stateOf({ totals: totalsOf({ requests: 99 }), decisions: [decisionOf('r6')] });
    await page.getByText('99 in all').waitFor();
    expect(await cellsOf(page)).toEqual(rows);
    await page.getByRole('button', { pressed: true }).click();
    await vi.waitFor(async () => expect(await cellsOf(page)).toHaveLength(1), 10_000);
  });

  it('tells in words which worker is down and what is degraded, and follows workers that come and go', async () => {
    const { residentBlocks: _, ...sketched } = workerOf('w1', {
      residency: 'sketch',
      residencyAgeMs: 90_000,
    });
    stub.state = stateOf({
      workers: [
        workerOf('w0', { status: 'down', reason: 'connection refused' }),
        { ...sketched, degraded: 'transport' },
        workerOf('w2', { holdMs: 4_000 }),
      ],
    });
    await page.getByText('Down: connection refused.').waitFor();
    expect(await workerText(page, 'w0')).toMatch(/^w0 ▲ down/);
    expect(await workerText(page, 'w1')).toMatch(/^w1 ● up .* unknown by its sketch, told 90 s ago/);
    expect(await workerText(page, 'w1')).toMatch(
      /known only in part: the store of sketches cannot be reached\.$/,
    );
    expect(await workerText(page, 'w2')).toMatch(/^w2 ● up .* On hold for 4\.?0? s: it failed requests/);
    expect(await page.locator('#workers > li').count()).toBe(3);

    stub.state = stateOf({ workers: [] });
    await page.getByText('There are none').waitFor();
    expect(await page.locator('#workers > li').count()).toBe(0);
  });

  it('shows what comes from outside as text, never as markup', async () => {
    stub.state = stateOf({
      policy: HOSTILE,
      tokenizer: HOSTILE,
      models: [HOSTILE],
      totals: totalsOf({ requests: 1 }),
      workers: [workerOf(HOSTILE, { url: HOSTILE, status: 'down', reason: HOSTILE, degraded: HOSTILE })],
      decisions: [decisionOf(HOSTILE, { session: HOSTILE, worker: HOSTILE, error: HOSTILE })],
    });
    await page.locator('td', { hasText: HOSTILE }).first().waitFor();
    const [row] = await cellsOf(page);
    expect([row![1], row![2], row!.at(-1)]).toEqual([HOSTILE, HOSTILE, HOSTILE]);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe('kvidx router');
    expect(complaints).toEqual([]);
  });

  it('says that it has no news of the router, and goes on when there are some', async () => {
    const news = page.getByRole('status');
    await news.getByText('Live').waitFor();
    await stub.stop();
    await news.getByText('No news from the router: it cannot be reached.').waitFor();
    expect(await news.textContent()).toMatch(/The numbers below are of \d\d:\d\d:\d\d\./);
    stub.status = 500;
    await stub.start();
    await news.getByText('it answered with status 500').waitFor();
    stub.status = 200;
    stub.state = stateOf({ totals: totalsOf({ requests: 7 }) });
    await news.getByText('Live').waitFor();
    await page.getByText('7 in all').waitFor();
  });

  it.each([320, 390, 800, 1280])('fits into %i pixels, with long names too', async (width) => {
    const long = 'x'.repeat(300);
    stub.state = stateOf({
      totals: totalsOf({ requests: 123_456_789, promptTokens: 1e12, expectedTokens: 9e11 }),
      workers: [
        workerOf(long, { url: `http://${long}`, status: 'down', reason: long, requests: 123_456_789 }),
      ],
      decisions: [decisionOf('r1', { session: long, worker: long, error: long, promptTokens: 1e9 })],
    });
    await page.setViewportSize({ width, height: 800 });
    await page.getByText('123,456,789 in all').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  });

  it('needs nothing but itself, and the browser has nothing to complain of', async () => {
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(request.url()));
    await page.reload();
    await page.getByRole('status').getByText('Live').waitFor();
    expect(asked).toEqual(new Set([stub.url, `${stub.url}debug/state`]));
    expect(complaints).toEqual([]);
  });
});
