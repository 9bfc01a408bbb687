import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .map((directory) => join(directory, 'chromium'))
  .find((path) => existsSync(path));

/** Tests of the page are skipped where there is no Chromium; with CI set they fail. */
export const hasNoChromium = !process.env.CI && executablePath === undefined;

export async function launchChromium(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('no chromium on the PATH');
  // Without a sandbox it runs as root too; it opens only pages that the tests serve.
  return chromium.launch({ executablePath, headless: true, args: ['--no-sandbox'] });
}
