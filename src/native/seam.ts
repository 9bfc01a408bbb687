/** Raised with every change of this file; a binary that was built for another number is not used. */
export const SEAM_VERSION = 5;

/**
 * The one seam between TypeScript and the backends. The addon (`native/binding`) and the reference backend
 * (`src/reference`) both implement `Seam`; everything above calls only what is declared here.
 *
 * Values that cross have been checked by the caller: arrays are attached, unshared and of the declared dtype, numbers
 * are in range. The addon checks dtypes and lengths once more, so that a mistake above it is an exception and never a
 * crash. Arrays passed in are read during the call and not kept; `out` arrays are written by the call.
 */
export interface Seam extends HashSeam, TraceSeam, SketchSeam, EventSeam {
  readonly name: 'native' | 'wasm';
  /** Instruction set in use, that of the last of `bloomPaths`: `scalar`, `avx2`, `avx512`, or `wasm`. */
  readonly isa: string;
  createIndex(options: CoreIndexOptions): CoreIndex;
  createApcCounter(capacities: Float64Array): CoreApcCounter;
}

// ---------------------------------------------------------------------------------------------------------- hashing

/** Extra keys of some blocks, flattened: key i belongs to block `blocks[i]`; sorted by block, then by key. */
export interface FlatExtraKeys {
  readonly blocks: Uint32Array;
  readonly keys: BigUint64Array;
}

/** One way to hash blocks, for one instruction set. All give equal hashes. */
export interface HashPath {
  /** `scalar`, `avx512`, or `wasm`. */
  readonly isa: string;
  /** `out[i]` = local hash of block i, for ⌊tokens.length / blockSize⌋ blocks; `out` has exactly that length. */
  localHashes(
    tokens: Uint32Array,
    blockSize: number,
    extra: FlatExtraKeys | undefined,
    out: BigUint64Array,
  ): void;
  /** `out[i]` = seq hash of block i, chained from `parent` (a namespace root or a previous seq hash). */
  seqHashes(
    tokens: Uint32Array,
    blockSize: number,
    parent: bigint,
    extra: FlatExtraKeys | undefined,
    out: BigUint64Array,
  ): void;
  /**
   * `seqHashes` of each prompt, from `parents[i]` into `outs[i]`, their chains interleaved. `extras`: an element a prompt, or
   * absent when none has extra keys.
   */
  seqHashesMany(
    prompts: readonly Uint32Array[],
    blockSize: number,
    parents: BigUint64Array,
    extras: readonly (FlatExtraKeys | undefined)[] | undefined,
    outs: readonly BigUint64Array[],
  ): void;
}

/** The seam's own hashing is that of the last path. */
export interface HashSeam extends Omit<HashPath, 'isa'> {
  /** Those that this machine can run and `KVIDX_ISA` allows, the fastest last. */
  readonly hashPaths: readonly HashPath[];
  /** XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) of bytes. */
  xxh64(bytes: Uint8Array, seed: bigint): bigint;
  /** `out[i]` = XXH64(u64le(locals[i]), out[i − 1]), starting from `parent`; same length as `locals`. */
  chainHashes(locals: BigUint64Array, parent: bigint, out: BigUint64Array): void;
}

// ------------------------------------------------------------------------------------------------------------ index

export interface CoreIndexOptions {
  /** Sessions that may own blocks at once; the least recently owning one ends beyond it. 0: no bound. */
  readonly maxSessions: number;
  /** Known blocks of the whole index; beyond it those named longest ago go. 0: no bound. */
  readonly maxBlocks: number;
  /** Evicted (slot, block) pairs that `evictedBy` remembers, the latest ones. 0: none. */
  readonly evictedHistory: number;
}

/** Places in the `result` array of the feeding calls. */
export const RESULT = {
  applied: 0,
  duplicate: 1,
  unknown: 2,
  orphaned: 3,
  rejected: 4,
  firstBad: 5,
  ended: 6,
  evicted: 7,
} as const;
/** Length of a `result` array. */
export const RESULT_LENGTH = 8;

/** What a call that may be refused answers. Anything but `ok` has changed nothing. */
export const STATUS = {
  ok: 0,
  /** That life of the slot is over. */
  unknownWorker: 1,
  /** A bounded slot takes chains from the root alone. */
  parentOnBounded: 2,
  /** Only an empty slot becomes bounded or reference-counted. */
  notEmpty: 3,
  /** A slot is bounded or reference-counted, never both. */
  otherMode: 4,
  /** More blocks are pinned than the bound would allow. */
  pinned: 5,
} as const;

