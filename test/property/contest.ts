import { type CoreIndexOptions, MODE, type Seam } from '../../src/native/seam.js';
import { Feeder } from './feeder.js';
import type { Random } from './random.js';
import { Sides } from './sides.js';
import { SlotRefs } from './slot-refs.js';
import { World } from './world.js';

/**
 * Plays the same random operations on two indexes and expects the same answers, and after each operation no slot and no
 * index beyond its bound.
 */
export class Contest {
  readonly #random: Random;
  readonly #world: World;
  readonly #sides: Sides;
  readonly #slots: SlotRefs;
  readonly #feeder: Feeder;
  readonly #keepsOptions: boolean;
  /** What calls answered, in words. */
  readonly met = new Set<string>();

  /** With options given it keeps them, unless it is told to move. */
  constructor(random: Random, seams: readonly [Seam, Seam], isLong: boolean, options?: CoreIndexOptions) {
    this.#random = random;
    this.#world = new World(random, isLong);
    this.#sides = new Sides(seams, options ?? anyOptions(random, isLong));
    this.#keepsOptions = options !== undefined;
    this.#slots = new SlotRefs(random);
    this.#feeder = new Feeder(random, this.#world, this.#sides, this.#slots, this.met);
  }

  get operations(): number {
    return this.#sides.operations;
  }

  /** About so many operations more. */
  play(operations: number): void {
    const end = this.operations + operations;
    while (this.operations < end) this.#step();
    this.#checkAll();
  }

  finish(): void {
    this.#emptyAndCheck();
    this.#sides.close();
  }

  /** Both go on from one file in an index of other bounds: which blocks stay may depend on how the file was cut. */
  moveTo(options: CoreIndexOptions): void {
    const file = this.#random.oneOf(this.#sides.snapshots());
    this.#sides.reopen(options);
    this.#sides.restore(file, file);
    this.#resume();
  }

  #step(): void {
    const feeder = this.#feeder;
    const kind = this.#random.below(120);
    if (this.#slots.live.length === 0) feeder.changeSlots();
    else if (kind < 16) this.#turn();
    else if (kind < 34) feeder.storeSome();
    else if (kind < 50) feeder.removeSome();
    else if (kind < 60) feeder.own(this.#world.pick().slice(0, this.#random.between(0, 60)));
    else if (kind < 63) feeder.endSessions();
    else if (kind < 67) feeder.changeSlots();
    else if (kind < 84) this.#query(this.#anyQuery());
    else if (kind < 89) feeder.storeLie();
    else if (kind < 90) feeder.own(this.#world.lie().seq);
    else if (kind < 96) feeder.replace();
    else if (kind < 101) feeder.refresh();
    else if (kind < 107) feeder.changePins();
    else if (kind < 110) feeder.setCapacity();
    else if (kind < 111) feeder.countReferences();
    else if (kind < 113) feeder.expire();
    else if (kind < 114) feeder.askWhy();
    else if (kind < 116) this.#checkAll();
    else if (kind < 117) this.#restoreAcross();
    else if (kind < 118) this.#contains(this.#world.anyBlock());
    else if (kind < 119) this.#sides.both('compact', (index) => index.compact());
    else if (!this.#keepsOptions && this.#random.oneIn(3)) this.moveTo(anyOptions(this.#random, false));
  }

  /** One conversation goes on: it is looked up before it appears anywhere. */
  #turn(): void {
    const path = this.#world.turn();
    this.#query(path);
    this.#feeder.turn(path);
  }

  // --------------------------------------------------------------------------------------------------- snapshots

  /** Each side goes on from the other one's snapshot, sometimes in a new index. */
  #restoreAcross(): void {
    const [first, second] = this.#sides.snapshots();
    if (this.#random.oneIn(2)) this.#sides.reopen(this.#sides.options);
    this.#sides.restore(second, first);
    this.#resume();
  }

  #resume(): void {
    const slots = this.#sides.both('slotNumbers', (index) => index.slotNumbers());
    const live = Array.from(slots, (slot) => ({
      slot,
      incarnation: this.#sides.both('incarnation', (index) => index.incarnation(slot)),
    }));
    this.#slots.renew(live);
    this.#checkAll();
  }

  // ----------------------------------------------------------------------------------------------------- queries

  #anyQuery(): bigint[] {
    switch (this.#random.below(6)) {
      case 0:
        return this.#world.handful();
      case 1:
        return this.#world.lie().seq;
      case 2:
        return this.#world.part().seq;
      default:
        return this.#world.pick();
    }
  }

