import { lengthMismatch, outOfRange } from '../errors.js';
import { EventMemory, PLACE } from '../native/event-memory.js';
import {
  APPLIED,
  type CoreEngineNames,
  type CoreIndex,
  type EngineNameEntries,
  EVENT_KIND,
  type FlatExtraKeys,
  type HashSeam,
  MODE,
  ORPHAN_SEED,
  RESULT,
  RESULT_LENGTH,
  SLOT_FIGURE,
  SLOT_FIGURES_LENGTH,
  SLOT_MODE,
  STATUS,
  TIER_COUNT,
} from '../native/seam.js';
import { DepartedNames } from './departed-names.js';
import { checkEvents, type EngineEvent, readEvent } from './engine-event.js';
import type { Predecessor } from './index-state.js';

type Hasher = Pick<HashSeam, 'xxh64' | 'seqHashes'>;

/** What an engine calls by one name: the block, and its copies in each tier; some tier has one. */
interface Named {
  readonly seq: bigint;
  readonly copies: Uint16Array;
}

/** Where a call goes. */
interface Place {
  readonly slot: number;
  /** 0: the tier has no slot. */
  readonly incarnation: number;
}

/** What the events of a call have in common. */
interface Call {
  readonly places: readonly Place[];
  readonly root: bigint;
  readonly blockSize: number;
  readonly extra: FlatExtraKeys | undefined;
  readonly nowMs: number;
  readonly result: Int32Array;
}

/** What a name can count. */
const MOST_COPIES = 0xffff;
/** Names beyond twice the resident blocks that are kept without a look. */
const SLACK = 4096;

/** A name is at least a name, a hash and the copies of each tier. */
const ENTRY_BYTES = 8 + 8 + 2 * TIER_COUNT;

/** The names of one rank as their definition says it: a map. The twin of `native/core/engine_names.cpp`. */
export class ReferenceEngineNames implements CoreEngineNames {
  readonly #index: CoreIndex;
  readonly #hasher: Hasher;
  readonly #countsCopies: boolean;
  readonly #fed = new Float64Array(RESULT_LENGTH);
  readonly #figures = new Float64Array(SLOT_FIGURES_LENGTH);
  readonly #departed = new DepartedNames();
  #names = new Map<bigint, Named>();
  /** Names that the last sweep left. */
  #kept = 0;

  constructor(index: CoreIndex, hasher: Hasher, countsCopies: boolean) {
    this.#index = index;
    this.#hasher = hasher;
    this.#countsCopies = countsCopies;
  }