/** How a slot keeps its blocks. */
export const SLOT_MODE = { plain: 0, bounded: 1, counted: 2 } as const;

/** Places in the array that `slotFigures` fills. */
export const SLOT_FIGURE = {
  mode: 0,
  /** 0 unless bounded. */
  capacity: 1,
  /** 0: none. */
  ttlMs: 2,
  residentBlocks: 3,
  /** `nowMs` of the last accepted store or full report; −1: none. */
  lastStoreMs: 4,
  /** Blocks with at least one pin. */
  pinnedBlocks: 5,
  evictedByCapacity: 6,
  evictedByBound: 7,
  expired: 8,
  /** 1: `maxBlocks` took blocks from this slot, or refused it some, though it is not bounded itself. */
  degraded: 9,
} as const;
export const SLOT_FIGURES_LENGTH = 10;

/** Why a block was evicted. */
export const CAUSE = { none: 0, capacity: 1, bound: 2, ttl: 3 } as const;

/** Kind of a chain's `parent` in `replace`. */
export const PARENT = { root: 0, hash: 1, unknown: 2 } as const;

/** Mode of an overlap query. */
export const MODE = { prefix: 0, set: 1 } as const;

export interface CoreStats {
  /** Known blocks: resident somewhere or owned by somebody. */
  blocks: number;
  runs: number;
  /** Σ over runs of the slots that hold some of it. */
  runHolders: number;
  slots: number;
  sessions: number;
  /** Bytes that the present content needs, ownership included. */
  usedBytes: number;
  /** Bytes taken from the allocator, ownership included. */
  reservedBytes: number;
  /** The part of reservedBytes that sessions cost. */
  ownershipBytes: number;
  duplicates: number;
  unknownRemoves: number;
  rejected: number;
  orphans: number;
  /** (slot, block) pairs evicted by their slot's capacity. */
  evictedByCapacity: number;
  /** Known blocks evicted by `maxBlocks`, each once. */
  evictedByBound: number;
  /** (slot, block) pairs that outlived their slot's ttl. */
  expired: number;
}

/**
 * One index. Slots are small integers; every feeding call names a slot and its incarnation and answers `false` (or −1)
 * when that life of the slot is over. Sessions are non-zero integers handed out by `own`; a number is free again once
 * its session ended.
 */
export interface CoreIndex {
  /** Highest live slot + 1: the length of every output indexed by slot. */
  slotCount(): number;
  addSlot(): number;
  incarnation(slot: number): number;
  removeSlot(slot: number, incarnation: number): boolean;
  /**
   * Makes an empty slot an LRU estimate of at most `blocks` ≥ 1 blocks, or changes the bound of a bounded one, which
   * evicts at once. `ttlMs` > 0: see `expire`; 0: none. result: evicted. Answers a STATUS: notEmpty, otherMode, pinned.
   */
  setCapacity(slot: number, incarnation: number, blocks: number, ttlMs: number, result: Float64Array): number;
  /** From now on the empty slot counts the copies of each block. Answers a STATUS: notEmpty, otherMode. */
  countReferences(slot: number, incarnation: number): number;
  /** out: `Float64Array[SLOT_FIGURES_LENGTH]`, see SLOT_FIGURE. */
  slotFigures(slot: number, out: Float64Array): void;

  /*
   * Bounds. Every accepted store, refresh, chain of a replace and own has a tick of its own and stamps (tick, position in
   * the call) on each block it names; reads stamp nothing. After each call first the slot's capacity is enforced, then
   * `maxBlocks`: the oldest tick goes first, within a tick the later position, pinned blocks stay. Of the blocks that have
   * to go, those that the call itself made resident (owned) are counted `rejected`, firstBad being the first of them in
   * the call, all others `evicted`.
   */

