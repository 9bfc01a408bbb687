import { KvidxError } from '../errors.js';
import { counted } from '../text.js';
import { checkHashes } from '../validate.js';
import { FollowedWorker, type Shared } from './exchange/followed-worker.js';
import { checkSubscriberOptions } from './exchange/subscriber-options.js';
import { WaitingRoom } from './exchange/waiting-frames.js';
import type {
  Degraded,
  FollowedSketch,
  Sketch,
  SketchSource,
  SketchSubscriberOptions,
  SubscriberStats,
} from './types.js';

/**
 * Keeps the sketches of workers as their publishers tell of them. One serves a whole router; the transport stays its owner's
 * to close.
 */
export class SketchSubscriber implements SketchSource {
  readonly #shared: Shared;
  readonly #workers = new Map<string, FollowedWorker>();
  #closed = false;

  /** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
  constructor(options: SketchSubscriberOptions) {
    const settings = checkSubscriberOptions(options);
    const { maxBytes } = settings;
    this.#shared = {
      ...settings,
      counts: { full: 0, delta: 0, clear: 0, old: 0, gaps: 0, badFrames: 0, wanted: 0, transportErrors: 0 },
      waitingRoom: new WaitingRoom(maxBytes),
      hasRoom: (bytes) => this.#bytes() + bytes <= maxBytes,
      onRoom: () => {
        for (const followed of this.#workers.values()) followed.askForRoom();
      },
    };
  }

  /** Tokens a block. */
  get blockSize(): number {
    return this.#shared.blockSize;
  }

  /**
   * The sketch of a worker, from now on; several followings of one worker share it. All is done in the background.
   * ERR_KVIDX_CAPACITY: `maxWorkers` are followed, or were when the store last answered. ERR_KVIDX_CLOSED,
   * ERR_KVIDX_INVALID_ARG_TYPE, ERR_KVIDX_OUT_OF_RANGE (no worker has that name).
   */
  follow(worker: string): FollowedSketch {
    if (this.#closed) throw new KvidxError('ERR_KVIDX_CLOSED', 'this SketchSubscriber is closed');
    const followed = this.#workers.get(worker) ?? this.#add(worker);
    followed.follow();
    return new Following(worker, followed, this.#shared.now);
  }

  stats(): SubscriberStats {
    const followed = [...this.#workers.values()].filter(({ isFollowed }) => isFollowed);
    return {
      workers: followed.length,
      degraded: followed.filter(({ degraded }) => degraded !== undefined).length,
      bytes: this.#bytes(),
      ...this.#shared.counts,
    };
  }

  /** Forgets all workers. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#workers.values()].map((followed) => followed.abandon()));
  }

  #add(worker: string): FollowedWorker {
    const followed = new FollowedWorker(this.#shared, worker, () => this.#workers.delete(worker));
    const { maxWorkers } = this.#shared;
    if (this.#workers.size >= maxWorkers) {
      const problem = `${counted(maxWorkers, 'worker')} are followed already: raise maxWorkers, or close some`;
      throw new KvidxError('ERR_KVIDX_CAPACITY', problem);
    }
    this.#workers.set(worker, followed);
    return followed;
  }

  #bytes(): number {
    let sum = 0;
    for (const { state } of this.#workers.values()) sum += state.bytes;
    return sum;
  }
}

/** What one `follow` answers. */
class Following implements FollowedSketch {
  readonly worker: string;
  /** Undefined: closed. */
  #followed: FollowedWorker | undefined;
  readonly #now: () => number;

  constructor(worker: string, followed: FollowedWorker, now: () => number) {
    this.worker = worker;
    this.#followed = followed;
    this.#now = now;
  }

  get sketch(): Sketch | undefined {
    return this.#followed?.state.sketch;
  }

  get degraded(): Degraded | undefined {
    return this.#followed ? this.#followed.degraded : 'empty';
  }

  leadingBlocks(seqHashes: BigUint64Array): number {
    return this.sketch?.filter.leadingBlocks(seqHashes) ?? none(seqHashes);
  }

  countBlocks(seqHashes: BigUint64Array): number {
    return this.sketch?.filter.countBlocks(seqHashes) ?? none(seqHashes);
  }

  ageMs(): number | undefined {
    return this.#followed?.state.ageMs(this.#now());
  }

  close(): void {
    const followed = this.#followed;
    this.#followed = undefined;
    void followed?.release();
  }
}

function none(seqHashes: BigUint64Array): 0 {
  checkHashes(seqHashes, 'seqHashes');
  return 0;
}