  #query(path: bigint[]): void {
    const seq = BigUint64Array.from(path);
    const session = this.#feeder.pickSession();
    const maxOwners = this.#random.oneOf([1, 1, 2, 8]);
    const mode = this.#random.oneOf([MODE.prefix, MODE.set]);
    this.#sides.both('overlap', (index) => {
      const out = new Uint32Array(index.slotCount()).fill(7);
      index.overlap(seq, mode, out);
      return out;
    });
    const others = Array.from({ length: this.#random.below(4) }, () => BigUint64Array.from(this.#anyQuery()));
    const requests = [...others, seq, seq.subarray(this.#random.below(seq.length + 1))];
    this.#sides.both('overlapMany', (index) => {
      const out = new Uint32Array(requests.length * index.slotCount()).fill(7);
      index.overlapMany(requests, mode, out);
      return out;
    });
    this.#sides.both('exclusiveOverlap', (index) => {
      const out = new Uint32Array(index.slotCount()).fill(7);
      index.exclusiveOverlap(session, seq, mode, maxOwners, out);
      return out;
    });
    this.#sides.both('fairOverlap', (index) => {
      const out = new Float64Array(index.slotCount()).fill(7);
      index.fairOverlap(seq, out);
      return out;
    });
    this.#queryWithin(seq, session, maxOwners);
  }

  #queryWithin(seq: BigUint64Array, session: number, maxOwners: number): void {
    const random = this.#random;
    const lengths = Uint32Array.from({ length: random.below(9) }, () =>
      random.oneOf([0, seq.length, random.between(0, seq.length)]),
    );
    this.#sides.both('exclusiveWithin', (index) => {
      const out = new Uint32Array(lengths.length).fill(7);
      index.exclusiveWithin(session, seq, maxOwners, lengths, out);
      return out;
    });
    this.#sides.both('fairWithin', (index) => {
      const out = new Float64Array(lengths.length).fill(7);
      index.fairWithin(seq, lengths, out);
      return out;
    });
  }

  #contains(hash: bigint): void {
    this.#sides.both('contains', (index) => index.contains(hash));
  }

  // ---------------------------------------------------------------------------------------------------- checking

  #checkAll(): void {
    const sides = this.#sides;
    sides.expectStats();
    sides.expect(
      'validate',
      sides.both('validate', (index) => index.validate()),
      '',
    );
    sides.both('sessionNumbers', (index) => index.sessionNumbers());
    for (const slot of sides.both('slotNumbers', (index) => index.slotNumbers())) {
      sides.both('enumerate', (index) => index.enumerate(slot, true));
      sides.both('enumerate unsorted', (index) => index.enumerate(slot, false).sort());
      const session = this.#feeder.pickSession();
      sides.both('enumerateExclusive', (index) => index.enumerateExclusive(slot, session));
      sides.both('incarnation', (index) => index.incarnation(slot));
      sides.figures(slot);
    }
  }

  #emptyAndCheck(): void {
    for (const { slot, incarnation } of this.#slots.live) {
      this.#sides.both('removeSlot', (index) => index.removeSlot(slot, incarnation));
    }
    this.#sides.both('endIdleSessions', (index) => index.endIdleSessions(Number.MAX_SAFE_INTEGER));
    this.#checkAll();
    this.#sides.expectEmpty();
  }
}

function anyOptions(random: Random, isLong: boolean): CoreIndexOptions {
  return {
    maxSessions: random.oneOf([0, 0, 1, 3, 8, 40]),
    maxBlocks: random.oneOf(isLong ? [0, 0, 40, 5000, 20_000] : [0, 0, 0, 1, 5, 40, 300, 1000]),
    evictedHistory: random.oneOf([0, 4, 1000]),
  };
}