  /**
   * `parent`: `undefined` = seq[0] is a first block, `null` = unknown, else the hash before seq[0].
   * result: applied (newly resident here, and still there at the end), duplicate (on a slot that counts references each
   * becomes one copy more), orphaned, rejected, firstBad (−1: none), evicted. Answers a STATUS: parentOnBounded.
   */
  store(
    slot: number,
    incarnation: number,
    seq: BigUint64Array,
    parent: bigint | null | undefined,
    nowMs: number,
    result: Float64Array,
  ): number;
  /** Stamps the blocks that are resident here. result: applied (stamped), unknown (the rest), firstBad. */
  refresh(
    slot: number,
    incarnation: number,
    seq: BigUint64Array,
    nowMs: number,
    result: Float64Array,
  ): boolean;
  /**
   * A full report: the slot's residency becomes exactly these chains, one copy of each block. Chain i is the next
   * `lengths[i]` hashes of `seq`, behind `parents[i]` where `kinds[i]` is PARENT.hash. result: applied (newly resident),
   * orphaned, rejected (a chain that contradicts what is known is left out), firstBad (the first such chain), evicted.
   * Answers a STATUS: parentOnBounded.
   */
  replace(
    slot: number,
    incarnation: number,
    seq: BigUint64Array,
    lengths: Uint32Array,
    kinds: Uint8Array,
    parents: BigUint64Array,
    nowMs: number,
    result: Float64Array,
  ): number;
  /** One pin more on each resident block. result: applied, unknown (not resident), firstBad. */
  pin(slot: number, incarnation: number, seq: BigUint64Array, result: Float64Array): boolean;
  /** One pin less. result: applied, unknown (no pin there), firstBad. */
  unpin(slot: number, incarnation: number, seq: BigUint64Array, result: Float64Array): boolean;
  /** Every slot with a ttl loses the unpinned blocks whose last stamp there is `ttlMs` old or older; how many. */
  expire(nowMs: number): number;
  /** result: applied (copies taken away; a slot that does not count references has one of each), unknown, firstBad. */
  remove(slot: number, incarnation: number, seq: BigUint64Array, result: Float64Array): boolean;
  /** Blocks that were resident, or −1. */
  clear(slot: number, incarnation: number): number;

  /**
   * `session` 0 opens a new one. Answers the session's number, 0 when it owns nothing (empty or rejected call by an
   * unknown session). result: applied (newly owned), duplicate (owned before), rejected, firstBad, ended (the session
   * that `maxSessions` ended, 0: none), evicted.
   */
  own(session: number, seq: BigUint64Array, nowMs: number, result: Float64Array): number;
  /** Blocks that were owned. */
  endSession(session: number): number;
  /** Ends every session whose last `own` was at `cutoffMs` or earlier; answers their numbers, ascending. */
  endIdleSessions(cutoffMs: number): Uint32Array;

  /** out: `Uint32Array[slotCount]`. */
  overlap(seq: BigUint64Array, mode: number, out: Uint32Array): void;
  /**
   * `overlap` of each request: row k of `out` (`Uint32Array[requests.length × slotCount]`) is what it would fill for
   * `requests[k]`. `requests` is a plain array, none of whose elements is a getter.
   */
  overlapMany(requests: readonly BigUint64Array[], mode: number, out: Uint32Array): void;
  /** `session` 0: a session that owns nothing. */
  exclusiveOverlap(
    session: number,
    seq: BigUint64Array,
    mode: number,
    maxOwners: number,
    out: Uint32Array,
  ): void;
  /** out: `Float64Array[slotCount]`, in units of 2^−20 block. */
  fairOverlap(seq: BigUint64Array, out: Float64Array): void;
  /**
   * Of the first `lengths[w]` blocks of `seq`, those that `exclusiveOverlap` would count where they are all resident;
   * out: `Uint32Array[lengths.length]`. Lengths beyond `seq` are an error.
   */
  exclusiveWithin(
    session: number,
    seq: BigUint64Array,
    maxOwners: number,
    lengths: Uint32Array,
    out: Uint32Array,
  ): void;
  /** As `exclusiveWithin`, what `fairOverlap` would count: `Float64Array[lengths.length]`, in units of 2^−20 block. */
  fairWithin(seq: BigUint64Array, lengths: Uint32Array, out: Float64Array): void;
  /**
   * Hash and query in one crossing (prefix mode). A backend may compare only the last hash of blocks that it holds in one
   * piece, since these hashes are chained: where it equals, so do those before it. That holds of blocks that were stored
   * under hashes of this scheme, each behind its own predecessor. `seqOut` (`BigUint64Array[⌊n / blockSize⌋]`) and the outputs that
   * are not wanted are `undefined`.
   */
  lookupTokens(
    tokens: Uint32Array,
    blockSize: number,
    root: bigint,
    extra: FlatExtraKeys | undefined,
    session: number,
    maxOwners: number,
    seqOut: BigUint64Array,
    overlapOut: Uint32Array,
    exclusiveOut: Uint32Array | undefined,
    fairOut: Float64Array | undefined,
  ): void;
  /** Is the block known (resident somewhere or owned)? */
  contains(hash: bigint): boolean;