  apply(bytes: Uint8Array, extra: FlatExtraKeys | undefined): number {
    const memory = EventMemory.over(bytes);
    const { slots, root, nowMs, applied: result } = memory;
    const [first, end, blockSize] = [
      memory.integers[PLACE.first]!,
      memory.integers[PLACE.end]!,
      memory.integers[PLACE.blockSize]!,
    ];
    if (extra && end - first !== 1)
      throw outOfRange('end - first', '1 where there are extra keys', end - first);
    const places = Array.from({ length: TIER_COUNT }, (_, tier) => ({
      slot: slots[2 * tier]!,
      incarnation: slots[2 * tier + 1]!,
    }));
    checkEvents(memory, first, end, blockSize, (tier) => places[tier]!.incarnation !== 0);
    result.fill(0);
    if (places.some((place) => this.#isStale(place))) return STATUS.unknownWorker;
    if (places.some((place) => this.#figure(place, SLOT_FIGURE.mode) === SLOT_MODE.bounded)) {
      throw outOfRange('slots', 'slots without a capacity', 'one with');
    }
    const call: Call = { places, root, blockSize, extra, nowMs, result };
    for (let i = first; i < end; i++) {
      const event = readEvent(memory, i);
      if (event.kind === EVENT_KIND.odd || event.tier < 0) continue;
      if (event.kind === EVENT_KIND.removed) this.#remove(event, call);
      else if (event.kind === EVENT_KIND.cleared) this.#clear(call);
      else if (event.tokens.length > 0) this.#store(event, call);
      else this.#storeByName(event, call);
    }
    this.#sweep(places);
    return STATUS.ok;
  }

  size(): number {
    return this.#names.size;
  }

  usedBytes(): number {
    return this.#names.size * ENTRY_BYTES + this.#departed.usedBytes();
  }

  entries(): EngineNameEntries {
    const names = BigUint64Array.from(this.#names.keys()).sort();
    const seqs = names.map((name) => this.#names.get(name)!.seq);
    const copies = new Uint16Array(names.length * TIER_COUNT);
    names.forEach((name, i) => {
      copies.set(this.#names.get(name)!.copies, i * TIER_COUNT);
    });
    return { names, seqs, copies };
  }

  load({ names, seqs, copies }: EngineNameEntries): void {
    if (seqs.length !== names.length || copies.length !== names.length * TIER_COUNT) {
      throw lengthMismatch(`seqs must be as long as names, and copies ${TIER_COUNT} times as long`);
    }
    const loaded = new Map<bigint, Named>();
    for (const [i, name] of names.entries()) {
      const own = copies.slice(i * TIER_COUNT, (i + 1) * TIER_COUNT);
      if (i > 0 && name <= names[i - 1]!) throw outOfRange(`names[${i}]`, 'above the one before', name);
      if (own.every((n) => n === 0)) throw outOfRange(`copies of names[${i}]`, 'at least one', 0);
      loaded.set(name, { seq: seqs[i]!, copies: own });
    }
    this.#names = loaded;
    this.#departed.clear();
    this.#kept = 0;
  }

  // ----------------------------------------------------------------------------------------------------- events

  #store({ tier, names, parentName, tokens }: EngineEvent, call: Call): void {
    const { places, result } = call;
    const place = places[tier]!;
    const { seed, parent } = this.#chainStart(parentName, call.root);
    const seqs = new BigUint64Array(names.length);
    this.#hasher.seqHashes(tokens, call.blockSize, seed, call.extra, seqs);
    for (const [i, name] of names.entries()) this.#releaseUnless(name, seqs[i]!, call);
    for (const name of names) this.#dropStaleCopies(name, tier, place);

    const forwarded = Array.from(names, (name) => this.#isForwarded(name, tier));
    const accepted: number[] = [];
    for (let i = 0; i < names.length; ) {
      if (!forwarded[i]) {
        result[APPLIED.duplicate]!++;
        i++;
        continue;
      }
      const start = i;
      while (i < names.length && forwarded[i]) i++;
      const before = start === 0 ? parent : seqs[start - 1]!;
      if (!this.#storeInIndex(place, seqs.subarray(start, i), before, call)) continue;
      for (let k = start; k < i; k++) accepted.push(k);
    }
    for (const i of accepted) {
      const known = this.#names.get(names[i]!);
      if (!known || known.seq === seqs[i]!) {
        this.#addCopy(names[i]!, seqs[i]!, tier);
      } else {
        result[APPLIED.rejected]!++;
        this.#removeFromIndex(place, seqs.subarray(i, i + 1), result);
      }
    }
  }

  #storeByName({ tier, names }: EngineEvent, call: Call): void {
    const { places, result } = call;
    const place = places[tier]!;
    for (const name of names) {
      const seq = this.#meaningOf(name);
      this.#dropStaleCopies(name, tier, place);
      if (seq === undefined) {
        result[APPLIED.unresolved]!++;
      } else if (!this.#isForwarded(name, tier)) {
        result[APPLIED.duplicate]!++;
      } else if (this.#storeInIndex(place, BigUint64Array.of(seq), null, call)) {
        this.#addCopy(name, seq, tier);
      }
    }
  }

  #remove({ tier, names }: EngineEvent, { places, result }: Call): void {
    const gone: bigint[] = [];
    for (const name of names) {
      const known = this.#names.get(name);
      if (!known || known.copies[tier] === 0) {
        result[APPLIED.unknown]!++;
        continue;
      }
      gone.push(known.seq);
      known.copies[tier]!--;
      if (this.#deleteWithoutCopies(name, known)) this.#departed.note(name, known.seq);
    }
    this.#removeFromIndex(places[tier]!, BigUint64Array.from(gone), result);
  }

  #clear({ places, result }: Call): void {
    for (const { slot, incarnation } of places) {
      if (incarnation !== 0) result[APPLIED.cleared]! += this.#index.clear(slot, incarnation);
    }
    this.#names.clear();
    this.#departed.clear();
    this.#kept = 0;
  }

  // ------------------------------------------------------------------------------------------------------ names

  /** Where a chain's hashes start from, and the block before it. */
  #chainStart(parentName: bigint | undefined, root: bigint): { seed: bigint; parent: Predecessor } {
    if (parentName === undefined) return { seed: root, parent: undefined };
    const known = this.#meaningOf(parentName);
    if (known !== undefined) return { seed: known, parent: known };
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, parentName, true);
    return { seed: this.#hasher.xxh64(bytes, ORPHAN_SEED), parent: null };
  }

  #meaningOf(name: bigint): bigint | undefined {
    return this.#names.get(name)?.seq ?? this.#departed.seqOf(name);
  }

  /** A name that means another block so far loses that one, with all its copies. */
  #releaseUnless(name: bigint, seq: bigint, { places, result }: Call): void {
    const known = this.#names.get(name);
    if (!known || known.seq === seq) return;
    for (const [tier, copies] of known.copies.entries()) {
      const everyCopy = new BigUint64Array(copies).fill(known.seq);
      if (places[tier]!.incarnation !== 0) this.#removeFromIndex(places[tier]!, everyCopy, result);
    }
    this.#names.delete(name);
  }

  /** Copies of a block that the index let go are none. */
  #dropStaleCopies(name: bigint, tier: number, { slot }: Place): void {
    const known = this.#names.get(name);
    if (!known || known.copies[tier] === 0) return;
    const resident = new Uint32Array(this.#index.slotCount());
    this.#index.overlap(BigUint64Array.of(known.seq), MODE.set, resident);
    if (resident[slot] !== 0) return;
    known.copies[tier] = 0;
    this.#deleteWithoutCopies(name, known);
  }

  #deleteWithoutCopies(name: bigint, { copies }: Named): boolean {
    return copies.every((n) => n === 0) && this.#names.delete(name);
  }

  #isForwarded(name: bigint, tier: number): boolean {
    const copies = this.#names.get(name)?.copies[tier] ?? 0;
    return this.#countsCopies ? copies < MOST_COPIES : copies === 0;
  }

