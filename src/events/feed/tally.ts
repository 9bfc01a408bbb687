import { APPLIED } from '../../native/seam.js';
import type { BadEvent } from '../types.js';
import type { AppliedEvents } from './types.js';

const NONE_BAD: readonly BadEvent[] = [];

/**
 * What one message did, or what all of them have done so far; what `AppliedEvents` has not is for who hands messages on.
 * Fields by hand and no base class: one is made and added up for every message.
 */
export class Tally implements AppliedEvents {
  readonly dpRank: number;
  timestampMs: number | undefined;
  bad = NONE_BAD;
  isCleared = false;
  isReplayed = false;
  /** Tokens a block of the stores that were left out, as the index has another size; undefined: none was. */
  otherBlockSize: number | undefined;
  stored = 0;
  duplicate = 0;
  orphaned = 0;
  rejected = 0;
  evicted = 0;
  unresolved = 0;
  removed = 0;
  unknown = 0;
  cleared = 0;
  events = 0;
  otherGroups = 0;
  unknownMediums = 0;
  unknownTags = 0;
  otherBlockSizes = 0;
  partialBlocks = 0;

  constructor(dpRank: number, timestampMs: number | undefined) {
    this.dpRank = dpRank;
    this.timestampMs = timestampMs;
  }

  add(more: Tally): void {
    this.otherBlockSize = more.otherBlockSize ?? this.otherBlockSize;
    this.stored += more.stored;
    this.duplicate += more.duplicate;
    this.orphaned += more.orphaned;
    this.rejected += more.rejected;
    this.evicted += more.evicted;
    this.unresolved += more.unresolved;
    this.removed += more.removed;
    this.unknown += more.unknown;
    this.cleared += more.cleared;
    this.events += more.events;
    this.otherGroups += more.otherGroups;
    this.unknownMediums += more.unknownMediums;
    this.unknownTags += more.unknownTags;
    this.otherBlockSizes += more.otherBlockSizes;
    this.partialBlocks += more.partialBlocks;
  }

  /** What the core's `apply` answers. */
  addApplied(result: Int32Array): void {
    this.stored += result[APPLIED.stored]!;
    this.duplicate += result[APPLIED.duplicate]!;
    this.orphaned += result[APPLIED.orphaned]!;
    this.rejected += result[APPLIED.rejected]!;
    this.evicted += result[APPLIED.evicted]!;
    this.unresolved += result[APPLIED.unresolved]!;
    this.removed += result[APPLIED.removed]!;
    this.unknown += result[APPLIED.unknown]!;
    this.cleared += result[APPLIED.cleared]!;
  }

  /** What the decoder left out. */
  addUntyped(unknown: number, bad: readonly BadEvent[]): void {
    this.events += unknown + bad.length;
    this.unknownTags += unknown;
    this.addBad(bad);
  }

  addBad(bad: readonly BadEvent[]): void {
    if (bad.length > 0) this.bad = [...this.bad, ...bad];
  }
}
