import { expect } from 'vitest';
import {
  CAUSE,
  type CoreIndex,
  type CoreIndexOptions,
  MODE,
  PARENT,
  RESULT,
  RESULT_LENGTH,
  SLOT_FIGURE,
  SLOT_FIGURES_LENGTH,
  STATUS,
} from '../../src/native/seam.js';
import { createReferenceIndex } from '../../src/reference/core-index.js';
import { createReferenceHasher } from '../../src/reference/hash.js';

const hasher = await createReferenceHasher();

export const NOTHING = {
  applied: 0,
  duplicate: 0,
  unknown: 0,
  orphaned: 0,
  rejected: 0,
  firstBad: -1,
  evicted: 0,
};

/** A chain; without parent from the root, null: unknown. */
export type Told = readonly [seq: number[], parent?: number | null];

/** The seam with small conveniences: numbers for hashes, results as objects, the present incarnation. */
export class Handy {
  readonly index: CoreIndex;
  readonly result = new Float64Array(RESULT_LENGTH);

  constructor(options: Partial<CoreIndexOptions> = {}) {
    this.index = createReferenceIndex(
      { maxSessions: 0, maxBlocks: 0, evictedHistory: 0, ...options },
      hasher,
    );
  }

  slots(count: number): number[] {
    return Array.from({ length: count }, () => this.index.addSlot());
  }

  boundedSlot(capacity: number, ttlMs = 0): number {
    const slot = this.index.addSlot();
    expect(this.setCapacity(slot, capacity, ttlMs)).toEqual({ status: 'ok', evicted: 0 });
    return slot;
  }

  countingSlot(): number {
    const slot = this.index.addSlot();
    expect(this.countReferences(slot)).toBe('ok');
    return slot;
  }

  setCapacity(slot: number, blocks: number, ttlMs = 0) {
    const incarnation = this.index.incarnation(slot);
    const status = this.index.setCapacity(slot, incarnation, blocks, ttlMs, this.result);
    const { evicted, ...rest } = this.#result();
    expect({ ...rest, evicted: 0 }).toEqual(NOTHING);
    return { status: nameOf(STATUS, status), evicted };
  }

  countReferences(slot: number): string {
    return nameOf(STATUS, this.index.countReferences(slot, this.index.incarnation(slot)));
  }

  store(slot: number, seq: number[], parent?: number | null, nowMs = 0) {
    const told = typeof parent === 'number' ? BigInt(parent) : parent;
    const status = this.index.store(
      slot,
      this.index.incarnation(slot),
      hashes(seq),
      told,
      nowMs,
      this.result,
    );
    expect(nameOf(STATUS, status)).toBe('ok');
    return this.#result();
  }

  replace(slot: number, chains: readonly Told[], nowMs = 0) {
    expect(this.replaceStatus(slot, chains, nowMs)).toBe('ok');
    return this.#result();
  }

  replaceStatus(slot: number, chains: readonly Told[], nowMs = 0): string {
    const status = this.index.replace(
      slot,
      this.index.incarnation(slot),
      hashes(chains.flatMap(([seq]) => seq)),
      Uint32Array.from(chains, ([seq]) => seq.length),
      Uint8Array.from(chains, ([, parent]) => kindOf(parent)),
      hashes(chains.map(([, parent]) => parent ?? 0)),
      nowMs,
      this.result,
    );
    return nameOf(STATUS, status);
  }

  refresh(slot: number, seq: number[], nowMs = 0) {
    expect(this.index.refresh(slot, this.index.incarnation(slot), hashes(seq), nowMs, this.result)).toBe(
      true,
    );
    return this.#result();
  }

  pin(slot: number, seq: number[]) {
    expect(this.index.pin(slot, this.index.incarnation(slot), hashes(seq), this.result)).toBe(true);
    return this.#result();
  }

  unpin(slot: number, seq: number[]) {
    expect(this.index.unpin(slot, this.index.incarnation(slot), hashes(seq), this.result)).toBe(true);
    return this.#result();
  }

  remove(slot: number, seq: number[]) {
    expect(this.index.remove(slot, this.index.incarnation(slot), hashes(seq), this.result)).toBe(true);
    return this.#result();
  }

  clear(slot: number): number {
    return this.index.clear(slot, this.index.incarnation(slot));
  }

  own(session: number, seq: number[], nowMs = 0) {
    const number = this.index.own(session, hashes(seq), nowMs, this.result);
    return { session: number, ...this.#result(), ended: this.result[RESULT.ended] };
  }

  resident(slot: number): number[] {
    return Array.from(this.index.enumerate(slot, true), Number);
  }

  figures(slot: number): Record<keyof typeof SLOT_FIGURE, number> {
    const out = new Float64Array(SLOT_FIGURES_LENGTH);
    this.index.slotFigures(slot, out);
    const entries = Object.entries(SLOT_FIGURE).map(([name, place]) => [name, out[place]!]);
    return Object.fromEntries(entries) as Record<keyof typeof SLOT_FIGURE, number>;
  }

  evictedBy(slot: number, hash: number): string {
    return nameOf(CAUSE, this.index.evictedBy(slot, BigInt(hash)));
  }

  overlap(seq: number[], mode: number = MODE.prefix): number[] {
    const out = new Uint32Array(this.index.slotCount());
    this.index.overlap(hashes(seq), mode, out);
    return Array.from(out);
  }

  exclusive(session: number, seq: number[], maxOwners = 1, mode: number = MODE.prefix): number[] {
    const out = new Uint32Array(this.index.slotCount());
    this.index.exclusiveOverlap(session, hashes(seq), mode, maxOwners, out);
    return Array.from(out);
  }

  fair(seq: number[]): number[] {
    const out = new Float64Array(this.index.slotCount());
    this.index.fairOverlap(hashes(seq), out);
    return Array.from(out);
  }

  #result() {
    const { applied, duplicate, unknown, orphaned, rejected, firstBad, evicted } = RESULT;
    const at = (place: number) => this.result[place]!;
    expect(this.index.validate()).toBe('');
    return {
      applied: at(applied),
      duplicate: at(duplicate),
      unknown: at(unknown),
      orphaned: at(orphaned),
      rejected: at(rejected),
      firstBad: at(firstBad),
      evicted: at(evicted),
    };
  }
}

export function hashes(numbers: number[]): BigUint64Array {
  return BigUint64Array.from(numbers, BigInt);
}

function kindOf(parent: number | null | undefined): number {
  if (parent === undefined) return PARENT.root;
  return parent === null ? PARENT.unknown : PARENT.hash;
}

function nameOf(names: Record<string, number>, value: number): string {
  return Object.keys(names).find((name) => names[name] === value)!;
}
