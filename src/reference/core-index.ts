import {
  type CoreIndex,
  type CoreIndexOptions,
  type CoreStats,
  type FlatExtraKeys,
  type HashSeam,
  MODE,
  RESULT,
} from '../native/seam.js';
import { type Block, emptyState, type IndexState, type Predecessor, type Slot } from './index-state.js';
import { describeState, findBrokenInvariant } from './inspect.js';
import { countOrphans, firstBadBlock, hasResidentPath, tellPredecessors } from './predecessors.js';
import { decodeSnapshot, encodeSnapshot } from './snapshot.js';

/**
 * What one entry costs in V8 on 64 bits, roughly: V8 does not tell. A block is a map entry (20 bytes of table at its
 * usual load), a BigInt (24) and an object (48) with its BigInt predecessor shared; a set entry is table alone.
 */
const BYTES_PER_BLOCK = 112;
const BYTES_PER_SET_ENTRY = 24;
const BYTES_PER_SESSION = 200;

/** One whole block in the units of `fairOverlap`. */
const WHOLE_BLOCK = 2 ** 20;

/** The index as its definition says it: maps and sets. Oracle of the property tests and backend of last resort. */
export function createReferenceIndex(
  options: CoreIndexOptions,
  hasher: Pick<HashSeam, 'xxh64' | 'seqHashes'>,
): CoreIndex {
  return new ReferenceIndex(options, hasher);
}

/**
 * Costs: n blocks of a call, D depth of the call's first block, W slots. store O(n + D), remove and own O(n), overlap
 * O(n + the sum of what is counted + W), stats O(all blocks) for the orphans.
 */
class ReferenceIndex implements CoreIndex {
  readonly #maxSessions: number;
  readonly #hasher: Pick<HashSeam, 'xxh64' | 'seqHashes'>;
  #state: IndexState = emptyState();

  constructor(options: CoreIndexOptions, hasher: Pick<HashSeam, 'xxh64' | 'seqHashes'>) {
    this.#maxSessions = options.maxSessions;
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
    slots[slot] = { lastStoreMs: -1, blocks: new Set() };
    incarnations[slot] = (incarnations[slot] ?? 0) + 1;
    return slot;
  }

  incarnation(slot: number): number {
    return this.#state.slots[slot] ? this.#state.incarnations[slot]! : 0;
  }

  removeSlot(slot: number, incarnation: number): boolean {
    if (this.clear(slot, incarnation) < 0) return false;
    const { slots } = this.#state;
    slots[slot] = undefined;
    while (slots.length > 0 && !slots.at(-1)) slots.pop();
    return true;
  }

