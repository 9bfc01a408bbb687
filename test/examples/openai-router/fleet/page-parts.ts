import { spawnSync } from 'node:child_process';
import type { Page } from 'playwright-core';

/** What stands under a title in the row of numbers: the number, and what it means. */
export async function tile(page: Page, title: string): Promise<string> {
  const card = page.locator('.tiles > div', { has: page.getByText(title, { exact: true }) });
  return words((await card.locator('dd').allInnerTexts()).join(' '));
}

export async function workerText(page: Page, name: string): Promise<string> {
  const card = page.locator('#workers > li', { has: page.getByText(name, { exact: true }) });
  return words((await card.allInnerTexts()).join(' '));
}

/** Of each decision, from left to right. */
export async function cellsOf(page: Page): Promise<string[][]> {
  const rows = await page.evaluate<string[][]>(
    `Array.from(document.querySelectorAll('#decisions > tr'), (row) => Array.from(row.cells, (cell) => cell.textContent))`,
  );
  return rows.map((cells) => cells.map(words));
}

/** What a shell makes of the line that the page tells to type. */
export async function curlOf(
  page: Page,
): Promise<{ url: string; headers: [string, string][]; body: string }> {
  const line = await page.locator('#how pre').textContent();
  const { stdout } = spawnSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${line}`], {
    encoding: 'utf8',
  });
  const [url, ...options] = stdout.split('\0').slice(0, -1);
  const valuesOf = (name: string) => options.filter((_, i) => options[i - 1] === name);
  return {
    url: url!,
    headers: valuesOf('-H').map((header) => header.split(': ') as [string, string]),
    body: valuesOf('-d').join('&'),
  };
}

function words(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
