import { APPLIED } from '../../native/seam.js';
import type { AppliedCounts } from './types.js';

type Mutable = { -readonly [Name in keyof AppliedCounts]: number };

const NAMES: readonly (keyof AppliedCounts)[] = [
  ...(Object.keys(APPLIED) as (keyof typeof APPLIED)[]),
  'events',
  'otherGroups',
  'unknownMediums',
  'unknownTags',
];

export type Tally = Mutable;

export function emptyTally(): Tally {
  return Object.fromEntries(NAMES.map((name) => [name, 0])) as Tally;
}

export function addTally(sum: Tally, more: AppliedCounts): void {
  for (const name of NAMES) sum[name] += more[name];
}

/** What stands in the `result` of the core's `apply`. */
export function addApplied(sum: Tally, result: Float64Array): void {
  sum.stored += result[APPLIED.stored]!;
  sum.duplicate += result[APPLIED.duplicate]!;
  sum.orphaned += result[APPLIED.orphaned]!;
  sum.rejected += result[APPLIED.rejected]!;
  sum.evicted += result[APPLIED.evicted]!;
  sum.unresolved += result[APPLIED.unresolved]!;
  sum.removed += result[APPLIED.removed]!;
  sum.unknown += result[APPLIED.unknown]!;
  sum.cleared += result[APPLIED.cleared]!;
}
