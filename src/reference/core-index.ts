import {
  type CoreEngineNames,
  type CoreIndex,
  type CoreIndexOptions,
  type CoreStats,
  type FlatExtraKeys,
  type HashSeam,
  MODE,
  STATUS,
} from '../native/seam.js';
import { expireBlocks } from './bounds.js';
import { ReferenceEngineNames } from './engine-names.js';
import { clearResult } from './feed-result.js';
import { emptySlot, emptyState, type IndexState, type Slot } from './index-state.js';
import { describeState, findBrokenInvariant } from './inspect.js';
import { releaseAll } from './membership.js';
import { endIdleSessions, endSession, own } from './ownership.js';
import { pin, unpin } from './pins.js';
import {
  enumerateExclusive,
  exclusiveOverlap,
  exclusiveWithin,
  fairOverlap,
  fairWithin,
  overlap,
  overlapMany,
} from './queries.js';
import { replace, toldChains } from './report.js';
import { refresh, remove, store } from './residency.js';
import { restoredState } from './restore.js';
import { countReferences, fillFigures, setCapacity } from './slot-modes.js';
import { encodeSnapshot } from './snapshot-write.js';
import { readStats } from './stats.js';

/** The index as its definition says it: maps and sets. Oracle of the property tests and backend of last resort. */
export function createReferenceIndex(
  options: CoreIndexOptions,
  hasher: Pick<HashSeam, 'xxh64' | 'seqHashes'>,
): CoreIndex {
  return new ReferenceIndex(options, hasher);
}

/**
 * Costs: n blocks of a call, D depth of the call's first block, W slots. store O(n + D), remove, refresh, pin and own
 * O(n), replace O(n + D a chain + what the slot held), a block that a bound evicts O(1 + W) where nothing is pinned,
 * overlap O(n + the sum of what is counted + W), exclusive and fair within O(the longest length + the number of lengths),
 * stats O(all blocks) for the orphans.
 */
class ReferenceIndex implements CoreIndex {
  readonly #hasher: Pick<HashSeam, 'xxh64' | 'seqHashes'>;
  #state: IndexState;

  constructor(options: CoreIndexOptions, hasher: Pick<HashSeam, 'xxh64' | 'seqHashes'>) {
    const { maxSessions, maxBlocks, evictedHistory } = options;
    this.#state = emptyState({ maxSessions, maxBlocks, evictedHistory });
    this.#hasher = hasher;
  }

  // ------------------------------------------------------------------------------------------------------- slots

  slotCount(): number {
    return this.#state.slots.length;
  }

  addSlot(): number {
    const { slots, incarnations } = this.#state;
    const free = slots.findIndex((present) => !present);
    const slot = free >= 0 ? free : slots.length;
    slots[slot] = emptySlot();
    incarnations[slot] = (incarnations[slot] ?? 0) + 1;
    return slot;
  }

  incarnation(slot: number): number {
    return this.#state.slots[slot] ? this.#state.incarnations[slot]! : 0;
  }

  removeSlot(slot: number, incarnation: number): boolean {
    if (this.clear(slot, incarnation) < 0) return false;
    const { slots, history } = this.#state;
    slots[slot] = undefined;
    while (slots.length > 0 && !slots.at(-1)) slots.pop();
    history.forgetSlot(slot);
    return true;
  }

