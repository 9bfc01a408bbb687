import { expect } from 'vitest';
import { type CoreIndex, MODE, RESULT_LENGTH, type Seam } from '../../src/native/seam.js';
import type { Random } from './random.js';
import { World } from './world.js';

interface SlotRef {
  readonly slot: number;
  readonly incarnation: number;
}

interface Side {
  readonly seam: Seam;
  index: CoreIndex;
}

/** Plays the same random operations on two indexes and expects the same answers. */
export class Contest {
  readonly #random: Random;
  readonly #maxSessions: number;
  readonly #mostSlots: number;
  readonly #world: World;
  readonly #sides: readonly [Side, Side];
  #slots: SlotRef[] = [];
  #former: SlotRef[] = [];
  #nowMs = 0;
  operations = 0;

  constructor(random: Random, seams: readonly [Seam, Seam], isLong: boolean) {
    this.#random = random;
    this.#maxSessions = random.oneOf([0, 0, 1, 3, 8, 40]);
    this.#mostSlots = random.oneOf([1, 3, 9, 80]);
    this.#world = new World(random, isLong);
    const side = (seam: Seam): Side => ({
      seam,
      index: seam.createIndex({ maxSessions: this.#maxSessions }),
    });
    this.#sides = [side(seams[0]), side(seams[1])];
  }

  play(operations: number): void {
    while (this.operations < operations) this.#step();
    this.#checkAll();
    this.#emptyAndCheck();
    for (const { index } of this.#sides) index.close();
  }

  #step(): void {
    const kind = this.#random.below(100);
    if (this.#slots.length === 0) this.#changeSlots();
    else if (kind < 16) this.#turn();
    else if (kind < 34) this.#store(this.#world.part());
    else if (kind < 50) this.#removeSome();
    else if (kind < 60) this.#own(this.#world.pick().slice(0, this.#random.between(0, 60)));
    else if (kind < 63) this.#endSessions();
    else if (kind < 67) this.#changeSlots();
    else if (kind < 88) this.#query(this.#anyQuery());
    else if (kind < 94) this.#store(this.#world.lie());
    else if (kind < 95) this.#own(this.#world.lie().seq);
    else if (kind < 97) this.#checkAll();
    else if (kind < 98) this.#restoreAcross();
    else if (kind < 99) this.#contains(this.#world.anyBlock());
    else this.#both('compact', (index) => index.compact());
  }

  // ------------------------------------------------------------------------------------------------------ feeding

  /** One conversation goes on: it is looked up, its blocks appear on a slot, and its session owns the prompt. */
  #turn(): void {
    const path = this.#world.turn();
    this.#query(path);
    const known = this.#random.oneIn(3) ? 0 : this.#random.below(path.length);
    this.#store(this.#world.cut(path, known, path.length));
    this.#own(path);
  }

  #store({ seq, parent }: { seq: bigint[]; parent: bigint | null | undefined }): void {
    const { slot, incarnation } = this.#pickSlot();
    const nowMs = this.#later();
    this.#feed('store', (index, result) =>
      index.store(slot, incarnation, BigUint64Array.from(seq), parent, nowMs, result),
    );
  }

