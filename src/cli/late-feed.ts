import { decodeEventBatch } from '../events/decode-batch.js';
import { AttentionGroups } from '../events/feed/attention-groups.js';
import { EventFeed } from '../events/feed/event-feed.js';
import type { FollowedRankStats } from '../events/feed/types.js';
import type { DegradedReason, StreamEffect, StreamMessage, StreamSink } from '../events/stream/types.js';
import type { EventBatch, KvEvent } from '../events/types.js';
import { MAX_BLOCK_SIZE } from '../hash/limits.js';
import { KvIndex } from '../kv-index/kv-index.js';

const LOST: StreamEffect = { isDamaged: true, isCleared: false };

/**
 * An index that is fed by events, and whose block size is that of the first store heard where none is given. Before it
 * no engine can have anything that is known by its tokens, so that nothing is lost but counts.
 */
export class LateFeed {
  #index: KvIndex | undefined;
  #feed: EventFeed | undefined;
  /** By worker and rank, what was wrong last. */
  readonly problems = new Map<string, string>();

  constructor(blockSize?: number) {
    if (blockSize !== undefined) this.#open(blockSize);
  }

  /** Undefined: no store was heard. */
  get index(): KvIndex | undefined {
    return this.#index;
  }

  stats(): readonly FollowedRankStats[] {
    return this.#feed?.stats() ?? [];
  }

  sink(worker: string, dpRank: number): StreamSink {
    let opened: StreamSink | undefined = this.#feed?.sink(worker, dpRank);
    let degraded: DegradedReason | undefined;
    return {
      apply: (message) => {
        if (opened === undefined) {
          const feed = this.#feed ?? this.#openAt(message);
          if (feed === undefined) return this.#effectOf(message, worker, dpRank);
          opened = feed.sink(worker, dpRank);
          opened.degraded(degraded);
        }
        return opened.apply(message);
      },
      restarted: () => opened?.restarted(),
      degraded: (reason) => {
        degraded = reason;
        opened?.degraded(reason);
      },
    };
  }

  close(): void {
    this.#index?.close();
  }

  #openAt({ payload }: StreamMessage): EventFeed | undefined {
    const blockSize = decoded(payload)
      ?.events.map(sizeOf)
      .find((size) => size !== undefined);
    return blockSize === undefined ? undefined : this.#open(blockSize);
  }

  #open(blockSize: number): EventFeed {
    this.#index = new KvIndex({ blockSize });
    this.#feed = new EventFeed(this.#index, {
      onError: (error, worker, dpRank) => this.tell(worker, dpRank, error.message),
    });
    return this.#feed;
  }

  #effectOf({ payload, sequence }: StreamMessage, worker: string, dpRank: number): StreamEffect {
    const batch = decoded(payload);
    if (batch === undefined) this.tell(worker, dpRank, `message ${sequence} is no batch of events`);
    if (batch === undefined) return LOST;
    const { events, bad } = batch;
    if (bad[0]) this.tell(worker, dpRank, `event ${bad[0].index} of message ${sequence}: ${bad[0].problem}`);
    return { isDamaged: bad.length > 0, isCleared: events.some(({ kind }) => kind === 'cleared') };
  }

  /** Something was wrong with a rank. */
  tell(worker: string, dpRank: number, problem: string): void {
    this.problems.set(rankKey(worker, dpRank), problem);
  }
}

export function rankKey(worker: string, dpRank: number): string {
  return `${dpRank} ${worker}`;
}

function decoded(payload: Uint8Array): EventBatch | undefined {
  try {
    return decodeEventBatch(payload);
  } catch {
    return undefined;
  }
}

/** Of a store that an index takes. */
function sizeOf(event: KvEvent): number | undefined {
  if (event.kind !== 'stored' || event.tokens === undefined) return undefined;
  const { blockSize, tokens, blockHashes, isBigram, groupIdx = -1, specKind } = event;
  if (!new AttentionGroups().learn(groupIdx, specKind)) return undefined;
  const size = blockSize ?? Math.floor((tokens.length - Number(isBigram)) / blockHashes.length);
  return size >= 1 && size <= MAX_BLOCK_SIZE ? size : undefined;
}
