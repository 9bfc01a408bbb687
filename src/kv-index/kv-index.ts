/// <reference lib="esnext.disposable" preserve="true" />

import { invalidArgType, KvidxError } from '../errors.js';
import { type CoreIndex, RESULT, SLOT_FIGURE, STATUS } from '../native/seam.js';
import {
  checkAnswers,
  checkBoolean,
  checkBytes,
  checkHash,
  checkHashes,
  checkHashLists,
  checkInteger,
  checkLengths,
  checkOptions,
  checkOut,
  checkTime,
} from '../validate.js';
import type { EngineFeeds } from './engine-feeds.js';
import { type ExplainOptions, type ExplainQuery, type Explanation, explainQuery } from './explain.js';
import {
  type FeedCall,
  type FeedResult,
  isComplete,
  places,
  RejectedError,
  readResult,
} from './feed-result.js';
import { firstWithParent, flattenReport } from './full-report.js';
import { lookUpTokens, readLookupOptions } from './lookup-tokens.js';
import { NamespaceLog } from './namespace-log.js';
import {
  checkIndexOptions,
  checkMode,
  createCore,
  type IndexSettings,
  MAX_U32,
  readFeedOptions,
  readStoreOptions,
  readStrict,
} from './options.js';
import { checkSessionName, SessionTable } from './sessions.js';
import { restoreParts, saveParts } from './snapshot.js';
import type {
  EnumerateOptions,
  ExclusiveOverlapOptions,
  ExclusiveWithinOptions,
  FairOverlapOptions,
  FairWithinOptions,
  FeedOptions,
  IndexStats,
  KvIndexOptions,
  LookupOptions,
  LookupResult,
  OverlapManyOptions,
  OverlapOptions,
  OwnOptions,
  RemoveOptions,
  ReportedChain,
  SetCapacityOptions,
  StoreOptions,
  StrictOptions,
} from './types.js';
import {
  applyMode,
  checkCapacity,
  checkSetCapacityOptions,
  parentOnBounded,
  setCapacity,
} from './worker-modes.js';
import { pinsFillABound, readWorkerStats, slotFigure } from './worker-stats.js';
import {
  checkWorkerName,
  checkWorkerOptions,
  type LiveWorker,
  WorkerHandle,
  type WorkerOptions,
  WorkerTable,
} from './workers.js';

/** What rooms that feed an index need of it beyond its public face. */
export interface OpenIndex {
  readonly core: CoreIndex;
  readonly settings: IndexSettings;
  readonly namespaces: NamespaceLog;
  readonly feeds: EngineFeeds;
  /** ERR_KVIDX_UNKNOWN_WORKER: a stale handle. */
  readonly incarnationOf: (worker: WorkerHandle) => number;
}

/** ERR_KVIDX_CLOSED, ERR_KVIDX_INVALID_ARG_TYPE (no KvIndex). The core is another one after `restore`. */
export let openIndex: (index: KvIndex) => OpenIndex;

/**
 * Which worker holds how much of a prompt's KV cache, and how much of that belongs to one session alone.
 *
 * Feed it residency (`store`, `remove`, `replace`, `clear`) and ownership (`own`); ask it for overlaps. Hashes are seq
 * hashes of full blocks (`BlockHasher`, `SessionHasher`, `lookupTokens`); the query of a request comes before its own
 * `own`. Arrays are read during the call and not kept. Every method throws ERR_KVIDX_CLOSED on a closed index,
 * ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE on a wrong argument, and changes nothing then.
 *
 * Where a worker has a capacity, or the index `maxBlocks`, these hold after every call: what was named longest ago goes
 * (by store, own, refresh or a full report; queries name nothing), a prompt's tail before its head, never a pinned block.
 *
 * Options and reports are read before anything else: a getter among them may run any code, also on this index.
 */
export class KvIndex {
  readonly #settings: IndexSettings;
  readonly #namespaces = new NamespaceLog();
  readonly #feeds: EngineFeeds = new WeakMap();
  #core: CoreIndex | undefined;
  /** The core's, kept here because every query needs it. */
  #slotCount = 0;
  #membership = 0;
  #workers = new WorkerTable();
  #sessions = new SessionTable();

  static {
    openIndex = (index) => ({
      core: KvIndex.#open(index),
      settings: index.#settings,
      namespaces: index.#namespaces,
      feeds: index.#feeds,
      incarnationOf: (worker) => index.#workers.incarnationOf(worker),
    });
  }

