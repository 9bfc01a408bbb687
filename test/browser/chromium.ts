import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .map((directory) => join(directory, 'chromium'))
  .find((path) => existsSync(path));

/** Tests of the page are skipped where there is no Chromium; with CI set they fail. */
export const hasNoChromium = !process.env.CI && executablePath === undefined;

export async function launchChromium(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('no chromium on the PATH');
  // Without a sandbox it runs as root too; it opens only pages that the tests serve or write.
  return chromium.launch({ executablePath, headless: true, args: ['--no-sandbox'] });
}

/** The page, and what the browser complains of on it. */
export async function openPage(browser: Browser, url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => complaints.push(message.text()));
  await page.goto(url);
  return { page, complaints };
}
