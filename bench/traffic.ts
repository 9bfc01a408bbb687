import {
  type CoreIndex,
  MODE,
  RESULT,
  RESULT_LENGTH,
  type Seam,
  SLOT_FIGURE,
  SLOT_FIGURES_LENGTH,
  SLOT_MODE,
  STATUS,
} from '../src/native/seam.js';
import { Random } from './random.js';

export interface TrafficSizes {
  readonly slots: number;
  /** Of each bounded slot. */
  readonly capacity: number;
  readonly maxBlocks: number;
  /** Conversations under way. */
  readonly sessions: number;
  /** An operation takes a millisecond. */
  readonly ttlMs: number;
}

interface Session {
  /** Room for its longest prompt. */
  readonly blocks: BigUint64Array;
  length: number;
  /** The length at which it ends. */
  last: number;
  slot: number;
  /** The index's number of it; 0: it owns nothing. */
  owner: number;
}

const HEADS = 16;
const HEAD_BLOCKS = 24;
const MOST_BLOCKS = 192;
const MOST_PINS = 200;
/** One worker leaves, or loses everything, after so many operations. */
const LEAVES_AFTER = 9_973;

/**
 * Random traffic over slots of all kinds (bounded, with and without a ttl, plain, reference-counted) in an index that is
 * bounded itself: conversations begin, grow and end, requests pin what they use, engines remove, report in full, restart
 * and go. Throws when the index refuses what it should take, or exceeds a bound.
 */
export class Traffic {
  readonly index: CoreIndex;
  /** Operations done. */
  operations = 0;

  readonly #sizes: TrafficSizes;
  readonly #random = new Random(23);
  readonly #heads = Array.from({ length: HEADS }, () => this.#random.hashes(HEAD_BLOCKS));
  readonly #incarnations: Uint32Array;
  readonly #sessions: Session[];
  /** Which session has a number of the index. */
  readonly #byOwner: Session[] = [];
  readonly #pins: { slot: number; incarnation: number; seq: BigUint64Array }[] = [];
  readonly #result = new Float64Array(RESULT_LENGTH);
  readonly #figures = new Float64Array(SLOT_FIGURES_LENGTH);
  readonly #out: Uint32Array;

