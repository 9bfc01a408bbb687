import { TIERS } from '../kv-index/workers.js';
import { grouped } from '../text.js';
import { stateText } from './events-marks.js';
import type { AppliedJson } from './events-ranks.js';
import { printable } from './printable.js';
import { table } from './table.js';

export interface EventColumn<R> {
  readonly head: string;
  readonly text: (row: R) => string;
  /** Default: always. */
  readonly isShown?: (rows: readonly R[]) => boolean;
}

interface RankRow extends AppliedJson {
  readonly worker: string;
  readonly rank: number;
}

export function eventTable<R>(columns: readonly EventColumn<R>[], rows: readonly R[]): string {
  const shown = columns.filter(({ isShown }) => isShown?.(rows) ?? true);
  return table(
    shown.map(({ head }) => head),
    rows.map((row) => shown.map(({ text }) => text(row))),
  );
}

export const RANK_COLUMNS: readonly EventColumn<RankRow>[] = [
  { head: 'worker', text: ({ worker }) => printable(worker) },
  { head: 'rank', text: ({ rank }) => String(rank), isShown: (rows) => rows.some(({ rank }) => rank > 0) },
];

/** Resident blocks a tier: of the GPU always, of the others where there are some. */
export const TIER_COLUMNS: readonly EventColumn<AppliedJson>[] = TIERS.map((tier) => ({
  head: tier,
  text: ({ resident_blocks }) => grouped(resident_blocks[tier] ?? 0),
  isShown: (rows) =>
    tier === 'gpu' || rows.some(({ resident_blocks }) => resident_blocks[tier] !== undefined),
}));

export const STATE_COLUMN: EventColumn<Parameters<typeof stateText>[0]> = { head: 'state', text: stateText };

export function countColumn<R>(head: string, count: (row: R) => number): EventColumn<R> {
  return { head, text: (row) => grouped(count(row)) };
}

/** Of what there should be none: shown where there is some. */
export function oddColumn<R>(head: string, count: (row: R) => number): EventColumn<R> {
  return { ...countColumn(head, count), isShown: (rows) => rows.some((row) => count(row) > 0) };
}
