import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fleet } from '../../../../examples/openai-router/fleet/processes.js';
import { streamChat } from '../../../../examples/openai-router/load/client.js';
import { makeSessions, type Shape } from '../../../../examples/openai-router/load/sessions.js';
import { hasNoChromium, launchChromium, openPage } from '../../../browser/chromium.js';
import { cellsOf, curlOf, tile, workerText } from './page-parts.js';

const SESSIONS = 13;
const SHAPE: Shape = { boilerplate: 400, task: 200, turn: 100, turns: 8, answer: 16 };
const REQUESTS = SESSIONS * SHAPE.turns;
const APPEARS_WITHIN_MS = 30_000;

describe.skipIf(hasNoChromium)('the page of a router at work', () => {
  let browser: Browser;
  let fleet: Fleet;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    fleet = await Fleet.start({
      events: true,
      routerArgs: ['--health-every-ms', '100'],
      workerArgs: ['--token-ms', '40'],
    });
    ({ page, complaints } = await openPage(browser, fleet.routerUrl));
  });
  afterEach(async () => {
    await page?.close();
    await fleet?.stop();
  });

  const numberOf = async (title: string) => Number.parseFloat((await tile(page, title)).replaceAll(',', ''));
  const requests = async () => Number.parseInt((await tile(page, 'Requests a second')).split('; ')[1]!, 10);
  const shareOf = async (worker: string) =>
    Number.parseFloat(/Share of requests (\S+) %/.exec(await workerText(page, worker))?.[1] ?? '0');

  it('shows the request that it tells to send, cached once every worker has seen it', async () => {
    await page.getByText('No request yet').waitFor();
    const { url, headers, body } = await curlOf(page);
    for (let sent = 1; sent <= 1 + fleet.workers.length; sent++) {
      expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200);
      await vi.waitFor(
        async () =>
          expect((await cellsOf(page)).map((cells) => cells[7])).toEqual(Array(sent).fill('✓ answered')),
        APPEARS_WITHIN_MS,
      );
    }
    const rows = await cellsOf(page);
    const [last, first] = [rows[0]!, rows.at(-1)!];
    expect(first.slice(4, 6)).toEqual(['0 · 0.0 %', '0 · 0.0 %']);
    expect(last[4]).toMatch(/^[1-9]/);
    expect(last[5]).toBe(last[4]);
  });

  it('moves while requests are answered, and agrees with what was sent', async () => {
    await page.getByText('No request yet').waitFor();
    const load = Promise.all(makeSessions(SESSIONS, 'agent', 1, SHAPE).map(converse));
    await vi.waitFor(async () => expect(await numberOf('Running now')).toBeGreaterThan(0), APPEARS_WITHIN_MS);
    const early = await requests();
    await vi.waitFor(async () => expect(await requests()).toBeGreaterThan(early), APPEARS_WITHIN_MS);
    await vi.waitFor(
      async () => expect(await numberOf('Hit rate last 10 s')).toBeGreaterThan(0),
      APPEARS_WITHIN_MS,
    );
    expect(await numberOf('Requests a second')).toBeGreaterThan(0);
    expect((await cellsOf(page)).length).toBeGreaterThan(0);
    expect((await load).flat()).toEqual(Array(REQUESTS).fill(undefined));

    await page.getByText(`${REQUESTS} in all`).waitFor();
    await vi.waitFor(async () => expect(await numberOf('Running now')).toBe(0), APPEARS_WITHIN_MS);
    expect(await numberOf('Failed')).toBe(0);
    expect(await numberOf('Hit rate since start')).toBeGreaterThan(50);
    const shares = await Promise.all(fleet.workers.map(({ name }) => shareOf(name)));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
    expect(Math.min(...shares)).toBeGreaterThan(0);
    const rows = await cellsOf(page);
    expect(rows).toHaveLength(50);
    expect(rows.every((cells) => /^agent-\d+$/.test(cells[1]!) && cells[7] === '✓ answered')).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('tells that a worker has died and is back, and that the router has and is', async () => {
    const isShown = (text: string) =>
      vi.waitFor(async () => expect(await workerText(page, 'w1')).toContain(text), APPEARS_WITHIN_MS);
    await isShown('● up');
    await fleet.kill('w1');
    await isShown('▲ down');
    await fleet.revive('w1');
    await isShown('● up');
    await fleet.kill('router');
    await page.getByRole('status').getByText('No news from the router').waitFor();
    await fleet.revive('router');
    await page.getByRole('status').getByText('Live').waitFor();
  });

  /** Answers the errors, if there were any. */
  async function converse(session: ReturnType<typeof makeSessions>[number]): Promise<(string | undefined)[]> {
    const errors = [];
    while (!session.isOver) {
      const { text, error } = await streamChat(fleet.routerUrl, session.body('kvidx-fake'), {
        session: session.name,
      });
      errors.push(error);
      session.answered(text);
    }
    return errors;
  }
});
