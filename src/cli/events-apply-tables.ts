import { counted, grouped } from '../text.js';
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
import { mib } from './format.js';
import type { AppliedRankJson, EventsApplied } from './run-events-apply.js';
import { table } from './table.js';

const COLUMNS: readonly EventColumn<AppliedRankJson>[] = [
  ...RANK_COLUMNS,
  countColumn('messages', ({ messages }) => messages),
  countColumn('events', ({ events }) => events),
  countColumn('stored', ({ stored }) => stored),
  countColumn('removed', ({ removed }) => removed),
  oddColumn('cleared', ({ cleared }) => cleared),
  ...TIER_COLUMNS,
  oddColumn('missing', ({ missing }) => missing),
  oddColumn('restarts', ({ restarts }) => restarts),
  oddColumn('orphaned', ({ orphaned }) => orphaned),
  oddColumn('unresolved', ({ unresolved }) => unresolved),
  oddColumn('unknown', ({ unknown }) => unknown),
  oddColumn('refused', ({ other_block_sizes }) => other_block_sizes),
  oddColumn('rejected', ({ rejected }) => rejected),
  oddColumn('bad', ({ bad_events }) => bad_events),
  STATE_COLUMN,
];

/** What an odd column counts. */
const MEANINGS: readonly (readonly [
  name: string,
  count: (rank: AppliedRankJson) => number,
  meaning: string,
])[] = [
  ['missing', ({ missing }) => missing, 'messages whose numbers were left out'],
  ['restarts', ({ restarts }) => restarts, 'new lives of the engine, which begin with an empty cache'],
  [
    'orphaned',
    ({ orphaned }) => orphaned,
    'blocks stored without those before them: no query reaches them until these are there',
  ],
  [
    'unresolved',
    ({ unresolved }) => unresolved,
    'blocks stored by name alone, under a name that is not known',
  ],
  ['unknown', ({ unknown }) => unknown, 'removals of blocks that are not known in that tier'],
  [
    'refused',
    ({ other_block_sizes }) => other_block_sizes,
    'stores of another block size than the index has',
  ],
  ['rejected', ({ rejected }) => rejected, 'stores that contradict what is known'],
  ['bad', ({ bad_events }) => bad_events, 'events that could not be read'],
];

/** What `kvidx events apply` did, for people. */
export function applyTables(applied: EventsApplied): string {
  const { recording, ranks, block_size, cut } = applied;
  const parts = [
    recording === '-' ? 'standard input' : recording,
    ...(ranks.length === 0 ? [] : [eventTable(COLUMNS, ranks)]),
    table(['index', 'value', 'definition'], indexRows(applied)),
    ...MEANINGS.filter(([, count]) => ranks.some((rank) => count(rank) > 0)).map(
      ([name, , meaning]) => `${name}: ${meaning}`,
    ),
    ...markNotes(ranks, block_size),
    ...problemNotes(ranks),
    ...(block_size === null ? ['No store was recorded, so that there is nothing to hold.'] : []),
    ...(cut === null ? [] : [`${cut}; what stands before it was applied.`]),
  ];
  return `${parts.join('\n')}\n`;
}

function indexRows(applied: EventsApplied): string[][] {
  const { block_size, index, names, names_bytes, messages, payload_bytes, seconds } = applied;
  return [
    ['block size', block_size === null ? 'unknown' : counted(block_size, 'token'), ''],
    ['blocks', grouped(index.blocks), `different ones; ${mib(index.used_bytes)}`],
    ['names', grouped(names), `of blocks, as the engines call them; ${mib(names_bytes)}`],
    ['messages', grouped(messages), `${mib(payload_bytes)} of payload`],
    ['time', `${seconds.toFixed(2)} s`, 'to read and apply them all'],
    ['throughput', `${grouped(Math.round(applied.messages_per_s))}/s`, 'messages'],
    ['', `${grouped(Math.round(applied.blocks_per_s))}/s`, 'blocks stored, removed and cleared'],
  ];
}
