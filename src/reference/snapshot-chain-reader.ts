import { SLOT_MODE } from '../native/seam.js';
import type { Block, IndexState, Predecessor } from './index-state.js';
import { type ByteReader, demand } from './snapshot-bytes.js';
import { BYTES, KIND, KNOWN, MAX_CHAIN, MAX_STAMP } from './snapshot-format.js';

/** Blocks whose stamps fall by one from `newest` on. */
interface StampedRange {
  readonly hashes: readonly bigint[];
  readonly newest: number;
  readonly ms: number;
}

/** Reads the chains of a snapshot into a state that has slots and sessions. */
export class ChainReader {
  readonly #state: IndexState;
  /** By slot, and under KNOWN. */
  readonly #ranges = new Map<number, StampedRange[]>();
  #newest = -1;

  constructor(state: IndexState) {
    this.#state = state;
  }

  read(payload: ByteReader): void {
    const hashes = this.#readBlocks(payload);
    this.#readHolders(payload, hashes);
    this.#readOwners(payload, hashes);
    this.#readStamps(payload, hashes);
    this.#readCopies(payload, hashes);
    for (const hash of hashes) {
      const { holders, owners, predecessor } = this.#block(hash);
      demand(holders + owners > 0);
      demand(owners === 0 || predecessor !== null);
    }
  }

  /** After the last chain: gives the stamps. Answers the newest, −1: none. */
  finish(): number {
    const { slots, blocks, known } = this.#state;
    for (const [slot, holder] of slots.entries()) {
      if (holder?.mode !== SLOT_MODE.bounded) continue;
      this.#stamp(slot, (hash, stamp, ms) => holder.stamps.set(hash, { stamp, ms }));
      demand(holder.stamps.size === holder.blocks.size && holder.blocks.size <= holder.capacity);
    }
    this.#stamp(KNOWN, (hash, stamp) => known.set(hash, stamp));
    demand(known.size === 0 || known.size === blocks.size);
    return this.#newest;
  }

  #readBlocks(payload: ByteReader): bigint[] {
    const kind = payload.u32();
    const length = payload.u32();
    const before = payload.u64();
    demand(kind === KIND.hash || (before === 0n && (kind === KIND.root || kind === KIND.unknown)));
    demand(length >= 1 && length <= MAX_CHAIN);
    let predecessor: Predecessor = kind === KIND.hash ? before : kind === KIND.root ? undefined : null;
    const hashes: bigint[] = [];
    for (let i = 0; i < length; i++) {
      const hash = payload.u64();
      demand(!this.#state.blocks.has(hash));
      this.#state.blocks.set(hash, { predecessor, holders: 0, owners: 0 });
      hashes.push(hash);
      predecessor = hash;
    }
    return hashes;
  }

  #readHolders(payload: ByteReader, hashes: readonly bigint[]): void {
    let last = { slot: -1, end: 0 };
    for (let left = payload.count(BYTES.holder); left > 0; left--) {
      const interval = readInterval(payload, hashes.length, last);
      const { slot, begin, end } = interval;
      const touches = slot === last.slot && begin === last.end;
      const holder = this.#state.slots[slot];
      demand(holder !== undefined && !touches);
      for (const hash of hashes.slice(begin, end)) {
        holder.blocks.add(hash);
        this.#block(hash).holders++;
      }
      last = interval;
    }
  }

  #readOwners(payload: ByteReader, hashes: readonly bigint[]): void {
    let last = 0;
    for (let left = payload.count(BYTES.owner); left > 0; left--) {
      const session = payload.u32();
      const owned = payload.u32();
      const owner = this.#state.sessions.get(session);
      demand(owner !== undefined && session > last && owned >= 1 && owned <= hashes.length);
      for (const hash of hashes.slice(0, owned)) {
        owner.blocks.add(hash);
        this.#block(hash).owners++;
      }
      last = session;
    }
  }

  #readStamps(payload: ByteReader, hashes: readonly bigint[]): void {
    let last = { slot: -1, end: 0 };
    for (let left = payload.count(BYTES.stamp); left > 0; left--) {
      const interval = readInterval(payload, hashes.length, last);
      const { slot, begin, end } = interval;
      const newest = payload.u64();
      const ms = payload.f64();
      demand(newest < MAX_STAMP && Number.isFinite(ms));
      const stamped = hashes.slice(begin, end);
      if (slot === KNOWN) demand(ms === 0);
      else this.#demandHeld(slot, SLOT_MODE.bounded, stamped);
      const ranges = this.#ranges.get(slot) ?? [];
      this.#ranges.set(slot, ranges);
      ranges.push({ hashes: stamped, newest: Number(newest), ms });
      last = interval;
    }
  }

  #readCopies(payload: ByteReader, hashes: readonly bigint[]): void {
    let last = { slot: -1, end: 0 };
    for (let left = payload.count(BYTES.copies); left > 0; left--) {
      const interval = readInterval(payload, hashes.length, last);
      const copied = hashes.slice(interval.begin, interval.end);
      const further = payload.u32();
      demand(further >= 1);
      const { copies } = this.#demandHeld(interval.slot, SLOT_MODE.counted, copied);
      for (const hash of copied) copies.set(hash, further);
      last = interval;
    }
  }

  #demandHeld(slot: number, mode: number, hashes: readonly bigint[]) {
    const holder = this.#state.slots[slot];
    demand(holder?.mode === mode);
    for (const hash of hashes) demand(holder.blocks.has(hash));
    return holder;
  }

  /** Sorts ranges rather than blocks, and demands that they do not meet. */
  #stamp(slot: number, give: (hash: bigint, stamp: number, ms: number) => void): void {
    const ranges = this.#ranges.get(slot) ?? [];
    ranges.sort((a, b) => a.newest - b.newest);
    let before = -1;
    for (const { hashes, newest, ms } of ranges) {
      demand(newest - (hashes.length - 1) > before);
      for (let i = hashes.length - 1; i >= 0; i--) give(hashes[i]!, newest - i, ms);
      before = newest;
    }
    if (before > this.#newest) this.#newest = before;
  }

  #block(hash: bigint): Block {
    return this.#state.blocks.get(hash)!;
  }
}

interface Interval {
  readonly slot: number;
  readonly begin: number;
  readonly end: number;
}

/** A part of a chain; those of one list are sorted and do not overlap. */
function readInterval(
  payload: ByteReader,
  length: number,
  last: { readonly slot: number; readonly end: number },
): Interval {
  const slot = payload.u32();
  const begin = payload.u32();
  const end = payload.u32();
  demand(slot > last.slot || (slot === last.slot && begin >= last.end));
  demand(begin < end && end <= length);
  return { slot, begin, end };
}
