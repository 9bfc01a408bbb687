import {
  type CoreIndex,
  type CoreIndexOptions,
  MODE,
  RESULT_LENGTH,
  type Seam,
  SLOT_MODE,
  STATUS,
} from '../src/native/seam.js';
import type { Request, Requests } from './requests.js';

/** Requests that are served at once, where pins are set: from its start to its finish a request uses its blocks. */
const IN_FLIGHT = 8;

/**
 * The slots behind a router that gets no events: it stores what it sends, on the slot that it sends it to. Unless told
 * otherwise each is bounded, and the index is not.
 */
export class Fleet {
  readonly index: CoreIndex;
  /** Overlaps of the request asked for last. */
  readonly overlaps: Uint32Array;
  /** Of the store of the request fed last. */
  readonly stored = new Float64Array(RESULT_LENGTH);
  readonly #incarnations: Uint32Array;
  /** The index's number of each session. */
  readonly #owners: Uint32Array;
  readonly #other = new Float64Array(RESULT_LENGTH);

  constructor(
    seam: Pick<Seam, 'createIndex'>,
    { slots, sessions, capacity }: Requests,
    mode: number = SLOT_MODE.bounded,
    options: Partial<CoreIndexOptions> = {},
  ) {
    this.index = seam.createIndex({ maxSessions: 0, maxBlocks: 0, evictedHistory: 0, ...options });
    this.#incarnations = Uint32Array.from({ length: slots }, () => this.#addSlot(mode, capacity));
    this.#owners = new Uint32Array(sessions);
    this.overlaps = new Uint32Array(slots);
  }

  #addSlot(mode: number, capacity: number): number {
    const slot = this.index.addSlot();
    const incarnation = this.index.incarnation(slot);
    let status: number = STATUS.ok;
    if (mode === SLOT_MODE.bounded)
      status = this.index.setCapacity(slot, incarnation, capacity, 0, this.#other);
    if (mode === SLOT_MODE.counted) status = this.index.countReferences(slot, incarnation);
    if (status !== STATUS.ok) throw new Error(`slot ${slot}, mode ${mode}: status ${status}`);
    return incarnation;
  }

  /** Leading blocks of the request that its slot holds. */
  ask({ seq, slot }: Request): number {
    this.index.overlap(seq, MODE.prefix, this.overlaps);
    return this.overlaps[slot]!;
  }

  store({ seq, slot, nowMs }: Request): void {
    this.index.store(slot, this.#incarnations[slot]!, seq, undefined, nowMs, this.stored);
  }

  /** As an engine reports it: the blocks that are new, behind those that the slot holds. */
  storeNew(request: Request): void {
    const { seq, slot, nowMs } = request;
    const known = this.ask(request);
    const parent = known === 0 ? undefined : seq[known - 1];
    this.index.store(slot, this.#incarnations[slot]!, seq.subarray(known), parent, nowMs, this.stored);
  }

  remove({ seq, slot }: Request): void {
    this.index.remove(slot, this.#incarnations[slot]!, seq, this.#other);
  }

  own({ seq, session, nowMs }: Request): void {
    this.#owners[session] = this.index.own(this.#owners[session]!, seq, nowMs, this.#other);
  }

  endSession(session: number): void {
    this.index.endSession(this.#owners[session]!);
    this.#owners[session] = 0;
  }

  pin({ slot }: Request, seq: BigUint64Array): void {
    this.index.pin(slot, this.#incarnations[slot]!, seq, this.#other);
  }

  unpin({ slot }: Request, seq: BigUint64Array): void {
    this.index.unpin(slot, this.#incarnations[slot]!, seq, this.#other);
  }
}

/** Each request is asked for, stored and owned before the next one comes. Answers the blocks hit. */
export function replay(fleet: Fleet, { all }: Requests): number {
  let hits = 0;
  for (const request of all) {
    hits += fleet.ask(request);
    fleet.store(request);
    fleet.own(request);
  }
  return hits;
}

/** Each request pins what it hits when it starts. When it finishes, later ones have started; then it is stored and owned. */
export function replayPinned(fleet: Fleet, { all }: Requests): number {
  const pinned: BigUint64Array[] = [];
  let hits = 0;
  for (let i = 0; i < all.length + IN_FLIGHT; i++) {
    const finishing = all[i - IN_FLIGHT];
    if (finishing !== undefined) {
      fleet.unpin(finishing, pinned[i % IN_FLIGHT]!);
      fleet.store(finishing);
      fleet.own(finishing);
    }
    const starting = all[i];
    if (starting !== undefined) {
      const hit = fleet.ask(starting);
      hits += hit;
      pinned[i % IN_FLIGHT] = starting.seq.subarray(0, hit);
      fleet.pin(starting, pinned[i % IN_FLIGHT]!);
    }
  }
  return hits;
}
