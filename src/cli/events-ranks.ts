import type { FollowedRankStats } from '../events/feed/types.js';
import { rankKey } from './late-feed.js';

/** What a stream carried and what it did to the index, of one rank; either may be unknown. */
export interface JoinedRank<S> {
  readonly worker: string;
  readonly rank: number;
  /** Undefined: only messages of another stream name this rank. */
  readonly stream: S | undefined;
  /** Undefined: nothing was applied. */
  readonly applied: FollowedRankStats | undefined;
}

/** Streams first, in their order. */
export function joinRanks<S extends { readonly worker: string; readonly dpRank: number }>(
  streams: readonly S[],
  stats: readonly FollowedRankStats[],
): JoinedRank<S>[] {
  const left = new Map(stats.map((each) => [rankKey(each.worker, each.dpRank), each]));
  const joined: JoinedRank<S>[] = streams.map((stream) => {
    const { worker, dpRank } = stream;
    const key = rankKey(worker, dpRank);
    const applied = left.get(key);
    left.delete(key);
    return { worker, rank: dpRank, stream, applied };
  });
  for (const applied of left.values()) {
    joined.push({ worker: applied.worker, rank: applied.dpRank, stream: undefined, applied });
  }
  return joined;
}

/** What is applied, as `--json` prints it. */
export interface AppliedJson {
  readonly resident_blocks: FollowedRankStats['residentBlocks'];
  readonly events: number;
  readonly stored: number;
  readonly duplicate: number;
  readonly removed: number;
  readonly cleared: number;
  readonly orphaned: number;
  readonly unresolved: number;
  readonly unknown: number;
  readonly rejected: number;
  readonly other_groups: number;
  readonly unknown_mediums: number;
  /** Stores that were refused: of another block size than the index has. */
  readonly other_block_sizes: number;
  readonly unknown_tags: number;
  readonly bad_events: number;
  readonly names: number;
  readonly names_bytes: number;
  readonly lag_ms: number | null;
  readonly refused_block_size: number | null;
  readonly refused_mediums: readonly string[];
}

/** All zeros where nothing was applied. */
export function appliedJson(applied: FollowedRankStats | undefined): AppliedJson {
  return {
    resident_blocks: applied?.residentBlocks ?? {},
    events: applied?.events ?? 0,
    stored: applied?.stored ?? 0,
    duplicate: applied?.duplicate ?? 0,
    removed: applied?.removed ?? 0,
    cleared: applied?.cleared ?? 0,
    orphaned: applied?.orphaned ?? 0,
    unresolved: applied?.unresolved ?? 0,
    unknown: applied?.unknown ?? 0,
    rejected: applied?.rejected ?? 0,
    other_groups: applied?.otherGroups ?? 0,
    unknown_mediums: applied?.unknownMediums ?? 0,
    other_block_sizes: applied?.otherBlockSizes ?? 0,
    unknown_tags: applied?.unknownTags ?? 0,
    bad_events: applied?.badEvents ?? 0,
    names: applied?.names ?? 0,
    names_bytes: applied?.usedBytes ?? 0,
    lag_ms: applied?.lagMs ?? null,
    refused_block_size: applied?.refusedBlockSize ?? null,
    refused_mediums: applied?.refusedMediums ?? [],
  };
}

/** Blocks that came and went. */
export function movedBlocks({ stored, removed, cleared }: AppliedJson): number {
  return stored + removed + cleared;
}