  constructor(seam: Pick<Seam, 'createIndex'>, sizes: TrafficSizes) {
    this.#sizes = sizes;
    this.index = seam.createIndex({
      maxSessions: Math.ceil(sizes.sessions * 0.9),
      maxBlocks: sizes.maxBlocks,
      evictedHistory: sizes.maxBlocks >> 5,
    });
    this.#out = new Uint32Array(sizes.slots);
    this.#incarnations = new Uint32Array(sizes.slots);
    for (let slot = 0; slot < sizes.slots; slot++) this.#addSlot(slot);
    this.#sessions = Array.from({ length: sizes.sessions }, () => {
      const session = { blocks: new BigUint64Array(MOST_BLOCKS), length: 0, last: 0, slot: 0, owner: 0 };
      this.#begin(session);
      session.length += this.#below(session.last - session.length); // not all at their beginning at once
      return session;
    });
  }

  /** One operation. */
  step(): void {
    this.operations++;
    if (this.operations % LEAVES_AFTER === 0) this.#leave(this.#below(this.#sizes.slots));
    else this.#traffic();
  }

  #traffic(): void {
    const session = this.#sessions[this.#below(this.#sessions.length)]!;
    const dice = this.#below(1_000);
    if (dice < 420) this.#turn(session);
    else if (dice < 680) this.#own(session);
    else if (dice < 800) this.#refresh(session);
    else if (dice < 860) this.#pinOrUnpin(session);
    else if (dice < 900) this.#remove(session);
    else if (dice < 985) this.#ask(session);
    else if (dice < 990) this.#end(session);
    else if (dice < 994) this.#report(session.slot);
    else if (dice < 996) this.#setCapacity(session.slot);
    else if (dice < 998) this.#expire();
    else this.#endIdle();
  }

  /** Looks whether the bounds hold; `blocks`: those known. */
  checkBounds(blocks: number): void {
    this.#must(blocks <= this.#sizes.maxBlocks, `${blocks} blocks are known`);
    for (let slot = 0; slot < this.#sizes.slots; slot++) {
      this.index.slotFigures(slot, this.#figures);
      if (this.#figures[SLOT_FIGURE.mode] !== SLOT_MODE.bounded) continue;
      const resident = this.#figures[SLOT_FIGURE.residentBlocks]!;
      this.#must(resident <= this.#figures[SLOT_FIGURE.capacity]!, `slot ${slot} holds ${resident} blocks`);
    }
  }

  // ---------------------------------------------------------------------------------------------------- sessions

  #begin(session: Session): void {
    const { blocks } = session;
    blocks.set(this.#random.hashes(MOST_BLOCKS));
    blocks.set(this.#heads[this.#below(HEADS)]!);
    session.length = HEAD_BLOCKS;
    session.last = HEAD_BLOCKS + 8 + this.#below(MOST_BLOCKS - HEAD_BLOCKS - 8);
    session.slot = this.#below(this.#sizes.slots);
  }

  #end(session: Session): void {
    if (session.owner !== 0) {
      this.#must(this.index.endSession(session.owner) >= 0, 'a session has no end');
      session.owner = 0;
    }
    this.#begin(session);
  }

  #turn(session: Session): void {
    if (session.length === session.last) this.#end(session);
    session.length = Math.min(session.last, session.length + 1 + this.#below(12));
    const { slot } = session;
    const seq = prompt(session);
    this.#mustBe(
      this.index.store(slot, this.#incarnations[slot]!, seq, undefined, this.operations, this.#result),
    );
  }

  #own(session: Session): void {
    const number = this.index.own(session.owner, prompt(session), this.operations, this.#result);
    const ended = this.#result[RESULT.ended]!;
    if (ended !== 0) this.#byOwner[ended]!.owner = 0;
    session.owner = number;
    this.#byOwner[number] = session;
  }

  #endIdle(): void {
    for (const number of this.index.endIdleSessions(this.operations - this.#sizes.ttlMs))
      this.#byOwner[number]!.owner = 0;
  }

  // -------------------------------------------------------------------------------------------------------- slots

  #addSlot(slot: number): void {
    this.#must(this.index.addSlot() === slot, 'the free slot comes back');
    const incarnation = this.index.incarnation(slot);
    this.#incarnations[slot] = incarnation;
    if (slot % 8 < 6) this.#setCapacity(slot);
    else if (slot % 8 === 6) this.#mustBe(this.index.countReferences(slot, incarnation));
  }

  #setCapacity(slot: number): void {
    if (slot % 8 >= 6) return;
    const { capacity } = this.#sizes;
    const blocks = capacity - (capacity >> 4) + this.#below(capacity >> 3);
    const ttlMs = slot % 8 < 2 ? this.#sizes.ttlMs : 0;
    this.#mustBe(this.index.setCapacity(slot, this.#incarnations[slot]!, blocks, ttlMs, this.#result));
  }

  #leave(slot: number): void {
    const incarnation = this.#incarnations[slot]!;
    if (slot % 2 === 0) {
      this.#must(this.index.clear(slot, incarnation) >= 0, 'a slot is cleared');
    } else {
      this.#must(this.index.removeSlot(slot, incarnation), 'a slot is removed');
      this.#addSlot(slot);
    }
  }

  #refresh(session: Session): void {
    const { slot } = session;
    const seq = prompt(session);
    this.#must(
      this.index.refresh(slot, this.#incarnations[slot]!, seq, this.operations, this.#result),
      'refresh',
    );
  }

  /** A request starts and pins what it hits; when there are many, the oldest one finishes. */
  #pinOrUnpin(session: Session): void {
    if (this.#pins.length < MOST_PINS) {
      const { slot } = session;
      const incarnation = this.#incarnations[slot]!;
      const seq = prompt(session).slice();
      this.#pins.push({ slot, incarnation, seq });
      this.#must(this.index.pin(slot, incarnation, seq, this.#result), 'pin');
    } else {
      const { slot, incarnation, seq } = this.#pins.shift()!;
      const same = this.#incarnations[slot] === incarnation;
      this.#must(this.index.unpin(slot, incarnation, seq, this.#result) === same, 'unpin');
    }
  }

  /** The engine has evicted the end of a prompt. */
  #remove(session: Session): void {
    const { slot, length } = session;
    const tail = prompt(session).subarray(length - this.#below(length >> 1));
    this.#must(this.index.remove(slot, this.#incarnations[slot]!, tail, this.#result), 'remove');
  }

  /** A full report: the conversations under way on the slot. */
  #report(slot: number): void {
    const prompts = this.#sessions.filter((session) => session.slot === slot).map(prompt);
    const seq = new BigUint64Array(prompts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const each of prompts) {
      seq.set(each, at);
      at += each.length;
    }
    const lengths = Uint32Array.from(prompts, ({ length }) => length);
    const kinds = new Uint8Array(prompts.length);
    const parents = new BigUint64Array(prompts.length);
    const { operations } = this;
    const incarnation = this.#incarnations[slot]!;
    this.#mustBe(
      this.index.replace(slot, incarnation, seq, lengths, kinds, parents, operations, this.#result),
    );
  }

  #expire(): void {
    this.#must(this.index.expire(this.operations) >= 0, 'expire');
  }

  #ask(session: Session): void {
    this.index.overlap(prompt(session), MODE.prefix, this.#out);
    const most = Math.max(...this.#out);
    this.#must(most <= session.length, `${most} blocks overlap of ${session.length}`);
  }

  // ------------------------------------------------------------------------------------------------------- helpers

  #below(n: number): number {
    return this.#random.u32() % n;
  }

  #mustBe(status: number): void {
    this.#must(status === STATUS.ok, `status ${status}`);
  }

  #must(holds: boolean, what: string): void {
    if (!holds) throw new Error(`operation ${this.operations}: ${what}`);
  }
}

function prompt({ blocks, length }: Session): BigUint64Array {
  return blocks.subarray(0, length);
}
