import { guarded } from '../../guarded.js';
import type {
  DegradedReason,
  StreamEffect,
  StreamMessage,
  StreamPosition,
  StreamSink,
} from '../stream/types.js';
import type { FollowedEngine } from './followed-engine.js';
import type { FollowedRank } from './followed-rank.js';
import type { Tally } from './tally.js';

/** One stream of a worker: what its messages do to the ranks that they tell of. */
export class FeedStream implements StreamSink {
  /** Rank of messages that do not tell theirs. */
  readonly dpRank: number;
  readonly #engine: FollowedEngine;
  readonly #onError: (error: Error, worker: string, dpRank: number) => void;
  /** Its own, and those that its messages named: an engine tells the number that it has in the whole deployment. */
  readonly #ranks = new Set<FollowedRank>();
  #last: Omit<StreamPosition, 'degraded'> | undefined;
  #degraded: DegradedReason | undefined;
  #toldBlockSize: number | undefined;

  constructor(
    engine: FollowedEngine,
    dpRank: number,
    onError: (error: Error, worker: string, dpRank: number) => void,
  ) {
    this.#engine = engine;
    this.dpRank = dpRank;
    this.#onError = guarded(onError);
    this.#ranks.add(engine.rank(dpRank));
  }

  get position(): StreamPosition | undefined {
    return this.#last && { ...this.#last, degraded: this.#degraded };
  }

  /** Where a saved stream stood. */
  resume({ sequence, check, degraded }: StreamPosition, ranks: readonly number[]): void {
    this.#last = { sequence, check };
    for (const rank of ranks) this.#ranks.add(this.#engine.rank(rank));
    this.degraded(degraded);
    // Until it is followed again nothing tells that this is still so.
    for (const rank of this.#ranks) rank.marks.set(this.dpRank, degraded ?? 'unconfirmed');
  }

  /** Numbers of the ranks that it told of. */
  get ranks(): number[] {
    return [...this.#ranks].map(({ dpRank }) => dpRank);
  }

  apply({ payload, sequence, check, receivedMs, isReplayed = false }: StreamMessage): StreamEffect {
    this.#last = { sequence, check };
    try {
      const message = this.#engine.applyMessage(payload, this.dpRank, receivedMs, isReplayed);
      this.#meet(message.dpRank);
      const { bad, isCleared } = message;
      if (bad.length > 0)
        this.#tell(new Error(`event ${bad[0]!.index} of message ${sequence}: ${bad[0]!.problem}`));
      this.#tellRefusal(message);
      return { isDamaged: bad.length > 0, isCleared };
    } catch (error) {
      this.#tell(error as Error);
      return { isDamaged: true, isCleared: false };
    }
  }

  /** Once for each size: it stays so with every message. */
  #tellRefusal(message: Tally): void {
    const refusal = this.#engine.refusalOf(message);
    if (refusal === undefined || refusal.blockSize === this.#toldBlockSize) return;
    this.#toldBlockSize = refusal.blockSize;
    this.#tell(refusal);
  }

  restarted(): void {
    this.#last = undefined;
    for (const rank of this.#ranks) {
      try {
        rank.clear();
      } catch (error) {
        this.#tell(error as Error);
      }
    }
  }

  degraded(reason: DegradedReason | undefined): void {
    this.#degraded = reason;
    for (const rank of this.#ranks) rank.marks.set(this.dpRank, reason);
  }

  #meet(dpRank: number): void {
    const rank = this.#engine.rank(dpRank);
    if (this.#ranks.has(rank)) return;
    this.#ranks.add(rank);
    rank.marks.set(this.dpRank, this.#degraded);
  }

  #tell(error: Error): void {
    this.#onError(error, this.#engine.name, this.dpRank);
  }
}