  slotNumbers(): Uint32Array {
    return Uint32Array.from([...this.#state.slots.keys()].filter((slot) => this.#state.slots[slot]));
  }

  residentBlocks(slot: number): number {
    return this.#state.slots[slot]?.blocks.size ?? 0;
  }

  lastStoreMs(slot: number): number {
    return this.#state.slots[slot]?.lastStoreMs ?? -1;
  }

  enumerate(slot: number): BigUint64Array {
    return BigUint64Array.from(this.#state.slots[slot]?.blocks ?? []).sort();
  }

  // --------------------------------------------------------------------------------------------------- residency

  store(
    slot: number,
    incarnation: number,
    seq: BigUint64Array,
    parent: bigint | null | undefined,
    nowMs: number,
    result: Float64Array,
  ): boolean {
    clearResult(result);
    const holder = this.#liveSlot(slot, incarnation);
    if (!holder) return false;
    const hashes = Array.from(seq);
    if (hashes.length === 0 || this.#refuses(hashes, parent, result)) return true;
    holder.lastStoreMs = nowMs;
    tellPredecessors(this.#state, hashes, parent);
    let applied = 0;
    for (const hash of hashes) {
      if (holder.blocks.has(hash)) continue;
      holder.blocks.add(hash);
      this.#block(hash).holders++;
      applied++;
    }
    const duplicate = hashes.length - applied;
    this.#state.duplicates += duplicate;
    result[RESULT.applied] = applied;
    result[RESULT.duplicate] = duplicate;
    result[RESULT.orphaned] = hasResidentPath(this.#state, hashes[0]!) ? 0 : hashes.length;
    return true;
  }

  remove(slot: number, incarnation: number, seq: BigUint64Array, result: Float64Array): boolean {
    clearResult(result);
    const holder = this.#liveSlot(slot, incarnation);
    if (!holder) return false;
    let applied = 0;
    for (const [i, hash] of seq.entries()) {
      if (holder.blocks.delete(hash)) {
        this.#unhold(hash);
        applied++;
      } else if (result[RESULT.firstBad] === -1) {
        result[RESULT.firstBad] = i;
      }
    }
    const unknown = seq.length - applied;
    this.#state.unknownRemoves += unknown;
    result[RESULT.applied] = applied;
    result[RESULT.unknown] = unknown;
    return true;
  }

  clear(slot: number, incarnation: number): number {
    const holder = this.#liveSlot(slot, incarnation);
    if (!holder) return -1;
    const removed = holder.blocks.size;
    for (const hash of holder.blocks) this.#unhold(hash);
    holder.blocks.clear();
    return removed;
  }

  // --------------------------------------------------------------------------------------------------- ownership

  own(session: number, seq: BigUint64Array, nowMs: number, result: Float64Array): number {
    clearResult(result);
    const { sessions, sessionNumbers } = this.#state;
    const hashes = Array.from(seq);
    const present = sessions.get(session);
    if (hashes.length === 0 || this.#refuses(hashes, undefined, result)) return present ? session : 0;
    const number = present ? session : sessionNumbers.take();
    const owner = present ?? { lastOwnMs: nowMs, blocks: new Set<bigint>() };
    owner.lastOwnMs = nowMs;
    sessions.delete(number);
    sessions.set(number, owner);
    tellPredecessors(this.#state, hashes, undefined);
    let applied = 0;
    for (const hash of hashes) {
      if (owner.blocks.has(hash)) continue;
      owner.blocks.add(hash);
      this.#block(hash).owners++;
      applied++;
    }
    result[RESULT.applied] = applied;
    result[RESULT.duplicate] = hashes.length - applied;
    if (this.#maxSessions > 0 && sessions.size > this.#maxSessions) {
      const oldest: number = sessions.keys().next().value!;
      this.endSession(oldest);
      result[RESULT.ended] = oldest;
    }
    return number;
  }

  endSession(session: number): number {
    const owner = this.#state.sessions.get(session);
    if (!owner) return 0;
    for (const hash of owner.blocks) {
      const block = this.#block(hash);
      block.owners--;
      this.#forgetUnknown(hash, block);
    }
    this.#state.sessions.delete(session);
    this.#state.sessionNumbers.giveBack(session);
    return owner.blocks.size;
  }

  endIdleSessions(cutoffMs: number): Uint32Array {
    const idle: number[] = [];
    for (const [number, { lastOwnMs }] of this.#state.sessions) if (lastOwnMs <= cutoffMs) idle.push(number);
    for (const number of idle) this.endSession(number);
    return Uint32Array.from(idle).sort();
  }

  sessionNumbers(): Uint32Array {
    return Uint32Array.from(this.#state.sessions.keys());
  }

  // ----------------------------------------------------------------------------------------------------- queries

  overlap(seq: BigUint64Array, mode: number, out: Uint32Array): void {
    this.#sumCounted(seq, mode, () => 1, out);
  }

  exclusiveOverlap(
    session: number,
    seq: BigUint64Array,
    mode: number,
    maxOwners: number,
    out: Uint32Array,
  ): void {
    const owned = this.#state.sessions.get(session)?.blocks;
    const counts = (owners: number, hash: bigint) =>
      maxOwners === 1 ? owners === 1 && owned?.has(hash) : owners >= 1 && owners <= maxOwners;
    this.#sumCounted(seq, mode, ({ owners }, hash) => (counts(owners, hash) ? 1 : 0), out);
  }

  fairOverlap(seq: BigUint64Array, out: Float64Array): void {
    this.#sumCounted(seq, MODE.prefix, ({ owners }) => Math.floor(WHOLE_BLOCK / Math.max(owners, 1)), out);
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
    const { blocks, slots, sessions, duplicates, unknownRemoves, rejected } = this.#state;
    let held = 0;
    let liveSlots = 0;
    for (const slot of slots) {
      if (!slot) continue;
      liveSlots++;
      held += slot.blocks.size;
    }
    let owned = 0;
    for (const session of sessions.values()) owned += session.blocks.size;
    const ownershipBytes = sessions.size * BYTES_PER_SESSION + owned * BYTES_PER_SET_ENTRY;
    const usedBytes = blocks.size * BYTES_PER_BLOCK + held * BYTES_PER_SET_ENTRY + ownershipBytes;
    return {
      blocks: blocks.size,
      // Nothing is compressed here: every block is a run of its own.
      runs: blocks.size,
      runHolders: held,
      slots: liveSlots,
      sessions: sessions.size,
      usedBytes,
      reservedBytes: usedBytes,
      ownershipBytes,
      duplicates,
      unknownRemoves,
      rejected,
      orphans: countOrphans(this.#state),
    };
  }

  // ------------------------------------------------------------------------------------------------- whole index

  snapshot(): Uint8Array {
    return encodeSnapshot(this.#state, this.#hasher);
  }

  restore(bytes: Uint8Array): string {
    const state = decodeSnapshot(bytes, this.#hasher);
    if (typeof state === 'string') return state;
    // No life of a slot, of before or in the file, comes back.
    const before = this.#state.incarnations;
    for (let slot = 0; slot < Math.max(before.length, state.incarnations.length); slot++) {
      state.incarnations[slot] = Math.max(before[slot] ?? 0, state.incarnations[slot] ?? 0) + 1;
    }
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
    this.#state = emptyState();
  }

  // --------------------------------------------------------------------------------------------------- internals

  #liveSlot(slot: number, incarnation: number): Slot | undefined {
    return this.#state.incarnations[slot] === incarnation ? this.#state.slots[slot] : undefined;
  }

  /** A block of an index that must have it. */
  #block(hash: bigint): Block {
    return this.#state.blocks.get(hash)!;
  }

  /** Counts the call as rejected, and answers true, when it contradicts the index or itself. */
  #refuses(hashes: readonly bigint[], parent: Predecessor, result: Float64Array): boolean {
    const firstBad = firstBadBlock(this.#state, hashes, parent);
    if (firstBad < 0) return false;
    this.#state.rejected += hashes.length;
    result[RESULT.rejected] = hashes.length;
    result[RESULT.firstBad] = firstBad;
    return true;
  }

  #unhold(hash: bigint): void {
    const block = this.#block(hash);
    block.holders--;
    this.#forgetUnknown(hash, block);
  }

  #forgetUnknown(hash: bigint, block: Block): void {
    if (block.holders === 0 && block.owners === 0) this.#state.blocks.delete(hash);
  }

  /** `out[slot]` = Σ `worth` over the positions that an overlap query counts on the slot. */
  #sumCounted(
    seq: BigUint64Array,
    mode: number,
    worth: (block: Block, hash: bigint) => number,
    out: Uint32Array | Float64Array,
  ): void {
    const hashes: bigint[] = [];
    const worths: number[] = [];
    for (const hash of seq) {
      const block = this.#state.blocks.get(hash);
      if (block) {
        hashes.push(hash);
        worths.push(worth(block, hash));
      } else if (mode === MODE.prefix) break;
    }
    for (const [slot, holder] of this.#state.slots.entries()) {
      let sum = 0;
      for (let i = 0; holder && i < hashes.length; i++) {
        if (holder.blocks.has(hashes[i]!)) sum += worths[i]!;
        else if (mode === MODE.prefix) break;
      }
      out[slot] = sum;
    }
  }
}

function clearResult(result: Float64Array): void {
  result.fill(0);
  result[RESULT.firstBad] = -1;
}
