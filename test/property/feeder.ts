import {
  CAUSE,
  type CoreIndex,
  PARENT,
  RESULT,
  SLOT_FIGURE,
  SLOT_MODE,
  STATUS,
} from '../../src/native/seam.js';
import type { Random } from './random.js';
import type { Sides } from './sides.js';
import type { SlotRef, SlotRefs } from './slot-refs.js';
import type { Chain, World } from './world.js';

/** Random calls that change both sides alike, each followed by a look at the bounds. */
export class Feeder {
  readonly #random: Random;
  readonly #world: World;
  readonly #sides: Sides;
  readonly #slots: SlotRefs;
  readonly #mostSlots: number;
  /** What calls answered, in words. */
  readonly #met: Set<string>;
  #nowMs = 0;

  constructor(random: Random, world: World, sides: Sides, slots: SlotRefs, met: Set<string>) {
    this.#random = random;
    this.#world = world;
    this.#sides = sides;
    this.#slots = slots;
    this.#mostSlots = random.oneOf([1, 3, 9, 80]);
    this.#met = met;
  }

  // --------------------------------------------------------------------------------------------------- residency

  /** A conversation has gone on: its blocks appear on a slot, and its session owns the prompt. */
  turn(path: bigint[]): void {
    const ref = this.#slots.pick();
    const known = this.#random.oneIn(3) || this.#isBounded(ref) ? 0 : this.#random.below(path.length);
    this.#store(ref, this.#world.cut(path, known, path.length));
    this.own(path);
  }

  storeSome(): void {
    const ref = this.#slots.pick();
    this.#store(ref, this.#chainFor(ref));
  }

  storeLie(): void {
    this.#store(this.#slots.pick(), this.#world.lie());
  }

  removeSome(): void {
    const random = this.#random;
    const ref = this.#slots.pick();
    const { seq } = this.#world.part();
    const kind = random.below(6);
    if (kind === 0) this.#remove(ref, seq);
    else if (kind === 1) this.#remove(ref, seq.reverse());
    else if (kind === 2) this.#remove(ref, this.#world.handful());
    else if (kind === 3) this.#remove(ref, everyNth(seq, random.between(2, 5)));
    else if (kind === 4) this.#remove(ref, [...seq, ...seq.slice(0, 2)]);
    else for (const hash of (random.oneIn(2) ? seq : seq.reverse()).slice(0, 5)) this.#remove(ref, [hash]);
  }

