import type { Browser, Page } from 'playwright-core';

/** The page, and what the browser complains of on it. */
export async function openPage(browser: Browser, url: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => complaints.push(message.text()));
  await page.goto(url);
  return { page, complaints };
}

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

function words(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
