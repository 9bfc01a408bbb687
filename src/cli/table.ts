import Table from 'cli-table3';

const DEFAULT_WIDTH = 110;
/** Borders and padding of a column. */
const COLUMN_FRAME = 3;
const LEAST_WIDTH = 24;

const NO_RULES = { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' };

/**
 * A table whose last column takes what the others leave of the terminal, and wraps; then rules part the rows. Numbers
 * go to the right: the last column where it has nothing else, those between it and the first always.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)) + 2);
  const others = widths.slice(0, -1).reduce((sum, width) => sum + width + 1, 1);
  const room = (process.stdout.columns ?? DEFAULT_WIDTH) - others - COLUMN_FRAME + 2;
  const last = Math.max(room, LEAST_WIDTH);
  const wraps = widths.at(-1)! > last;
  if (wraps) widths[widths.length - 1] = last;
  const end = head.length - 1;
  const hasNumbersOnly = rows.every((row) => /^[\d,.]+$/.test(row[end]!));
  const out = new Table({
    head: [...head],
    colWidths: widths,
    colAligns: head.map((_, i) => (i > 0 && (i < end || hasNumbersOnly) ? 'right' : 'left')),
    wordWrap: true,
    chars: wraps ? {} : NO_RULES,
    style: { head: [], border: [] },
  });
  out.push(...rows.map((row) => [...row]));
  return out.toString();
}
