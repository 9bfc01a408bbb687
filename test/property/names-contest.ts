import {
  APPLIED,
  type CoreEngineNames,
  type CoreIndex,
  type CoreIndexOptions,
  type FlatExtraKeys,
  type Seam,
  STATUS,
  TIER_COUNT,
} from '../../src/native/seam.js';
import { CLEARED, inTier, listOf, removed, stored, type Told, toldMemory } from '../reference/told-events.js';
import type { Random } from './random.js';
import { Sides } from './sides.js';

const BLOCK_SIZE = 2;
const RANKS = 2;

/** What an engine's rank has told of: its names, and the slots of its tiers. */
interface Rank {
  readonly salt: bigint;
  readonly names: bigint[];
  readonly slots: Uint32Array;
}

/**
 * Plays the same random events of two ranks on two indexes, with calls from elsewhere in between, and expects the same
 * answers, names and blocks.
 */
export class NamesContest {
  readonly #random: Random;
  readonly #isLong: boolean;
  readonly #sides: Sides;
  readonly #namesOf = new WeakMap<CoreIndex, CoreEngineNames[]>();
  readonly #ranks: Rank[] = [];
  readonly #countsBlocks: boolean;
  /** What calls answered, in words. */
  readonly met = new Set<string>();

  /** `isLong`: events of hundreds of blocks in an index that keeps few. */
  constructor(random: Random, seams: readonly [Seam, Seam], isLong: boolean) {
    this.#random = random;
    this.#isLong = isLong;
    this.#countsBlocks = !random.oneIn(3);
    this.#sides = new Sides(seams, anyOptions(random, isLong));
    const countsCopies = random.oneIn(2);
    this.#sides.both('createEngineNames', (index) => {
      const create = () => index.createEngineNames(countsCopies);
      this.#namesOf.set(index, Array.from({ length: RANKS }, create));
    });
    for (let rank = 0; rank < RANKS; rank++) {
      this.#ranks.push({
        salt: BigInt(random.oneIn(2) ? rank : 0),
        names: [],
        slots: new Uint32Array(2 * TIER_COUNT),
      });
      for (let tier = 0; tier < TIER_COUNT; tier++) {
        if (tier === 0 || random.oneIn(2)) this.#addSlot(rank, tier);
      }
    }
  }

  get operations(): number {
    return this.#sides.operations;
  }

  play(operations: number): void {
    const end = this.operations + operations;
    while (this.operations < end) {
      const rank = this.#random.below(RANKS);
      const kind = this.#random.below(40);
      if (kind < 34) this.#apply(rank);
      else if (kind < 37) this.#meddle(rank);
      else if (kind < 38) this.#changeSlots(rank);
      else if (kind < 39) this.#moveNames(rank);
      this.#checkAll();
    }
  }

  close(): void {
    this.#sides.close();
  }

  // ------------------------------------------------------------------------------------------------------ events

  #apply(rank: number): void {
    const { slots } = this.#ranks[rank]!;
    const events = Array.from({ length: this.#random.between(1, this.#isLong ? 2 : 5) }, () =>
      this.#event(rank),
    );
    const extra = events.length === 1 && this.#random.oneIn(4) ? this.#extra(events[0]!) : undefined;
    const root = this.#random.oneIn(8) ? 7n : 0n;
    const before = this.#size(rank);
    const entriesBefore = this.#isLong ? undefined : this.#entriesOf(rank);
    const [status, ...counts] = this.#sides.both('apply', (index) => {
      const names = this.#namesOf.get(index)![rank]!;
      const memory = toldMemory(events, { slots, root, blockSize: BLOCK_SIZE, nowMs: this.operations });
      const answer = names.apply(memory.bytes, extra);
      return [answer, ...memory.applied];
    });
    if (status === STATUS.unknownWorker) this.met.add('unknownWorker');
    for (const [what, place] of Object.entries(APPLIED)) if (counts[place]! > 0) this.met.add(what);
    // Only a departed name makes a store without tokens enter one; only a block that came back stores under the same copies.
    if (counts[APPLIED.stored]! > 0) {
      const isByName = events.every(({ tokens }) => tokens?.length === 0);
      if (isByName && this.#size(rank) > before) this.met.add('departed');
      if (this.#entriesOf(rank) === entriesBefore) this.met.add('came back');
    }
    const isLosing = events.some(({ kind }) => kind !== 'stored');
    if (!isLosing && this.#size(rank) < before - 1000) this.met.add('swept');
  }

  #event(rank: number): Told {
    const random = this.#random;
    const tiers = Array.from({ length: TIER_COUNT }, (_, tier) => tier).filter(
      (tier) => this.#ranks[rank]!.slots[2 * tier + 1] !== 0,
    );
    const tier = random.oneIn(20) ? -1 : random.oneOf(tiers);
    const kind = random.below(100);
    if (kind < 1) return inTier(random.below(TIER_COUNT), CLEARED);
    if (kind < 3) return { ...inTier(tier, this.#store(rank)), kind: 'odd' };
    if (kind < (this.#isLong ? 8 : 35)) return inTier(tier, removed(this.#anyNames(rank)));
    if (kind < 45) return inTier(tier, stored(this.#anyNames(rank)));
    return inTier(tier, this.#store(rank));
  }

  /** A chain behind some block. Few tokens, so that prefixes meet; mostly the same prefix has the same name. */
  #store(rank: number): Told {
    const random = this.#random;
    const { salt, names } = this.#ranks[rank]!;
    const blocks = this.#isLong ? random.between(1, 400) : random.between(0, 8);
    const tokens = Array.from({ length: blocks * BLOCK_SIZE }, () => random.below(this.#isLong ? 50 : 2));
    const parent = random.oneIn(3) || names.length === 0 ? undefined : this.#anyName(rank);
    let name = parent ?? salt;
    const told: bigint[] = [];
    for (let i = 0; i < blocks; i++) {
      name = mixed(name + BigInt(tokens[2 * i]! * 50 + tokens[2 * i + 1]! + 1));
      told.push(name);
      if (names.length < 20_000) names.push(name);
    }
    if (blocks > 0 && random.oneIn(6)) told[random.below(blocks)] = this.#anyName(rank);
    return stored(told, tokens, parent);
  }

  #anyNames(rank: number): bigint[] {
    return Array.from({ length: this.#random.below(this.#isLong ? 50 : 8) }, () => this.#anyName(rank));
  }

  #anyName(rank: number): bigint {
    const { names } = this.#ranks[rank]!;
    if (names.length === 0 || this.#random.oneIn(30)) return BigInt(this.#random.below(1000)) << 54n;
    // Rather what was told of lately.
    const at =
      names.length - 1 - this.#random.below(Math.min(names.length, this.#random.oneIn(3) ? 500 : 30));
    return names[at]!;
  }

  #extra({ names = [] }: Told): FlatExtraKeys | undefined {
    if (names.length === 0) return undefined;
    const blocks = Uint32Array.of(this.#random.below(names.length), names.length);
    return { blocks, keys: BigUint64Array.of(BigInt(this.#random.below(3)), 1n) };
  }

  // --------------------------------------------------------------------------------------------- from elsewhere

  /** The index changes without the names' knowledge. */
  #meddle(rank: number): void {
    const random = this.#random;
    const { slots } = this.#ranks[rank]!;
    const [slot, incarnation] = slots as unknown as [number, number];
    const held = this.#sides.oracle.enumerate(slot, true);
    const some = held.filter(() => random.oneIn(4));
    const kind = random.below(4);
    const now = this.operations;
    if (kind === 0) this.#sides.feed('remove', (x, result) => x.remove(slot, incarnation, some, result));
    else if (kind === 1) {
      this.#sides.feed('store', (x, result) => x.store(slot, incarnation, some, undefined, now, result));
    } else if (kind === 2) this.#sides.feed('own', (x, result) => x.own(0, some.subarray(0, 3), now, result));
    else if (random.oneIn(4)) this.#sides.both('clear', (x) => x.clear(slot, incarnation));
  }

  #addSlot(rank: number, tier: number): void {
    const { slots } = this.#ranks[rank]!;
    const slot = this.#sides.both('addSlot', (index) => index.addSlot());
    const incarnation = this.#sides.both('incarnation', (index) => index.incarnation(slot));
    if (this.#countsBlocks) this.#sides.both('count', (index) => index.countReferences(slot, incarnation));
    slots.set([slot, incarnation], 2 * tier);
  }

  /** A tier's slot goes, or is another one. */
  #changeSlots(rank: number): void {
    const { slots } = this.#ranks[rank]!;
    const tier = this.#random.below(TIER_COUNT);
    const [slot, incarnation] = slots.subarray(2 * tier) as unknown as [number, number];
    if (incarnation !== 0) {
      this.#sides.both('removeSlot', (index) => index.removeSlot(slot, incarnation));
      this.#apply(rank); // stale
    }
    if (tier === 0 || this.#random.oneIn(2)) this.#addSlot(rank, tier);
    else slots.set([0, 0], 2 * tier);
  }

  /** Each side goes on from the other one's entries. */
  #moveNames(rank: number): void {
    const all: CoreEngineNames[] = [];
    this.#sides.both('names', (index) => {
      all.push(this.#namesOf.get(index)![rank]!);
    });
    const [first, second] = all as [CoreEngineNames, CoreEngineNames];
    const entries = first.entries();
    first.load(second.entries());
    second.load(entries);
  }

  // ------------------------------------------------------------------------------------------------------ checks

  #size(rank: number): number {
    return this.#namesOf.get(this.#sides.oracle)![rank]!.size();
  }

  #entriesOf(rank: number): string {
    return textOf(this.#namesOf.get(this.#sides.oracle)![rank]!);
  }

  #checkAll(): void {
    const isThorough = this.#random.oneIn(this.#isLong ? 10 : 3);
    for (const [rank, { slots }] of this.#ranks.entries()) {
      this.#sides.both('size', (index) => this.#namesOf.get(index)![rank]!.size());
      if (!isThorough) continue;
      this.#sides.both('entries', (index) => textOf(this.#namesOf.get(index)![rank]!));
      for (let tier = 0; tier < TIER_COUNT; tier++) {
        if (slots[2 * tier + 1] === 0) continue;
        this.#sides.both('enumerate', (index) => index.enumerate(slots[2 * tier]!, true));
        this.#sides.figures(slots[2 * tier]!);
      }
    }
    if (!isThorough) return;
    this.#sides.expectStats();
    this.#sides.both('validate', (index) => index.validate());
  }
}

function textOf(names: CoreEngineNames): string {
  return listOf(names)
    .map(({ name, seq, copies }) => `${name}=${seq}*${copies}`)
    .join(' ');
}

function anyOptions(random: Random, isLong: boolean): CoreIndexOptions {
  const bound = isLong ? random.between(200, 800) : random.between(5, 60);
  return { maxSessions: 0, maxBlocks: isLong || random.oneIn(3) ? bound : 0, evictedHistory: 0 };
}

/** Far apart, whatever lies close. */
function mixed(n: bigint): bigint {
  const x = BigInt.asUintN(64, (n ^ (n >> 31n)) * 0x9e37_79b9_7f4a_7c15n);
  return x ^ (x >> 29n);
}
