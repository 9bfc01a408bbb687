import { RecordedStreams, readRecording } from '../events/recording/index.js';
import type { RecordedStreamState } from '../events/recording/recorded-streams.js';
import type { DegradedReason } from '../events/stream/types.js';
import { grouped } from '../text.js';
import { CliError } from './cli-error.js';
import type { EventsApplyFlags } from './events-apply.js';
import { applyTables } from './events-apply-tables.js';
import { type AppliedJson, appliedJson, type JoinedRank, joinRanks, movedBlocks } from './events-ranks.js';
import { LateFeed, rankKey } from './late-feed.js';
import { print } from './print.js';
import { readingProgress } from './progress.js';

/** What `--json` prints of a rank. */
export interface AppliedRankJson extends AppliedJson {
  readonly worker: string;
  readonly rank: number;
  readonly messages: number;
  readonly first_sequence: number | null;
  readonly last_sequence: number | null;
  readonly gaps: number;
  /** Numbers that were left out. */
  readonly missing: number;
  readonly restarts: number;
  readonly degraded: DegradedReason | null;
  /** What was wrong last. */
  readonly problem: string | null;
}

/** What `--json` prints. */
export interface EventsApplied {
  readonly recording: string;
  /** Why the last record was left out; null: it was whole. */
  readonly cut: string | null;
  /** Tokens a block; null: no store was recorded. */
  readonly block_size: number | null;
  readonly messages: number;
  readonly payload_bytes: number;
  /** Reading and applying. */
  readonly seconds: number;
  readonly messages_per_s: number;
  readonly blocks_per_s: number;
  readonly index: { readonly blocks: number; readonly used_bytes: number };
  readonly names: number;
  readonly names_bytes: number;
  readonly ranks: readonly AppliedRankJson[];
}

export async function runEventsApply(recording: string, flags: EventsApplyFlags): Promise<void> {
  const feed = new LateFeed(flags.blockSize);
  const streams = new RecordedStreams(feed);
  const progress = await readingProgress(`applying ${recording}`);
  let [messages, payloadBytes] = [0, 0];
  let cut: string | null = null;
  const startMs = performance.now();
  const records = readRecording(recording, {
    onProgress: progress.onProgress,
    onCut: (error) => {
      cut = error.message;
    },
  });
  try {
    for await (const message of records) {
      streams.apply(message);
      messages++;
      payloadBytes += message.payload.length;
    }
  } finally {
    progress.stop();
  }
  const seconds = (performance.now() - startMs) / 1000;
  const ranks = joinRanks(streams.states(), feed.stats()).map((joined) => rankJson(joined, feed));
  const sum = (value: (rank: AppliedRankJson) => number) =>
    ranks.reduce((total, rank) => total + value(rank), 0);
  const stats = feed.index?.stats();
  const applied: EventsApplied = {
    recording,
    cut,
    block_size: feed.index?.blockSize ?? null,
    messages,
    payload_bytes: payloadBytes,
    seconds,
    messages_per_s: messages / seconds,
    blocks_per_s: sum(movedBlocks) / seconds,
    index: { blocks: stats?.blocks ?? 0, used_bytes: stats?.usedBytes ?? 0 },
    names: sum(({ names }) => names),
    names_bytes: sum(({ names_bytes }) => names_bytes),
    ranks,
  };
  feed.close();
  await print([flags.json ? `${JSON.stringify(applied, null, 2)}\n` : applyTables(applied)]);
  const refused = sum(({ other_block_sizes }) => other_block_sizes);
  const others = sum(
    ({ stored, duplicate, rejected, unresolved }) => stored + duplicate + rejected + unresolved,
  );
  if (refused > 0 && others === 0) throw new CliError(allRefused(refused, applied));
}

function allRefused(refused: number, { ranks, block_size }: EventsApplied): string {
  const sizes = new Set(ranks.map((rank) => rank.refused_block_size).filter((size) => size !== null));
  return (
    `all stores were refused (${grouped(refused)}): they are of blocks of ${[...sizes].join(', ')} tokens, ` +
    `the index has blocks of ${block_size} (--block-size)`
  );
}

function rankJson(
  { worker, rank, stream, applied }: JoinedRank<RecordedStreamState>,
  feed: LateFeed,
): AppliedRankJson {
  return {
    worker,
    rank,
    messages: stream?.messages ?? 0,
    first_sequence: stream?.firstSequence ?? null,
    last_sequence: stream?.lastSequence ?? null,
    gaps: stream?.gaps ?? 0,
    missing: stream?.missing ?? 0,
    restarts: stream?.restarts ?? 0,
    degraded: stream?.degraded ?? applied?.degraded ?? null,
    problem: feed.problems.get(rankKey(worker, rank)) ?? null,
    ...appliedJson(applied),
  };
}
