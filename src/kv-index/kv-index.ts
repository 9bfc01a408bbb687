/// <reference lib="esnext.disposable" preserve="true" />

import { invalidArgType, KvidxError } from '../errors.js';
import { flattenExtraKeys } from '../hash/extra-keys.js';
import { type Namespace, namespaceRoot } from '../hash/namespace.js';
import { seam } from '../native/index.js';
import { type CoreIndex, RESULT, RESULT_LENGTH } from '../native/seam.js';
import {
  checkBytes,
  checkHash,
  checkHashes,
  checkInteger,
  checkOptions,
  checkOut,
  checkTime,
  checkTokens,
} from '../validate.js';
import { type ExplainOptions, type ExplainQuery, type Explanation, explainQuery } from './explain.js';
import { type FeedResult, readResult } from './feed-result.js';
import { NamespaceLog } from './namespace-log.js';
import { checkIndexOptions, checkMode, checkParent, type IndexSettings, MAX_U32 } from './options.js';
import { checkSessionName, SessionTable } from './sessions.js';
import { restoreParts, saveParts } from './snapshot.js';
import type {
  ExclusiveOverlapOptions,
  FairOverlapOptions,
  IndexStats,
  KvIndexOptions,
  LookupOptions,
  LookupResult,
  OverlapOptions,
  OwnOptions,
  RemoveOptions,
  StoreOptions,
} from './types.js';
import {
  checkWorkerName,
  checkWorkerOptions,
  unknownWorker,
  WorkerHandle,
  type WorkerOptions,
  WorkerTable,
} from './workers.js';

/**
 * Which worker holds how much of a prompt's KV cache, and how much of that belongs to one session alone.
 *
 * Feed it residency (`store`, `remove`, `clear`) and ownership (`own`); ask it for overlaps. Hashes are seq hashes of
 * full blocks (`BlockHasher`, `SessionHasher`, `lookupTokens`); the query of a request comes before its own `own`.
 * Arrays are read during the call and not kept. Every method throws ERR_KVIDX_CLOSED on a closed index,
 * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE on a wrong argument, and changes nothing then.
 *
 * Options are read before anything else: a getter among them may run any code, also on this index.
 */
export class KvIndex {
  readonly #settings: IndexSettings;
  readonly #result = new Float64Array(RESULT_LENGTH);
  readonly #namespaces = new NamespaceLog();
  #core: CoreIndex | undefined;
  /** The core's, kept here because every query needs it. */
  #slotCount = 0;
  #workers = new WorkerTable();
  #sessions = new SessionTable();

  constructor(options?: KvIndexOptions) {
    this.#settings = checkIndexOptions(options);
    this.#core = seam.createIndex({ maxSessions: this.#settings.maxSessions });
  }