  /** Why the slot lost the block, if that is remembered and it has not held it since: a CAUSE. */
  evictedBy(slot: number, hash: bigint): number;

  /** Resident hashes of a slot, ascending where `sorted`, else in whatever order they lie. */
  enumerate(slot: number, sorted: boolean): BigUint64Array;
  /** Resident hashes of a slot whose one owner is this session, ascending. `session` 0: none. */
  enumerateExclusive(slot: number, session: number): BigUint64Array;
  /** Live sessions' numbers, least recently owning first. */
  sessionNumbers(): Uint32Array;
  /** Numbers of live slots, ascending. */
  slotNumbers(): Uint32Array;
  stats(): CoreStats;

  /** Names that one rank of an engine has for its blocks; `countsCopies`: see CoreEngineNames. */
  createEngineNames(countsCopies: boolean): CoreEngineNames;

  snapshot(): Uint8Array;
  /**
   * Replaces the whole state. Answers '' or the name of the first bad section (state unchanged). Slots and sessions
   * keep their numbers; every incarnation is raised, so handles of before are stale. Pins are not saved, nor is what
   * `evictedBy` knows. `maxBlocks` is that of this index, and is enforced.
   */
  restore(bytes: Uint8Array): string;
  compact(): void;
  /** '' or the first broken invariant. */
  validate(): string;
  dump(): string;
  /** Frees everything; no other call may follow. */
  close(): void;
}

// ------------------------------------------------------------------------------------------------------------ trace

/**
 * Counts prefix hits of a trace, request by request, in an unbounded cache, and for each capacity in an LRU cache of
 * that many blocks (capacities ascending).
 */
export interface CoreApcCounter {
  /**
   * Counts one request, whose block ids are chained from its first. `session` 0: the request has no session.
   * hits: `Uint32Array[2 + capacities]`: leading blocks seen before by anybody, seen before by this session (0
   * without a session), then leading blocks still cached at each capacity.
   */
  add(session: number, ids: BigUint64Array, hits: Uint32Array): void;
  /** Different blocks seen so far. */
  uniqueBlocks(): number;
  close(): void;
}

/** Places in the `row` array of `scanTraceRow`. */
export const ROW = { ids: 0, arrayStart: 1, arrayEnd: 2, errorAt: 3 } as const;
export const ROW_LENGTH = 4;

export interface TraceSeam {
  /**
   * Finds the top-level member `hash_ids` of the JSON object in `bytes[start, end)` and reads its integers, exactly,
   * as u64 (negative ones in two's complement) into `ids`. row: the number of ids (also when it is larger than
   * `ids.length`: call again with more room; −1: no such member; −2: not an array of integers in −2^63 … 2^64 − 1;
   * −3: the line is no JSON object as far as the scan reaches; −4: the member stands twice), the byte range of the
   * array within `bytes` (brackets included), and where an error was seen.
   */
  scanTraceRow(bytes: Uint8Array, start: number, end: number, ids: BigUint64Array, row: Int32Array): void;
}

// ----------------------------------------------------------------------------------------------------------- sketch

/**
 * Split-block Bloom filters (github.com/apache/parquet-format, BloomFilter.md). A filter is `Uint32Array[8 z]`, z ≥ 1
 * blocks of 256 bits; a key is hashed as XXH64 of its 8 little-endian bytes, seed 0. All paths give equal answers.
 */
export interface BloomPath {
  /** `scalar`, `avx2`, `avx512`, or `wasm`. */
  readonly isa: string;
  add(words: Uint32Array, keys: BigUint64Array): void;
  /** How many keys test positive. out, where it is wanted: `Uint8Array[keys.length]`, 1 for each that does. */
  test(words: Uint32Array, keys: BigUint64Array, out: Uint8Array | undefined): number;
  /** How many keys test positive before the first that does not. */
  leading(words: Uint32Array, keys: BigUint64Array): number;
}

/** Places in the `fields` array of `readFrame`. Byte ranges are offsets into the frame. */
export const FRAME = {
  kind: 0,
  epoch: 1,
  sequence: 2,
  timestampMs: 3,
  keys: 4,
  targetFpp: 5,
  scheme: 6,
  blockSize: 7,
  /** Blocks of the filter. */
  z: 8,
  workerBegin: 9,
  workerEnd: 10,
  sessionBegin: 11,
  sessionEnd: 12,
  /** The bitset of a full frame, the (index, block) pairs of a delta; empty for a clear. */
  payloadBegin: 13,
  payloadEnd: 14,
} as const;
export const FRAME_FIELDS = 15;

