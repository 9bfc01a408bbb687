import type { DegradedReason } from '../events/stream/types.js';
import type { StreamStatus } from '../events/zmq/types.js';
import { type AppliedJson, appliedJson, type JoinedRank, joinRanks, movedBlocks } from './events-ranks.js';
import { type LateFeed, rankKey } from './late-feed.js';

/** What `--json` prints of a rank; null in what only streams have: it has none of its own. */
export interface WatchedRankJson extends AppliedJson {
  readonly worker: string;
  readonly rank: number;
  readonly endpoint: string | null;
  readonly connected: boolean | null;
  readonly degraded: DegradedReason | null;
  /** Null: messages came from a replay, and tell nothing of the time since. */
  readonly events_per_s: number | null;
  readonly blocks_per_s: number | null;
  readonly age_ms: number | null;
  readonly next_sequence: number | null;
  readonly messages: number;
  readonly gaps: number;
  readonly repeats: number;
  readonly restarts: number;
  readonly replays: number;
  readonly failed_replays: number;
  readonly replayed_messages: number;
  readonly damaged: number;
  readonly held_messages: number;
  /** Found no room to be held. */
  readonly dropped: number;
  /** What was wrong last. */
  readonly problem: string | null;
}

/** What `--json` prints a line. */
export interface WatchedJson {
  readonly time: string;
  /** Tokens a block; null: no store was heard yet. */
  readonly block_size: number | null;
  readonly ranks: readonly WatchedRankJson[];
}

/** Looks at streams and index from time to time; rates are those since it looked last. */
export class WatchedRanks {
  readonly #feed: LateFeed;
  #before = new Map<string, WatchedRankJson>();
  #beforeMs = performance.now();

  constructor(feed: LateFeed) {
    this.#feed = feed;
  }

  look(streams: readonly StreamStatus[]): WatchedJson {
    const nowMs = performance.now();
    const seconds = Math.max(1, nowMs - this.#beforeMs) / 1000;
    const ranks = joinRanks(streams, this.#feed.stats()).map((joined) => this.#rank(joined, seconds));
    this.#before = new Map(ranks.map((rank) => [rankKey(rank.worker, rank.rank), rank]));
    this.#beforeMs = nowMs;
    return { time: new Date().toISOString(), block_size: this.#feed.index?.blockSize ?? null, ranks };
  }

  #rank(
    { worker, rank, stream, applied: stats }: JoinedRank<StreamStatus>,
    seconds: number,
  ): WatchedRankJson {
    const key = rankKey(worker, rank);
    const applied = appliedJson(stats);
    const before = this.#before.get(key);
    const replayedMessages = stream?.replayedMessages ?? 0;
    // A few that were lost on the way hardly change a rate.
    const replayed = replayedMessages - (before?.replayed_messages ?? 0);
    const live = (stream?.messages ?? 0) - (before?.messages ?? 0);
    const isCatchingUp = replayed > 0 && replayed >= live;
    const rate = (value: (applied: AppliedJson) => number) =>
      isCatchingUp ? null : (value(applied) - (before === undefined ? 0 : value(before))) / seconds;
    return {
      worker,
      rank,
      endpoint: stream?.endpoint ?? null,
      connected: stream?.connected ?? null,
      degraded: (stream ?? stats)?.degraded ?? null,
      events_per_s: rate(({ events }) => events),
      blocks_per_s: rate(movedBlocks),
      age_ms: stream?.ageMs ?? null,
      next_sequence: stream?.next ?? null,
      messages: stream?.messages ?? 0,
      gaps: stream?.gaps ?? 0,
      repeats: stream?.repeats ?? 0,
      restarts: stream?.restarts ?? 0,
      replays: stream?.replays ?? 0,
      failed_replays: stream?.failedReplays ?? 0,
      replayed_messages: replayedMessages,
      damaged: stream?.damaged ?? 0,
      held_messages: stream?.heldMessages ?? 0,
      dropped: stream?.dropped ?? 0,
      problem: this.#feed.problems.get(key) ?? null,
      ...applied,
    };
  }
}