  /** The core of an open index; every method starts here. */
  static #open(index: KvIndex): CoreIndex {
    if (typeof index !== 'object' || index === null || !(#core in index)) {
      throw invalidArgType('this', 'a KvIndex', index);
    }
    if (index.#core === undefined) throw new KvidxError('ERR_KVIDX_CLOSED', 'this KvIndex is closed');
    return index.#core;
  }

  /** Tokens a block. */
  get blockSize(): number {
    KvIndex.#open(this);
    return this.#settings.blockSize;
  }

  // ---------------------------------------------------------------------------------------------------- workers

  /** Highest live slot + 1: the length of every output indexed by slot. */
  get slotCount(): number {
    KvIndex.#open(this);
    return this.#slotCount;
  }

  /** The handle of (name, dpRank, tier): the present one when it is live, else a new, empty life of it. */
  addWorker(name: string, options?: WorkerOptions): WorkerHandle {
    const { dpRank, tier } = checkWorkerOptions(checkOptions(options));
    const core = KvIndex.#open(this);
    checkWorkerName(name);
    const present = this.#workers.find(name, dpRank, tier);
    if (present) return present;
    const slot = core.addSlot();
    this.#slotCount = core.slotCount();
    const handle = new WorkerHandle(name, dpRank, tier, slot);
    this.#workers.add(handle, core.incarnation(slot));
    return handle;
  }

  /**
   * Ends one worker, or all ranks and tiers of a name: its blocks and all it left behind go, its handles are stale.
   * ERR_KVIDX_UNKNOWN_WORKER: a stale handle, or a name that no live worker has.
   */
  removeWorker(worker: WorkerHandle | string): void {
    const core = KvIndex.#open(this);
    for (const handle of this.#named(worker)) {
      core.removeSlot(handle.slot, this.#workers.incarnationOf(handle));
      this.#workers.delete(handle);
    }
    this.#slotCount = core.slotCount();
  }

  #named(worker: WorkerHandle | string): WorkerHandle[] {
    if (typeof worker !== 'string') {
      this.#workers.incarnationOf(worker);
      return [worker];
    }
    const handles = this.#workers.named(worker);
    if (handles.length === 0) throw unknownWorker(`no worker is named ${JSON.stringify(worker)}`);
    return handles;
  }

  /** Live workers by slot, ascending. */
  workers(): WorkerHandle[] {
    KvIndex.#open(this);
    return this.#workers.handles();
  }

  // -------------------------------------------------------------------------------------------------- residency

  /**
   * The worker holds these consecutive blocks (`BigUint64Array[n]`), the first of which follows `parent`. Idempotent.
   * A call that contradicts a known predecessor, or names a block twice, changes nothing and answers `rejected: n`.
   * ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  store(worker: WorkerHandle, seqHashes: BigUint64Array, options?: StoreOptions): FeedResult {
    const { parent, nowMs = Date.now(), strict = false } = checkOptions(options);
    const core = KvIndex.#open(this);
    const incarnation = this.#workers.incarnationOf(worker);
    checkHashes(seqHashes, 'seqHashes');
    const before = checkParent(parent);
    core.store(worker.slot, incarnation, seqHashes, before, checkTime('nowMs', nowMs), this.#result);
    return readResult('store', this.#result, strict);
  }

  /**
   * The worker no longer holds these blocks (`BigUint64Array[n]`); other workers keep theirs, and blocks behind a
   * removed one stay resident. Hashes that were not resident here are counted `unknown`.
   * ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  remove(worker: WorkerHandle, seqHashes: BigUint64Array, options?: RemoveOptions): FeedResult {
    const { strict = false } = checkOptions(options);
    const core = KvIndex.#open(this);
    const incarnation = this.#workers.incarnationOf(worker);
    checkHashes(seqHashes, 'seqHashes');
    core.remove(worker.slot, incarnation, seqHashes, this.#result);
    return readResult('remove', this.#result, strict);
  }

  /** The worker holds nothing any more. Answers the blocks it held. ERR_KVIDX_UNKNOWN_WORKER: a stale handle. */
  clear(worker: WorkerHandle): number {
    const core = KvIndex.#open(this);
    const incarnation = this.#workers.incarnationOf(worker);
    return core.clear(worker.slot, incarnation);
  }

  /** Is the block resident on some worker, or owned by some session? */
  contains(seqHash: bigint | number): boolean {
    return KvIndex.#open(this).contains(checkHash(seqHash, 'seqHash'));
  }

  /** The worker's blocks, ascending, as a new `BigUint64Array`. ERR_KVIDX_UNKNOWN_WORKER: a stale handle. */
  enumerate(worker: WorkerHandle): BigUint64Array {
    const core = KvIndex.#open(this);
    this.#workers.incarnationOf(worker);
    return core.enumerate(worker.slot);
  }

  /** Blocks that the worker holds. ERR_KVIDX_UNKNOWN_WORKER: a stale handle. */
  residentBlocks(worker: WorkerHandle): number {
    const core = KvIndex.#open(this);
    this.#workers.incarnationOf(worker);
    return core.residentBlocks(worker.slot);
  }

  // -------------------------------------------------------------------------------------------------- ownership

  /**
   * The session owns these blocks (`BigUint64Array[n]`, from the first block of its prompt) until it ends. Blocks need
   * not be resident. A contradicting call changes nothing and answers `rejected: n`. With more than `maxSessions` the
   * least recently owning session ends.
   */
  own(session: string, seqHashes: BigUint64Array, options?: OwnOptions): FeedResult {
    const { nowMs = Date.now(), strict = false } = checkOptions(options);
    const core = KvIndex.#open(this);
    const present = this.#sessions.numberOf(checkSessionName(session));
    checkHashes(seqHashes, 'seqHashes');
    const number = core.own(present, seqHashes, checkTime('nowMs', nowMs), this.#result);
    const ended = this.#result[RESULT.ended]!;
    if (ended !== 0) this.#sessions.delete(ended);
    if (present === 0 && number !== 0) this.#sessions.add(session, number);
    return readResult('own', this.#result, strict);
  }

  /** The session owns nothing any more: a sole remaining owner becomes exclusive. Answers the blocks it owned. */
  endSession(session: string): number {
    const core = KvIndex.#open(this);
    const number = this.#sessions.numberOf(checkSessionName(session));
    if (number === 0) return 0;
    this.#sessions.delete(number);
    return core.endSession(number);
  }

  /** Ends every session whose last `own` is `sessionIdleMs` old or older at `nowMs` (default `Date.now()`); their names. */
  endIdleSessions(nowMs: number = Date.now()): string[] {
    const core = KvIndex.#open(this);
    const ended = core.endIdleSessions(checkTime('nowMs', nowMs) - this.#settings.sessionIdleMs);
    return Array.from(ended, (number) => this.#sessions.delete(number));
  }

  // ---------------------------------------------------------------------------------------------------- queries

  /**
   * Blocks of the request (`BigUint64Array[n]`) on each slot: `Uint32Array[slotCount]`, indexed by
   * `WorkerHandle.slot`, 0 for free slots. ERR_KVIDX_LENGTH_MISMATCH: `out` of another length.
   */
  overlap(seqHashes: BigUint64Array, options?: OverlapOptions): Uint32Array {
    const { mode = 'prefix', out } = checkOptions(options);
    const core = KvIndex.#open(this);
    checkHashes(seqHashes, 'seqHashes');
    const answer = checkOut(out, Uint32Array, this.#slotCount);
    core.overlap(seqHashes, checkMode(mode), answer);
    return answer;
  }

  /**
   * Of what `overlap` counts, the blocks whose one owner is this session (`maxOwners` 1), or that have 1 …
   * `maxOwners` owners. Other blocks are skipped; blocks that nobody owns count for nobody. Shape as `overlap`.
   * With several router replicas, a block shared only across replicas looks exclusive on each.
   */
  exclusiveOverlap(
    session: string,
    seqHashes: BigUint64Array,
    options?: ExclusiveOverlapOptions,
  ): Uint32Array {
    const { mode = 'prefix', maxOwners = 1, out } = checkOptions(options);
    const core = KvIndex.#open(this);
    const number = this.#sessions.numberOf(checkSessionName(session));
    checkHashes(seqHashes, 'seqHashes');
    checkInteger('maxOwners', maxOwners, 1, MAX_U32);
    const answer = checkOut(out, Uint32Array, this.#slotCount);
    core.exclusiveOverlap(number, seqHashes, checkMode(mode), maxOwners, answer);
    return answer;
  }

  /**
   * Leading blocks of the request (`BigUint64Array[n]`) on each slot, a block with k owners counting 1 / k:
   * `Float64Array[slotCount]` in whole units of 1 / FAIR_UNIT block (a block counts ⌊FAIR_UNIT / k⌋, an unowned one
   * FAIR_UNIT). ERR_KVIDX_LENGTH_MISMATCH: `out` of another length.
   */
  fairOverlap(seqHashes: BigUint64Array, options?: FairOverlapOptions): Float64Array {
    const { out } = checkOptions(options);
    const core = KvIndex.#open(this);
    checkHashes(seqHashes, 'seqHashes');
    const answer = checkOut(out, Float64Array, this.#slotCount);
    core.fairOverlap(seqHashes, answer);
    return answer;
  }

  /** Hashes a prompt (`Uint32Array[n]` or numbers) and asks for its overlaps, in one call. */
  lookupTokens(tokens: Uint32Array | readonly number[], options?: LookupOptions): LookupResult {
    const { namespace, extraKeys, session, maxOwners = 1, fair = false } = checkOptions(options);
    const core = KvIndex.#open(this);
    const ids = checkTokens(tokens);
    const number = session === undefined ? 0 : this.#sessions.numberOf(checkSessionName(session));
    checkInteger('maxOwners', maxOwners, 1, MAX_U32);
    const root = this.#rootOf(namespace);
    const blocks = Math.floor(ids.length / this.#settings.blockSize);
    const extra = flattenExtraKeys(extraKeys, 0, blocks);

    const seqHashes = new BigUint64Array(blocks);
    const overlap = new Uint32Array(this.#slotCount);
    const exclusive = session === undefined ? undefined : new Uint32Array(this.#slotCount);
    const fairOverlap = fair ? new Float64Array(this.#slotCount) : undefined;
    core.lookupTokens(
      ids,
      this.#settings.blockSize,
      root,
      extra,
      number,
      maxOwners,
      seqHashes,
      overlap,
      exclusive,
      fairOverlap,
    );
    return { seqHashes, overlap, exclusive, fair: fairOverlap };
  }

  #rootOf(namespace: Namespace | undefined): bigint {
    if (namespace === undefined) return this.#settings.root;
    const root = namespaceRoot(namespace);
    this.#namespaces.note(root, namespace);
    return root;
  }

  /** Why a query finds what it finds: for every worker, and in one sentence when it finds nothing. */
  explain(query: ExplainQuery, options?: ExplainOptions): Explanation {
    const { nowMs = Date.now() } = checkOptions(options);
    const core = KvIndex.#open(this);
    checkTime('nowMs', nowMs);
    const context = {
      core,
      workers: this.#workers.handles(),
      blockSize: this.#settings.blockSize,
      root: this.#settings.root,
      namespaces: this.#namespaces,
      nowMs,
    };
    return explainQuery(context, query);
  }

  // ------------------------------------------------------------------------------------------------ whole index

  /** Exact counts, memory, and each worker's residency and last store. */
  stats(): IndexStats {
    const core = KvIndex.#open(this);
    const workers = this.#workers.handles().map((worker) => {
      const lastStoreMs = core.lastStoreMs(worker.slot);
      return {
        worker,
        residentBlocks: core.residentBlocks(worker.slot),
        lastStoreMs: lastStoreMs < 0 ? undefined : lastStoreMs,
      };
    });
    return { ...core.stats(), workers };
  }

  /** The whole state with its names, as a new `Uint8Array`. */
  snapshot(): Uint8Array {
    const core = KvIndex.#open(this);
    return saveParts({ core, workers: this.#workers, sessions: this.#sessions }, this.#settings);
  }

  /**
   * Replaces the whole state by a snapshot's. All handles are stale afterwards: `addWorker` or `workers` give those of
   * the restored workers. Of more than `maxSessions` sessions the least recently owning ones end.
   * ERR_KVIDX_BAD_SNAPSHOT names the first bad section (damaged, contradicting another section, or of an index with
   * another block size or namespace); the state is unchanged then.
   */
  restore(bytes: Uint8Array): void {
    const before = KvIndex.#open(this);
    const { core, workers, sessions } = restoreParts(checkBytes(bytes), this.#settings);
    this.#core = core;
    this.#slotCount = core.slotCount();
    this.#workers = workers;
    this.#sessions = sessions;
    before.close();
  }

  /** Gives memory that is reserved but unused back. */
  compact(): void {
    KvIndex.#open(this).compact();
  }

  /** Checks every invariant of the structure; '' or the first broken one. Cost: a walk over everything. */
  validate(): string {
    return KvIndex.#open(this).validate();
  }

  /** The structure as text, for people. */
  dump(): string {
    return KvIndex.#open(this).dump();
  }

  /** Frees the index at once. Closing a closed index does nothing; every other method throws ERR_KVIDX_CLOSED. */
  close(): void {
    if (typeof this !== 'object' || this === null || !(#core in this)) {
      throw invalidArgType('this', 'a KvIndex', this);
    }
    this.#core?.close();
    this.#core = undefined;
  }

  /** As `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