export const FRAME_KIND = { full: 1, delta: 2, clear: 3 } as const;

/**
 * What is wrong with a frame, the first thing in this order; `ok`: nothing. The lengths of the parts behind z are believed
 * only when all up to z is right.
 */
export const FRAME_FAULT = {
  ok: 0,
  /** It ends before z does, or before the part that its own lengths ask for. */
  truncated: 1,
  magic: 2,
  version: 3,
  kind: 4,
  /** Flags that version 1 does not know. */
  flags: 5,
  /** epoch, sequence, timestamp or keys beyond 2^53 − 1. */
  number: 6,
  /** targetFpp is not above 0 and below 1. */
  targetFpp: 7,
  /** Block size 0. */
  blockSize: 8,
  /** No blocks (a clear may have none), or more than allowed. */
  z: 9,
  /** The worker's name is empty, or a name is not UTF-8. */
  name: 10,
  /** A delta whose indices do not rise, or are not below z. */
  delta: 11,
  /** Bytes behind its end. */
  tooLong: 12,
  checksum: 13,
} as const;

export interface SketchSeam {
  /** Those that this machine can run and `KVIDX_ISA` allows, the fastest last. */
  readonly bloomPaths: readonly BloomPath[];
  /**
   * Reads a sketch frame and checks all of it but the meaning of scheme and block size; nothing of its size is taken from
   * memory. `maxBlocks`: the largest z. fields: `Float64Array[FRAME_FIELDS]`, written only when the answer is `ok`.
   * Answers a FRAME_FAULT.
   */
  readFrame(bytes: Uint8Array, maxBlocks: number, fields: Float64Array): number;
}

// ----------------------------------------------------------------------------------------------------------- events

/*
 * A message is read into one piece of memory and applied from there: an array that crosses costs as much as reading a
 * small event. `EventMemory` (event-memory.ts) has views of its parts.
 *
 *   head     HEAD_BYTES: what a call takes and answers, see HEAD
 *   hashes   u64[HEAD.hashRoom]: names of blocks, and of parents
 *   rows     i32[HEAD.eventRoom × EVENT_PLACES], see EVENT
 *   tokens   u32[HEAD.tokenRoom]
 */

/** Bytes of the head, and where its parts begin. i32 but where told. */
export const HEAD_BYTES = 136;
export const HEAD = {
  /** f64, by `readEvents`: time of the message in seconds, as sent. */
  time: 0,
  /** f64, for `apply`. */
  nowMs: 8,
  /** u64, for `apply`: the hash before a first block. */
  root: 16,
  /** By `readEvents`: the rank (−1: none was sent), and how many events, hashes and tokens there are, also without room. */
  rank: 24,
  events: 28,
  hashes: 32,
  tokens: 36,
  /** Of the memory: how many fit into it. */
  eventRoom: 40,
  hashRoom: 44,
  tokenRoom: 48,
  /** For `apply`: the events, and tokens a block. */
  first: 52,
  end: 56,
  blockSize: 60,
  /** u32[2 × TIER_COUNT], for `apply`: slot and incarnation (0: no such slot) of each tier. */
  slots: 64,
  /** i32[APPLIED_LENGTH], by `apply`. */
  applied: 96,
} as const;

/** Places of an event in `rows`. Byte ranges are offsets into the payload. */
export const EVENT = {
  /** Of EVENT_KIND. */
  kind: 0,
  /** The event's own bytes. */
  begin: 1,
  end: 2,
  /** How many blocks it names, and where in `hashes` the first name lies. */
  blocks: 3,
  hashAt: 4,
  /** Where in `hashes` the parent's name lies; −1: none was sent. */
  parentAt: 5,
  /** How many token ids it has (blocks × blockSize, or 0: none were sent), and where in `tokens` they begin. */
  tokens: 6,
  tokenAt: 7,
  /** As sent; 0: none. */
  blockSize: 8,
  /** The medium's text; both 0: none was sent. */
  mediumBegin: 9,
  mediumEnd: 10,
  /** group_idx; −1: none was sent. */
  group: 11,
  /** The text of kv_cache_spec_kind; both 0: none was sent. */
  specBegin: 12,
  specEnd: 13,
  /** Not written by `readEvents`: the tier that `apply` takes the event to, −1: none. */
  tier: 14,
} as const;
export const EVENT_PLACES = 15;

/** `odd`: an event that only the general decoder reads; of its places just kind, begin and end are written. */
export const EVENT_KIND = { odd: 0, stored: 1, removed: 2, cleared: 3 } as const;

