import { grouped } from '../text.js';
import { markNotes, problemNotes } from './events-marks.js';
import {
  countColumn,
  type EventColumn,
  eventTable,
  oddColumn,
  RANK_COLUMNS,
  STATE_COLUMN,
  TIER_COLUMNS,
} from './events-table.js';
import { printable } from './printable.js';
import type { WatchedJson, WatchedRankJson } from './watched-ranks.js';
import { wrapped } from './wrapped.js';

const COLUMNS: readonly EventColumn<WatchedRankJson>[] = [
  ...RANK_COLUMNS,
  // Early: a narrow terminal cuts the last ones.
  STATE_COLUMN,
  { head: 'events/s', text: ({ events_per_s }) => rateText(events_per_s, 'catching up') },
  { head: 'blocks/s', text: ({ blocks_per_s }) => rateText(blocks_per_s, '-') },
  ...TIER_COLUMNS,
  { head: 'lag', text: ({ lag_ms }) => duration(lag_ms) },
  { head: 'age', text: ({ age_ms }) => duration(age_ms) },
  countColumn('gaps', ({ gaps }) => gaps),
  oddColumn('repeats', ({ repeats }) => repeats),
  oddColumn('restarts', ({ restarts }) => restarts),
  oddColumn('damaged', ({ damaged, bad_events }) => damaged + bad_events),
];

/** What is seen at one time, for people; `width` of the terminal, in characters. */
export function watchText(watched: WatchedJson, width: number): string {
  const { ranks, block_size, time } = watched;
  const blocks = block_size === null ? 'no store was heard yet' : `blocks of ${block_size} tokens`;
  const notes = [
    ...markNotes(ranks, block_size),
    ...problemNotes(ranks),
    ...ranks
      .filter(({ connected }) => connected === null)
      .map(({ worker, rank }) => `rank ${rank} of ${printable(worker)}: messages of another stream name it.`),
  ];
  return [
    `${time.slice(11, 19)} UTC, ${blocks}`,
    eventTable(COLUMNS, ranks),
    ...notes.map((note) => wrapped(note, width)),
  ].join('\n');
}

function rateText(rate: number | null, none: string): string {
  return rate === null ? none : grouped(Math.round(rate));
}

function duration(ms: number | null): string {
  if (ms === null) return '-';
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 100_000) return `${(ms / 1000).toFixed(1)} s`;
  return size < 6_000_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}