  #addCopy(name: bigint, seq: bigint, tier: number): void {
    let known = this.#names.get(name);
    if (!known) {
      known = { seq, copies: new Uint16Array(TIER_COUNT) };
      this.#names.set(name, known);
    }
    if (this.#countsCopies || known.copies[tier] === 0) known.copies[tier]!++;
  }

  /** Drops names that the index has long let go, once there are many. */
  #sweep(places: readonly Place[]): void {
    let resident = 0;
    for (const place of places) resident += this.#figure(place, SLOT_FIGURE.residentBlocks);
    if (this.#names.size <= 2 * resident + SLACK + this.#kept) return;
    const held = places.map(({ slot, incarnation }) =>
      incarnation === 0 ? new Set<bigint>() : new Set(this.#index.enumerate(slot, false)),
    );
    for (const [name, { seq, copies }] of this.#names) {
      if (!held.some((blocks, tier) => copies[tier]! > 0 && blocks.has(seq))) this.#names.delete(name);
    }
    this.#kept = this.#names.size;
  }

  // ------------------------------------------------------------------------------------------------------ index

  #isStale({ slot, incarnation }: Place): boolean {
    return incarnation !== 0 && this.#index.incarnation(slot) !== incarnation;
  }

  /** 0 of a tier without a slot. */
  #figure({ slot, incarnation }: Place, place: number): number {
    if (incarnation === 0) return 0;
    this.#index.slotFigures(slot, this.#figures);
    return this.#figures[place]!;
  }

  /** Answers false when the whole call was rejected. */
  #storeInIndex(place: Place, seqs: BigUint64Array, parent: Predecessor, { nowMs, result }: Call): boolean {
    const fed = this.#fed;
    this.#index.store(place.slot, place.incarnation, seqs, parent, nowMs, fed);
    result[APPLIED.stored]! += fed[RESULT.applied]!;
    result[APPLIED.duplicate]! += fed[RESULT.duplicate]!;
    result[APPLIED.orphaned]! += fed[RESULT.orphaned]!;
    result[APPLIED.rejected]! += fed[RESULT.rejected]!;
    result[APPLIED.evicted]! += fed[RESULT.evicted]!;
    return fed[RESULT.applied]! + fed[RESULT.duplicate]! > 0 || fed[RESULT.rejected] !== seqs.length;
  }

  #removeFromIndex(place: Place, seqs: BigUint64Array, result: Int32Array): void {
    if (seqs.length === 0) return;
    this.#index.remove(place.slot, place.incarnation, seqs, this.#fed);
    result[APPLIED.removed]! += this.#fed[RESULT.applied]!;
    result[APPLIED.unknown]! += this.#fed[RESULT.unknown]!;
  }
}
