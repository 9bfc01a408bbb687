import { invalidArgType } from '../../errors.js';
import { KvIndex, openIndex } from '../../kv-index/kv-index.js';
import { checkWorkerName } from '../../kv-index/workers.js';
import { checkBoolean, checkFunction, checkInteger, checkOptions } from '../../validate.js';
import type { StreamPosition, StreamSink } from '../stream/types.js';
import { BlockNamespaces } from './block-namespaces.js';
import type { FeedContext } from './context.js';
import { checkRank, FollowedEngine } from './followed-engine.js';
import { tierPlaces } from './mediums.js';
import { restoreFeed, saveFeed } from './snapshot.js';
import type { EventFeedOptions, FollowedRankStats } from './types.js';

/**
 * Keeps the residency of an index at what engines tell by their KV events. Engines' hashes are opaque: blocks with token
 * ids are hashed by kvidx' own scheme, in the namespace of their LoRA and salt, and each rank remembers which hash of the
 * engine means which block, for removals and for blocks that come by hash alone. A rank and tier of a worker is one slot of
 * the index. The index must not be fed otherwise under the names that are followed.
 *
 * ERR_KVIDX_CLOSED: the index is closed.
 */
export class EventFeed {
  readonly #context: FeedContext;
  readonly #engines = new Map<string, FollowedEngine>();

  constructor(index: KvIndex, options?: EventFeedOptions) {
    if (!(index instanceof KvIndex)) throw invalidArgType('index', 'a KvIndex', index);
    this.#context = readContext(index, options);
  }

  /**
   * The engine of a worker, which is followed from now on; the present one where it is followed already, and the index still
   * has the worker.
   */
  follow(worker: string): FollowedEngine {
    openIndex(this.#context.index);
    const present = this.#engines.get(checkWorkerName(worker));
    if (present?.isAlive()) return present;
    present?.abandon();
    const engine = new FollowedEngine(this.#context, worker);
    this.#engines.set(worker, engine);
    return engine;
  }

  /** The worker leaves the index with all its ranks and tiers. Answers whether it was followed. */
  unfollow(worker: string): boolean {
    const engine = this.#engines.get(checkWorkerName(worker));
    if (engine === undefined) return false;
    this.#engines.delete(worker);
    engine.leave();
    return true;
  }

  /**
   * Where a transport hands on the messages of one stream of a worker, its rank's: follows the worker, which stands in the
   * index from now on. It goes on from `position`, which is known after `restore`.
   */
  sink(worker: string, dpRank: number): StreamSink & { readonly position: StreamPosition | undefined } {
    return this.follow(worker).stream(checkRank(dpRank));
  }

  /** Each rank that is followed. Workers that were removed from the index are left out. */
  stats(): FollowedRankStats[] {
    return this.#alive().flatMap((engine) => engine.stats());
  }

  /** The index with what the feed knows: hashes of engines, how far streams came. As a new `Uint8Array`. */
  snapshot(): Uint8Array {
    return saveFeed(this.#context, this.#alive());
  }

  #alive(): FollowedEngine[] {
    openIndex(this.#context.index);
    return [...this.#engines.values()].filter((engine) => engine.isAlive());
  }

  /**
   * Replaces the state of the index and of the feed. What was followed before must be followed anew: streams go on from
   * where the snapshot was taken. ERR_KVIDX_BAD_SNAPSHOT names the first bad section; nothing has changed then.
   */
  restore(bytes: Uint8Array): void {
    const restored = restoreFeed(this.#context, bytes);
    for (const engine of this.#engines.values()) engine.abandon();
    this.#engines.clear();
    for (const engine of restored) this.#engines.set(engine.name, engine);
  }
}

function readContext(index: KvIndex, options: EventFeedOptions | undefined): FeedContext {
  const {
    namespace,
    mediums,
    loraNames,
    referenceCounts = false,
    maxRanks = 64,
    onError,
  } = checkOptions(options);
  const { settings, namespaces } = openIndex(index);
  if (onError !== undefined) checkFunction('onError', onError);
  return {
    index,
    blockSize: settings.blockSize,
    namespaces: new BlockNamespaces(namespace ?? settings.namespace, (root, known) =>
      namespaces.note(root, known),
    ),
    tiers: tierPlaces(mediums),
    loraNames: { ...checkOptions(loraNames, 'loraNames') },
    countsCopies: checkBoolean('referenceCounts', referenceCounts),
    maxRanks: checkInteger('maxRanks', maxRanks, 1, 65_536),
    onError: onError ?? (() => {}),
  };
}