export interface EventSeam {
  /**
   * Reads a message of KV events in its usual forms (msgpack: an array of time, events and rank; events as arrays or maps
   * of vLLM's names) in one pass. What has no room in the memory is counted and not written: call again with more.
   * Answers false, with nothing to be read, for any other payload: a malformed one, or one that only the general decoder
   * (`decodeEventBatch`) reads.
   *
   * An event that is not `odd` means exactly what the general decoder makes of it, with lora_id, lora_name, cache_salt
   * and all extra keys absent.
   */
  readEvents(payload: Uint8Array, memory: Uint8Array): boolean;
}

export const TIER_COUNT = 4;

/** What `CoreEngineNames.apply` did, in blocks; each at most 2^31 − 1. */
export const APPLIED = {
  /** Newly resident in their tier. */
  stored: 0,
  /** Told again. */
  duplicate: 1,
  /** Of `stored`, those without a resident path to the root. */
  orphaned: 2,
  /** Stores that contradict what is known, or that found no room. */
  rejected: 3,
  evicted: 4,
  /** Stored without tokens under a name that is neither known nor departed lately. */
  unresolved: 5,
  removed: 6,
  /** Removed under a name that is not known in that tier, or no longer resident there. */
  unknown: 7,
  /** Went with a clear. */
  cleared: 8,
} as const;
export const APPLIED_LENGTH = 9;

/** Seed of XXH64 over the u64le name of a parent that is not known: the hash that the chain behind it starts from. */
export const ORPHAN_SEED = 0x6b76_6f72_7068_616en;

/** How many departures of names are remembered, with what the names meant. */
export const DEPARTED_NAMES = 4096;

/**
 * What one rank of an engine calls its blocks: name → seq hash, and how many copies of it each tier holds. The name of a
 * block goes with its last copy. Without `countsCopies` a block told again in a tier is one copy all the same; with it,
 * it is one copy more. Different names may mean one seq hash.
 *
 * Engines speak of blocks whose removal they have told: vLLM appends what a connector stored behind the removals of the
 * cache. So the last DEPARTED_NAMES names that a `removed` took the last copy of are remembered with their seq hashes,
 * and a parent or a store without token ids that names one means that. A name that is known means what it means now.
 *
 * Where the index itself let blocks go (`maxBlocks`, calls from elsewhere), their names stay until there are more than
 * 2 × the resident blocks of the rank's slots + 4096 + those that the last time left of them at the end of a call: then
 * those go that name no block that is resident on the slot of some tier which has a copy.
 */
export interface CoreEngineNames {
  /**
   * Applies events `first … end − 1` of the memory in order; `odd` ones and those with tier −1 are left out.
   *
   * stored: the first block follows the one that `parentAt` names, or `root` where there is none. A parent that is neither
   * known nor departed lately: the chain starts from XXH64(u64le(name), ORPHAN_SEED) with an unknown predecessor. Token ids
   * are hashed in blocks of `blockSize`, with `extra` (only where end − first = 1). A name that means another seq hash so
   * far loses that, with all its copies in all tiers, before anything is stored. Then a name loses the copies in the
   * event's tier where its block is not resident on the tier's slot (any more). Blocks that the tier has a copy of are
   * `duplicate`, the others go to the index in as few `store` calls as there are gaps between them; of such a call that is
   * rejected as a whole no name is kept. A name that stands in the event twice keeps its first place; the other block is
   * taken out again and counted rejected. Without token ids: each block whose name is known or departed lately is stored
   * by itself with an unknown predecessor, copies of what is not resident being none here too.
   * removed: one copy less of each in that tier. cleared: all blocks of all tiers, and all names and departures.
   *
   * Answers a STATUS: unknownWorker (one of the slots; nothing was applied) or ok. A tier whose slot is missing, and counts
   * that do not fit the memory, are an error.
   */
  apply(memory: Uint8Array, extra: FlatExtraKeys | undefined): number;
  /** Names known. */
  size(): number;
  /** Departures included. */
  usedBytes(): number;
  /** All names, ascending: names and seq hashes `BigUint64Array[n]`, copies `Uint16Array[n * TIER_COUNT]`. */
  entries(): EngineNameEntries;
  /** Replaces all names; no departure is remembered. */
  load(entries: EngineNameEntries): void;
}

export interface EngineNameEntries {
  readonly names: BigUint64Array;
  readonly seqs: BigUint64Array;
  readonly copies: Uint16Array;
}