  constructor(options?: KvIndexOptions) {
    this.#settings = checkIndexOptions(options);
    this.#core = createCore(this.#settings);
  }

  /** The core of an open index; every method starts here. */
  static #open(index: KvIndex): CoreIndex {
    const core = KvIndex.#own(index).#core;
    if (core === undefined) throw new KvidxError('ERR_KVIDX_CLOSED', 'this KvIndex is closed');
    return core;
  }

  /** Refuses a foreign `this`. */
  static #own(index: KvIndex): KvIndex {
    if (typeof index !== 'object' || index === null || !(#core in index)) {
      throw invalidArgType('this', 'a KvIndex', index);
    }
    return index;
  }

  /** The life of a worker that a handle stands for, in an open index; every method that takes a handle starts here. */
  static #live(index: KvIndex, worker: WorkerHandle): LiveWorker {
    return { core: KvIndex.#open(index), worker, incarnation: index.#workers.incarnationOf(worker) };
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

  /** Rises whenever a worker joins or leaves, and at `restore`: who keeps slots in a table of their own looks at it. */
  get membership(): number {
    KvIndex.#open(this);
    return this.#membership;
  }

  /**
   * The handle of (name, dpRank, tier): the present one when it is live, else a new, empty life of it. A live worker
   * keeps what it is where options are omitted, and is given a `capacity` or `ttlMs` that is not (a lower one evicts).
   * ERR_KVIDX_CAPACITY: the options contradict what the live worker is.
   */
  addWorker(name: string, options?: WorkerOptions): WorkerHandle {
    const { dpRank, tier, mode } = checkWorkerOptions(checkOptions(options));
    const core = KvIndex.#open(this);
    checkWorkerName(name);
    const present = this.#workers.find(name, dpRank, tier);
    if (present) {
      applyMode(KvIndex.#live(this, present), mode);
      return present;
    }
    const slot = core.addSlot();
    const worker = new WorkerHandle(name, dpRank, tier, slot);
    const incarnation = core.incarnation(slot);
    try {
      applyMode({ core, worker, incarnation }, mode);
    } catch (error) {
      core.removeSlot(slot, incarnation);
      throw error;
    }
    this.#slotCount = core.slotCount();
    this.#membership += 1;
    this.#workers.add(worker, incarnation);
    return worker;
  }

  /**
   * The worker, which must be empty or bounded already, holds at most `blocks` blocks from now on (1 … 2^32 − 1): see
   * `capacity` of `addWorker`. Answers the blocks that were evicted at once. ERR_KVIDX_CAPACITY: it holds blocks without
   * a capacity, counts references, or has more blocks pinned. ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  setCapacity(worker: WorkerHandle, blocks: number, options?: SetCapacityOptions): number {
    const ttlMs = checkSetCapacityOptions(options);
    return setCapacity(KvIndex.#live(this, worker), checkCapacity('blocks', blocks), ttlMs);
  }

  /**
   * Ends one worker, or all ranks and tiers of a name: its blocks and all it left behind go, its handles are stale.
   * ERR_KVIDX_UNKNOWN_WORKER: a stale handle, or a name that no live worker has.
   */
  removeWorker(worker: WorkerHandle | string): void {
    const core = KvIndex.#open(this);
    for (const handle of this.#workers.resolve(worker)) {
      core.removeSlot(handle.slot, this.#workers.incarnationOf(handle));
      this.#workers.delete(handle);
    }
    this.#slotCount = core.slotCount();
    this.#membership += 1;
  }

  /** Live workers by slot, ascending. */
  workers(): WorkerHandle[] {
    KvIndex.#open(this);
    return this.#workers.handles();
  }

  // -------------------------------------------------------------------------------------------------- residency

  /**
   * The worker holds these consecutive blocks (`BigUint64Array[n]`), the first of which follows `parent`. Idempotent
   * but for recency, and for the copies of a worker that counts references. A call that contradicts a known predecessor,
   * or names a block twice, changes nothing and answers `rejected: n`; on a bounded worker, or with `maxBlocks`, new
   * blocks that find no room are `rejected` too. ERR_KVIDX_OUT_OF_RANGE: a `parent` on a bounded worker.
   * ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  store(worker: WorkerHandle, seqHashes: BigUint64Array, options?: StoreOptions): FeedResult {
    const { parent, nowMs, strict } = readStoreOptions(options);
    const { core, incarnation } = KvIndex.#live(this, worker);
    checkHashes(seqHashes, 'seqHashes');
    const status = core.store(worker.slot, incarnation, seqHashes, parent, nowMs, places);
    if (status === STATUS.parentOnBounded) throw parentOnBounded('parent', worker, parent ?? 'unknown');
    return this.#answer('store', strict, worker);
  }

  /**
   * A full report: the worker holds exactly the blocks of these chains, one copy of each. Ends a gap in its events, and
   * `degraded`. Blocks that stay keep their pins. A chain that contradicts what is known is left out (`rejected`).
   * ERR_KVIDX_OUT_OF_RANGE: a `parent` on a bounded worker. ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  replace(worker: WorkerHandle, chains: readonly ReportedChain[], options?: FeedOptions): FeedResult {
    const { nowMs, strict } = readFeedOptions(options);
    const report = flattenReport(chains);
    const { core, incarnation } = KvIndex.#live(this, worker);
    const { seq, lengths, kinds, parents } = report;
    const status = core.replace(worker.slot, incarnation, seq, lengths, kinds, parents, nowMs, places);
    if (status === STATUS.parentOnBounded) {
      const { chain, parent } = firstWithParent(report);
      throw parentOnBounded(`chains[${chain}].parent`, worker, parent);
    }
    return this.#answer('replace', strict, worker);
  }

  /**
   * The worker used these blocks (`BigUint64Array[n]`) again: they become the most recent ones, the first of them most.
   * Adds none; hashes that are not resident here are counted `unknown`. ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  refresh(worker: WorkerHandle, seqHashes: BigUint64Array, options?: FeedOptions): FeedResult {
    const { nowMs, strict } = readFeedOptions(options);
    const { core, incarnation } = KvIndex.#live(this, worker);
    checkHashes(seqHashes, 'seqHashes');
    core.refresh(worker.slot, incarnation, seqHashes, nowMs, places);
    return this.#answer('refresh', strict, worker);
  }

  /**
   * One pin more on each of these blocks (`BigUint64Array[n]`) on this worker: it is neither evicted nor expires until as
   * many `unpin` calls, or until it leaves the worker otherwise. Only resident blocks can be pinned, the others are counted
   * `unknown`: unpin just what was pinned, or a request may take the pin of another. ERR_KVIDX_UNKNOWN_WORKER: a stale
   * handle.
   */
  pin(worker: WorkerHandle, seqHashes: BigUint64Array, options?: StrictOptions): FeedResult {
    const strict = readStrict(options);
    const { core, incarnation } = KvIndex.#live(this, worker);
    core.pin(worker.slot, incarnation, checkHashes(seqHashes, 'seqHashes'), places);
    return this.#answer('pin', strict, worker);
  }

  /** One pin less on each of these blocks; those without one are counted `unknown`. Errors as `pin`. */
  unpin(worker: WorkerHandle, seqHashes: BigUint64Array, options?: StrictOptions): FeedResult {
    const strict = readStrict(options);
    const { core, incarnation } = KvIndex.#live(this, worker);
    core.unpin(worker.slot, incarnation, checkHashes(seqHashes, 'seqHashes'), places);
    return this.#answer('unpin', strict, worker);
  }

  /**
   * Workers with a `ttlMs` lose the unpinned blocks that were last named so long before `nowMs` (default `Date.now()`);
   * answers how many. Until then such blocks count: call it from a timer, or before a query.
   */
  expire(nowMs: number = Date.now()): number {
    return KvIndex.#open(this).expire(checkTime('nowMs', nowMs));
  }

  /**
   * The worker no longer holds these blocks (`BigUint64Array[n]`); other workers keep theirs, and blocks behind a
   * removed one stay resident. Takes one copy of each where the worker counts references. Hashes that were not resident
   * here are counted `unknown`. ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  remove(worker: WorkerHandle, seqHashes: BigUint64Array, options?: RemoveOptions): FeedResult {
    const strict = readStrict(options);
    const { core, incarnation } = KvIndex.#live(this, worker);
    core.remove(worker.slot, incarnation, checkHashes(seqHashes, 'seqHashes'), places);
    return this.#answer('remove', strict, worker);
  }

  /** What the feeding call did that just ended. */
  #answer(call: FeedCall, strict: boolean, worker?: WorkerHandle): FeedResult {
    const result = readResult();
    if (!strict || isComplete(result)) return result;
    const pinsFill = pinsFillABound(KvIndex.#open(this), worker, this.#settings.maxBlocks);
    throw new RejectedError(call, result, pinsFill);
  }

  /** The worker holds nothing any more. Answers the blocks it held. ERR_KVIDX_UNKNOWN_WORKER: a stale handle. */
  clear(worker: WorkerHandle): number {
    const { core, incarnation } = KvIndex.#live(this, worker);
    return core.clear(worker.slot, incarnation);
  }

  /** Is the block resident on some worker, or owned by some session? */
  contains(seqHash: bigint | number): boolean {
    return KvIndex.#open(this).contains(checkHash(seqHash, 'seqHash'));
  }

  /** The worker's blocks, ascending unless told otherwise, as a new `BigUint64Array`. ERR_KVIDX_UNKNOWN_WORKER: a stale handle. */
  enumerate(worker: WorkerHandle, options?: EnumerateOptions): BigUint64Array {
    const { sorted = true } = checkOptions(options);
    checkBoolean('sorted', sorted);
    return KvIndex.#live(this, worker).core.enumerate(worker.slot, sorted);
  }

  /**
   * The worker's blocks that this session owns and nobody else, ascending, as a new `BigUint64Array`.
   * ERR_KVIDX_UNKNOWN_WORKER: a stale handle.
   */
  enumerateExclusive(worker: WorkerHandle, session: string): BigUint64Array {
    const { core } = KvIndex.#live(this, worker);
    return core.enumerateExclusive(worker.slot, this.#sessions.numberOf(checkSessionName(session)));
  }

  /** Blocks that the worker holds. ERR_KVIDX_UNKNOWN_WORKER: a stale handle. */
  residentBlocks(worker: WorkerHandle): number {
    return slotFigure(KvIndex.#live(this, worker).core, worker.slot, SLOT_FIGURE.residentBlocks);
  }

  // -------------------------------------------------------------------------------------------------- ownership

  /**
   * The session owns these blocks (`BigUint64Array[n]`, from the first block of its prompt) until it ends. Blocks need
   * not be resident. A contradicting call changes nothing and answers `rejected: n`. With more than `maxSessions` the
   * least recently owning session ends; blocks that `maxBlocks` leaves no room for are `rejected`.
   */
  own(session: string, seqHashes: BigUint64Array, options?: OwnOptions): FeedResult {
    const { nowMs, strict } = readFeedOptions(options);
    const core = KvIndex.#open(this);
    const present = this.#sessions.numberOf(checkSessionName(session));
    checkHashes(seqHashes, 'seqHashes');
    const number = core.own(present, seqHashes, nowMs, places);
    const ended = places[RESULT.ended]!;
    if (ended !== 0) this.#sessions.delete(ended);
    if (present === 0 && number !== 0) this.#sessions.add(session, number);
    return this.#answer('own', strict);
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
   * `overlap` of many requests (`BigUint64Array[n]` each, which may be empty) in one call: `Uint32Array[requests.length ×
   * slotCount]`, a row a request. Faster than one by one in prefix mode, where prompts lie in short runs, or in one each; set
   * mode answers one by one. `out` must not share memory with the requests: the answers are undefined then.
   * ERR_KVIDX_LENGTH_MISMATCH: `out` of another length. ERR_KVIDX_OUT_OF_RANGE: more answers than an array can have.
   */
  overlapMany(requests: readonly BigUint64Array[], options?: OverlapManyOptions): Uint32Array {
    const { mode = 'prefix', out } = checkOptions(options);
    const list = checkHashLists(requests, 'requests');
    const core = KvIndex.#open(this);
    const answer = checkOut(out, Uint32Array, checkAnswers(list.length, this.#slotCount));
    core.overlapMany(list, checkMode(mode), answer);
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

  /**
   * Of the first `lengths[w]` blocks of the request (`BigUint64Array[n]`), those that `exclusiveOverlap` counts where all
   * are resident, for callers that know otherwise how far each worker's cache reaches: `Uint32Array[lengths.length]`.
   * Ownership alone counts; a block that the index does not know counts 0, and what is behind it counts all the same.
   * ERR_KVIDX_OUT_OF_RANGE: a length above n. ERR_KVIDX_LENGTH_MISMATCH: `out` of another length than `lengths`.
   */
  exclusiveWithin(
    session: string,
    seqHashes: BigUint64Array,
    lengths: Uint32Array,
    options?: ExclusiveWithinOptions,
  ): Uint32Array {
    const { maxOwners = 1, out } = checkOptions(options);
    const core = KvIndex.#open(this);
    const number = this.#sessions.numberOf(checkSessionName(session));
    checkLengths(lengths, checkHashes(seqHashes, 'seqHashes').length);
    checkInteger('maxOwners', maxOwners, 1, MAX_U32);
    const answer = checkOut(out, Uint32Array, lengths.length);
    core.exclusiveWithin(number, seqHashes, maxOwners, lengths, answer);
    return answer;
  }

  /**
   * What `fairOverlap` counts of the first `lengths[w]` blocks of the request (`BigUint64Array[n]`) where all are
   * resident: `Float64Array[lengths.length]`, in units of 1 / FAIR_UNIT block. A block that the index does not know counts
   * a whole one. Errors as `exclusiveWithin`.
   */
  fairWithin(seqHashes: BigUint64Array, lengths: Uint32Array, options?: FairWithinOptions): Float64Array {
    const { out } = checkOptions(options);
    const core = KvIndex.#open(this);
    checkLengths(lengths, checkHashes(seqHashes, 'seqHashes').length);
    const answer = checkOut(out, Float64Array, lengths.length);
    core.fairWithin(seqHashes, lengths, answer);
    return answer;
  }

  /**
   * Hashes a prompt (`Uint32Array[n]` or numbers) and asks for its overlaps, in one call. Answers as the queries by hash do
   * wherever blocks were stored under hashes of this package (`BlockHasher`, `SessionHasher`, `EventFeed`), each behind its
   * own predecessor. Not always where somebody stored hashes of another making among them: of blocks stored one behind the
   * other only the last hash is compared, which proves that those before it are equal too, as all are chained. A block that
   * was stored under its right hash behind a wrong one can make that wrong one count.
   */
  lookupTokens(tokens: Uint32Array | readonly number[], options?: LookupOptions): LookupResult {
    const chosen = readLookupOptions(options);
    const context = {
      core: KvIndex.#open(this),
      slotCount: () => this.#slotCount,
      sessions: this.#sessions,
      settings: this.#settings,
      namespaces: this.#namespaces,
    };
    return lookUpTokens(context, tokens, chosen);
  }

  /** Why a query finds what it finds: for every worker, and in one sentence when it finds nothing. */
  explain(query: ExplainQuery, options?: ExplainOptions): Explanation {
    const { nowMs = Date.now() } = checkOptions(options);
    const core = KvIndex.#open(this);
    checkTime('nowMs', nowMs);
    const context = {
      core,
      workers: this.#workers.handles(),
      settings: this.#settings,
      namespaces: this.#namespaces,
      feeds: this.#feeds,
      nowMs,
    };
    return explainQuery(context, query);
  }

  // ------------------------------------------------------------------------------------------------ whole index

  /** Exact counts, memory, evictions by cause, and what each worker is and holds. */
  stats(): IndexStats {
    const core = KvIndex.#open(this);
    const workers = this.#workers.handles().map((worker) => readWorkerStats(core, worker));
    return { ...core.stats(), workers };
  }

  /** The whole state with its names, without pins, as a new `Uint8Array`. */
  snapshot(): Uint8Array {
    const core = KvIndex.#open(this);
    return saveParts({ core, workers: this.#workers, sessions: this.#sessions }, this.#settings);
  }

  /**
   * Replaces the whole state by a snapshot's. All handles are stale afterwards: `addWorker` or `workers` give those of
   * the restored workers, with the modes, capacities and counts they were saved with. `maxSessions` and `maxBlocks` are
   * those of this index: the least recently owning sessions, and the blocks named longest ago, go beyond them. Nothing
   * is pinned, and no eviction remembered.
   * ERR_KVIDX_BAD_SNAPSHOT names the first bad section (damaged, contradicting another section, or of an index with
   * another block size or namespace); the state is unchanged then.
   */
  restore(bytes: Uint8Array): void {
    const before = KvIndex.#open(this);
    const { core, workers, sessions } = restoreParts(checkBytes(bytes), this.#settings);
    this.#core = core;
    this.#slotCount = core.slotCount();
    this.#membership += 1;
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

  /** Was it closed? */
  get closed(): boolean {
    return KvIndex.#own(this).#core === undefined;
  }

  /** Frees the index at once. Closing a closed index does nothing; every other method throws ERR_KVIDX_CLOSED. */
  close(): void {
    const index = KvIndex.#own(this);
    index.#core?.close();
    index.#core = undefined;
  }

  /** As `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