  /** A full report of nothing, of something else, or of much the same; with lies, gaps and chains that overlap. */
  replace(): void {
    const random = this.#random;
    const ref = this.#slots.pick();
    const chains = Array.from({ length: random.below(6) }, () => {
      if (random.oneIn(8)) return random.oneIn(2) ? this.#world.lie() : { seq: [], parent: null };
      return this.#chainFor(ref);
    });
    if (chains.length > 0 && random.oneIn(4)) chains.push(random.oneOf(chains));
    const seq = BigUint64Array.from(chains.flatMap((chain) => chain.seq));
    const lengths = Uint32Array.from(chains, (chain) => chain.seq.length);
    const kinds = Uint8Array.from(chains, ({ parent }) => kindOf(parent));
    const parents = BigUint64Array.from(chains, ({ parent }) => parent ?? 0n);
    const nowMs = this.#later();
    this.#feed('replace', ref, (index, { slot, incarnation }, result) =>
      index.replace(slot, incarnation, seq, lengths, kinds, parents, nowMs, result),
    );
  }

  refresh(): void {
    const ref = this.#slots.pick();
    if (!this.#random.oneIn(4)) {
      this.#refresh(ref, this.#named());
      return;
    }
    // Tails before heads: the stamps of both parts follow each other as those of one call do, but not the times.
    const { seq } = this.#world.head();
    const at = this.#random.below(seq.length + 1);
    this.#refresh(ref, seq.slice(at));
    this.#refresh(ref, seq.slice(0, at));
  }

  // ------------------------------------------------------------------------------------------------------ bounds

  /** A bound of any slot, and lower ones of slots that are bounded. */
  setCapacity(ref = this.#slots.pick()): void {
    const blocks = this.#random.oneOf([1, 2, 5, 20, 100, 1000]);
    const ttlMs = this.#random.oneOf([0, 0, 5, 40]);
    this.#feed('setCapacity', ref, (index, { slot, incarnation }, result) =>
      index.setCapacity(slot, incarnation, blocks, ttlMs, result),
    );
  }

  countReferences({ slot, incarnation } = this.#slots.pick()): void {
    const status = this.#sides.both('countReferences', (index) => index.countReferences(slot, incarnation));
    this.#met.add(`countReferences: ${statusName(status)}`);
  }

  /** As many pins go as come. */
  changePins(): void {
    const seq = BigUint64Array.from(this.#named());
    const ref = this.#slots.pick();
    if (this.#random.oneIn(2)) {
      this.#feed('pin', ref, (index, { slot, incarnation }, result) =>
        index.pin(slot, incarnation, seq, result),
      );
    } else {
      this.#feed('unpin', ref, (index, { slot, incarnation }, result) =>
        index.unpin(slot, incarnation, seq, result),
      );
    }
  }

  expire(): void {
    const nowMs = this.#later();
    const expired = this.#sides.both('expire', (index) => index.expire(nowMs));
    if (expired > 0) this.#met.add('expire: some');
    this.#sides.expectBounds(this.#slots.live.map(({ slot }) => slot));
  }

  // --------------------------------------------------------------------------------------------------- ownership

  own(seq: bigint[]): void {
    const session = this.pickSession();
    const nowMs = this.#later();
    const [, ...result] = this.#sides.feed('own', (index, out) =>
      index.own(session, BigUint64Array.from(seq), nowMs, out),
    );
    this.#meet('own', result);
    this.#sides.expectBounds([]);
  }

  endSessions(): void {
    if (this.#random.oneIn(3)) {
      const cutoff = this.#nowMs - this.#random.below(60);
      this.#sides.both('endIdleSessions', (index) => index.endIdleSessions(cutoff));
    } else {
      const session = this.pickSession();
      this.#sides.both('endSession', (index) => index.endSession(session));
    }
  }

  /** A live session, none, or any number. */
  pickSession(): number {
    const live = this.#sides.oracle.sessionNumbers();
    const kind = this.#random.below(16);
    if (kind === 15) return this.#random.below(50);
    return kind < 4 || live.length === 0 ? 0 : live[this.#random.below(live.length)]!;
  }

  // ------------------------------------------------------------------------------------------------------- slots

  changeSlots(): void {
    const kind = this.#random.below(8);
    const { length } = this.#slots.live;
    if (length < this.#mostSlots && (length === 0 || kind < 5)) {
      this.#addSlot();
      return;
    }
    const ref = this.#slots.pick();
    const { slot, incarnation } = ref;
    if (kind < 6) {
      this.#sides.both('clear', (index) => index.clear(slot, incarnation));
      return;
    }
    this.#sides.both('removeSlot', (index) => index.removeSlot(slot, incarnation));
    this.#slots.end(ref);
  }

  #addSlot(): void {
    const slot = this.#sides.both('addSlot', (index) => index.addSlot());
    const ref = { slot, incarnation: this.#sides.both('incarnation', (index) => index.incarnation(slot)) };
    this.#slots.add(ref);
    const kind = this.#random.below(10);
    if (kind < 4) this.setCapacity(ref);
    else if (kind < 6) this.countReferences(ref);
  }

  // --------------------------------------------------------------------------------------------------- internals

  #store(ref: SlotRef, { seq, parent }: Chain): void {
    const nowMs = this.#later();
    this.#feed('store', ref, (index, { slot, incarnation }, result) =>
      index.store(slot, incarnation, BigUint64Array.from(seq), parent, nowMs, result),
    );
  }

  #refresh(ref: SlotRef, seq: bigint[]): void {
    const nowMs = this.#later();
    this.#feed('refresh', ref, (index, { slot, incarnation }, result) =>
      index.refresh(slot, incarnation, BigUint64Array.from(seq), nowMs, result),
    );
  }

  #remove(ref: SlotRef, seq: bigint[]): void {
    this.#feed('remove', ref, (index, { slot, incarnation }, result) =>
      index.remove(slot, incarnation, BigUint64Array.from(seq), result),
    );
  }

  #feed(
    what: string,
    ref: SlotRef,
    call: (index: CoreIndex, ref: SlotRef, result: Float64Array) => number | boolean,
  ): void {
    const [answer, ...result] = this.#sides.feed(what, (index, out) => call(index, ref, out));
    this.#met.add(`${what}: ${statusName(answer!)}`);
    this.#meet(what, result);
    const { slot, incarnation } = ref;
    const isLive = this.#sides.oracle.incarnation(slot) === incarnation;
    this.#sides.expectBounds(isLive ? [slot] : []);
    if (this.#sides.options.evictedHistory > 0) this.askWhy(ref);
  }

  /** Why the slot lost some block. */
  askWhy({ slot } = this.#slots.pick()): void {
    if (slot >= this.#sides.oracle.slotCount()) return;
    const hash = this.#world.anyBlock();
    const cause = this.#sides.both('evictedBy', (index) => index.evictedBy(slot, hash));
    for (const [name, value] of Object.entries(CAUSE))
      if (value === cause) this.#met.add(`evictedBy: ${name}`);
  }

  #meet(what: string, result: readonly number[]): void {
    for (const [name, place] of Object.entries(RESULT)) {
      if (name !== 'firstBad' && result[place]! > 0) this.#met.add(`${what}: ${name}`);
    }
  }

  /** What the slot may take: a bounded one mostly gets chains from the root. */
  #chainFor(ref: SlotRef): Chain {
    return this.#isBounded(ref) && !this.#random.oneIn(12) ? this.#world.head() : this.#world.part();
  }

  /** Blocks to be refreshed or pinned, at times some twice. */
  #named(): bigint[] {
    switch (this.#random.below(5)) {
      case 0:
        return this.#world.handful();
      case 1: {
        const { seq } = this.#world.part();
        return [...seq, ...seq.slice(0, 2)];
      }
      case 2:
        return this.#world.part().seq;
      default:
        return this.#world.head().seq;
    }
  }

  #isBounded({ slot }: SlotRef): boolean {
    const isThere = slot < this.#sides.oracle.slotCount();
    return isThere && this.#sides.figures(slot)[SLOT_FIGURE.mode] === SLOT_MODE.bounded;
  }

  /** Clocks go back now and then. */
  #later(): number {
    this.#nowMs += this.#random.oneIn(50) ? -this.#random.below(30) : this.#random.below(3);
    return this.#nowMs;
  }
}

function kindOf(parent: Chain['parent']): number {
  if (parent === undefined) return PARENT.root;
  return parent === null ? PARENT.unknown : PARENT.hash;
}

function statusName(answer: number): string {
  return Object.entries(STATUS).find(([, value]) => value === answer)?.[0] ?? String(answer);
}

function everyNth(seq: readonly bigint[], n: number): bigint[] {
  return seq.filter((_, i) => i % n === 0);
}