  setCapacity(
    slot: number,
    incarnation: number,
    blocks: number,
    ttlMs: number,
    result: Float64Array,
  ): number {
    clearResult(result);
    const holder = this.#liveSlot(slot, incarnation);
    return holder ? setCapacity(this.#state, slot, holder, blocks, ttlMs, result) : STATUS.unknownWorker;
  }

  countReferences(slot: number, incarnation: number): number {
    const holder = this.#liveSlot(slot, incarnation);
    return holder ? countReferences(holder) : STATUS.unknownWorker;
  }

  slotNumbers(): Uint32Array {
    return Uint32Array.from([...this.#state.slots.keys()].filter((slot) => this.#state.slots[slot]));
  }

  slotFigures(slot: number, out: Float64Array): void {
    fillFigures(this.#state.slots[slot], out);
  }

  enumerate(slot: number, sorted: boolean): BigUint64Array {
    const hashes = BigUint64Array.from(this.#state.slots[slot]?.blocks ?? []);
    return sorted ? hashes.sort() : hashes;
  }

  enumerateExclusive(slot: number, session: number): BigUint64Array {
    return enumerateExclusive(this.#state, slot, session);
  }

  // --------------------------------------------------------------------------------------------------- residency

  store(
    slot: number,
    incarnation: number,
    seq: BigUint64Array,
    parent: bigint | null | undefined,
    nowMs: number,
    result: Float64Array,
  ): number {
    clearResult(result);
    const holder = this.#liveSlot(slot, incarnation);
    if (!holder) return STATUS.unknownWorker;
    return store(this.#state, { slot, holder }, { hashes: Array.from(seq), parent }, nowMs, result);
  }

  replace(
    slot: number,
    incarnation: number,
    seq: BigUint64Array,
    lengths: Uint32Array,
    kinds: Uint8Array,
    parents: BigUint64Array,
    nowMs: number,
    result: Float64Array,
  ): number {
    clearResult(result);
    const holder = this.#liveSlot(slot, incarnation);
    if (!holder) return STATUS.unknownWorker;
    const chains = toldChains(seq, lengths, kinds, parents);
    return replace(this.#state, { slot, holder }, chains, nowMs, result);
  }

  refresh(
    slot: number,
    incarnation: number,
    seq: BigUint64Array,
    nowMs: number,
    result: Float64Array,
  ): boolean {
    return this.#feed(slot, incarnation, result, (holder) =>
      refresh(this.#state, holder, seq, nowMs, result),
    );
  }

  pin(slot: number, incarnation: number, seq: BigUint64Array, result: Float64Array): boolean {
    return this.#feed(slot, incarnation, result, (holder) => pin(holder, seq, result));
  }

  unpin(slot: number, incarnation: number, seq: BigUint64Array, result: Float64Array): boolean {
    return this.#feed(slot, incarnation, result, (holder) => unpin(holder, seq, result));
  }

  remove(slot: number, incarnation: number, seq: BigUint64Array, result: Float64Array): boolean {
    return this.#feed(slot, incarnation, result, (holder) => remove(this.#state, holder, seq, result));
  }

  clear(slot: number, incarnation: number): number {
    const holder = this.#liveSlot(slot, incarnation);
    if (!holder) return -1;
    const removed = holder.blocks.size;
    releaseAll(this.#state, holder);
    holder.degraded = false;
    return removed;
  }

  expire(nowMs: number): number {
    return expireBlocks(this.#state, nowMs);
  }

  evictedBy(slot: number, hash: bigint): number {
    return this.#state.history.cause(slot, hash);
  }

  // --------------------------------------------------------------------------------------------------- ownership

  own(session: number, seq: BigUint64Array, nowMs: number, result: Float64Array): number {
    clearResult(result);
    return own(this.#state, session, Array.from(seq), nowMs, result);
  }

  endSession(session: number): number {
    return endSession(this.#state, session);
  }

  endIdleSessions(cutoffMs: number): Uint32Array {
    return endIdleSessions(this.#state, cutoffMs);
  }

  sessionNumbers(): Uint32Array {
    return Uint32Array.from(this.#state.sessions.keys());
  }

  // ----------------------------------------------------------------------------------------------------- queries

  overlap(seq: BigUint64Array, mode: number, out: Uint32Array): void {
    overlap(this.#state, seq, mode, out);
  }

  overlapMany(requests: readonly BigUint64Array[], mode: number, out: Uint32Array): void {
    overlapMany(this.#state, requests, mode, out);
  }

  exclusiveOverlap(
    session: number,
    seq: BigUint64Array,
    mode: number,
    maxOwners: number,
    out: Uint32Array,
  ): void {
    exclusiveOverlap(this.#state, session, seq, mode, maxOwners, out);
  }

  fairOverlap(seq: BigUint64Array, out: Float64Array): void {
    fairOverlap(this.#state, seq, out);
  }

  exclusiveWithin(
    session: number,
    seq: BigUint64Array,
    maxOwners: number,
    lengths: Uint32Array,
    out: Uint32Array,
  ): void {
    exclusiveWithin(this.#state, session, seq, maxOwners, lengths, out);
  }

  fairWithin(seq: BigUint64Array, lengths: Uint32Array, out: Float64Array): void {
    fairWithin(this.#state, seq, lengths, out);
  }

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
  ): void {
    this.#hasher.seqHashes(tokens, blockSize, root, extra, seqOut);
    this.overlap(seqOut, MODE.prefix, overlapOut);
    if (exclusiveOut) this.exclusiveOverlap(session, seqOut, MODE.prefix, maxOwners, exclusiveOut);
    if (fairOut) this.fairOverlap(seqOut, fairOut);
  }

  contains(hash: bigint): boolean {
    return this.#state.blocks.has(hash);
  }

  stats(): CoreStats {
    return readStats(this.#state);
  }

  createEngineNames(countsCopies: boolean): CoreEngineNames {
    return new ReferenceEngineNames(this, this.#hasher, countsCopies);
  }

  // ------------------------------------------------------------------------------------------------- whole index

  snapshot(): Uint8Array {
    return encodeSnapshot(this.#state, this.#hasher);
  }

  restore(bytes: Uint8Array): string {
    const state = restoredState(bytes, this.#state, this.#hasher);
    if (typeof state === 'string') return state;
    this.#state = state;
    return '';
  }

  /** Nothing to do: V8 shrinks maps and sets as they empty. */
  compact(): void {}

  validate(): string {
    return findBrokenInvariant(this.#state);
  }

  dump(): string {
    return describeState(this.#state);
  }

  close(): void {
    this.#state = emptyState(this.#state.options);
  }

  // --------------------------------------------------------------------------------------------------- internals

  #liveSlot(slot: number, incarnation: number): Slot | undefined {
    return this.#state.incarnations[slot] === incarnation ? this.#state.slots[slot] : undefined;
  }

  #feed(slot: number, incarnation: number, result: Float64Array, apply: (holder: Slot) => void): boolean {
    clearResult(result);
    const holder = this.#liveSlot(slot, incarnation);
    if (holder) apply(holder);
    return holder !== undefined;
  }
}