  #removeSome(): void {
    const random = this.#random;
    const ref = this.#pickSlot();
    const { seq } = this.#world.part();
    const kind = random.below(6);
    if (kind === 0) this.#remove(ref, seq);
    else if (kind === 1) this.#remove(ref, seq.reverse());
    else if (kind === 2) this.#remove(ref, this.#world.handful());
    else if (kind === 3) this.#remove(ref, everyNth(seq, random.between(2, 5)));
    else if (kind === 4) this.#remove(ref, [...seq, ...seq.slice(0, 2)]);
    else for (const hash of (random.oneIn(2) ? seq : seq.reverse()).slice(0, 5)) this.#remove(ref, [hash]);
  }

  #remove({ slot, incarnation }: SlotRef, seq: bigint[]): void {
    this.#feed('remove', (index, result) =>
      index.remove(slot, incarnation, BigUint64Array.from(seq), result),
    );
  }

  #own(seq: bigint[]): void {
    const session = this.#pickSession();
    const nowMs = this.#later();
    this.#feed('own', (index, result) => index.own(session, BigUint64Array.from(seq), nowMs, result));
  }

  #endSessions(): void {
    if (this.#random.oneIn(3)) {
      const cutoff = this.#nowMs - this.#random.below(60);
      this.#both('endIdleSessions', (index) => index.endIdleSessions(cutoff));
    } else {
      const session = this.#pickSession();
      this.#both('endSession', (index) => index.endSession(session));
    }
  }

  #changeSlots(): void {
    const kind = this.#random.below(8);
    if (this.#slots.length < this.#mostSlots && (this.#slots.length === 0 || kind < 5)) {
      const slot = this.#both('addSlot', (index) => index.addSlot());
      const incarnation = this.#both('incarnation', (index) => index.incarnation(slot));
      this.#slots.push({ slot, incarnation });
      return;
    }
    const { slot, incarnation } = this.#pickSlot();
    if (kind < 6) {
      this.#both('clear', (index) => index.clear(slot, incarnation));
      return;
    }
    this.#both('removeSlot', (index) => index.removeSlot(slot, incarnation));
    this.#former.push({ slot, incarnation });
    this.#slots = this.#slots.filter((ref) => ref.slot !== slot || ref.incarnation !== incarnation);
  }

  /** Each side goes on from the other one's snapshot, sometimes in a new index. */
  #restoreAcross(): void {
    const [first, second] = this.#sides;
    const snapshots = [second.index.snapshot(), first.index.snapshot()] as const;
    const isNew = this.#random.oneIn(2);
    for (const [i, side] of this.#sides.entries()) {
      if (isNew) {
        side.index.close();
        side.index = side.seam.createIndex({ maxSessions: this.#maxSessions });
      }
      this.#expect('restore', side.index.restore(snapshots[i]!), '');
    }
    this.#former.push(...this.#slots);
    const slots = this.#both('slotNumbers', (index) => index.slotNumbers());
    this.#slots = Array.from(slots, (slot) => ({
      slot,
      incarnation: this.#both('incarnation', (index) => index.incarnation(slot)),
    }));
    this.#checkAll();
  }

  // ----------------------------------------------------------------------------------------------------- comparing

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
    const session = this.#pickSession();
    const maxOwners = this.#random.oneOf([1, 1, 2, 8]);
    const mode = this.#random.oneOf([MODE.prefix, MODE.set]);
    this.#both('overlap', (index) => {
      const out = new Uint32Array(index.slotCount()).fill(7);
      index.overlap(seq, mode, out);
      return out;
    });
    this.#both('exclusiveOverlap', (index) => {
      const out = new Uint32Array(index.slotCount()).fill(7);
      index.exclusiveOverlap(session, seq, mode, maxOwners, out);
      return out;
    });
    this.#both('fairOverlap', (index) => {
      const out = new Float64Array(index.slotCount()).fill(7);
      index.fairOverlap(seq, out);
      return out;
    });
  }

  #contains(hash: bigint): void {
    this.#both('contains', (index) => index.contains(hash));
  }

  #checkAll(): void {
    this.#both('stats', (index) => {
      const { runs, runHolders, usedBytes, reservedBytes, ownershipBytes, ...exact } = index.stats();
      expect(runs).toBeLessThanOrEqual(exact.blocks);
      expect(runHolders).toBeGreaterThanOrEqual(0);
      expect(usedBytes).toBeLessThanOrEqual(reservedBytes);
      expect(ownershipBytes).toBeLessThanOrEqual(reservedBytes);
      return exact;
    });
    this.#both('validate', (index) => index.validate());
    this.#both('sessionNumbers', (index) => index.sessionNumbers());
    for (const slot of this.#both('slotNumbers', (index) => index.slotNumbers())) {
      this.#both('enumerate', (index) => index.enumerate(slot));
      this.#both('slot', (index) => [
        index.incarnation(slot),
        index.residentBlocks(slot),
        index.lastStoreMs(slot),
      ]);
    }
  }

  #emptyAndCheck(): void {
    for (const { slot, incarnation } of this.#slots) {
      this.#both('removeSlot', (index) => index.removeSlot(slot, incarnation));
    }
    this.#both('endIdleSessions', (index) => index.endIdleSessions(this.#nowMs));
    this.#checkAll();
    for (const { index, seam } of this.#sides) {
      const { blocks, runs, usedBytes } = index.stats();
      const empty = seam.createIndex({ maxSessions: this.#maxSessions });
      this.#expect(
        'an emptied index',
        { blocks, runs, usedBytes },
        { blocks: 0, runs: 0, usedBytes: empty.stats().usedBytes },
      );
      empty.close();
    }
  }

  #feed(what: string, call: (index: CoreIndex, result: Float64Array) => unknown): void {
    this.#both(what, (index) => {
      const result = new Float64Array(RESULT_LENGTH).fill(7);
      const answer = call(index, result);
      return [answer, ...result];
    });
  }

  #both<T>(what: string, call: (index: CoreIndex) => T): T {
    this.operations++;
    const [first, second] = this.#sides;
    const answer = call(first.index);
    this.#expect(what, answer, call(second.index));
    return answer;
  }

  /** `expect` on every operation would take most of the time. */
  #expect(what: string, actual: unknown, expected: unknown): void {
    if (isSame(actual, expected)) return;
    expect(actual, `operation ${this.operations}: ${what}`).toEqual(expected);
  }

  // ------------------------------------------------------------------------------------------------------ choosing

  #pickSlot(): SlotRef {
    const isStale = this.#former.length > 0 && this.#random.oneIn(40);
    return this.#random.oneOf(isStale ? this.#former : this.#slots);
  }

  /** A live session, none, or any number. */
  #pickSession(): number {
    const live = this.#sides[1].index.sessionNumbers();
    const kind = this.#random.below(16);
    if (kind === 15) return this.#random.below(50);
    return kind < 4 || live.length === 0 ? 0 : live[this.#random.below(live.length)]!;
  }

  #later(): number {
    this.#nowMs += this.#random.below(3);
    return this.#nowMs;
  }
}

function everyNth(seq: readonly bigint[], n: number): bigint[] {
  return seq.filter((_, i) => i % n === 0);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const left = Object.values(a);
  const right = Object.values(b);
  return left.length === right.length && left.every((value, i) => Object.is(value, right[i]));
}
