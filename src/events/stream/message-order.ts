import { seam } from '../../native/index.js';
import { batchTime } from './batch-time.js';
import type { HeldMessages } from './held-messages.js';
import type { Knowledge } from './knowledge.js';
import { RecentChecks } from './recent-checks.js';
import type { StreamEffect, StreamPosition, StreamSink } from './types.js';

const NONE = -1;
const UNREAD: StreamEffect = { isDamaged: true, isCleared: false };

/**
 * Messages on their way to a sink, each number once and rising; those that came too early are held. What is missing is filled
 * by `apply`, or given up by `passOver`.
 *
 *   applied ──┤ next │ missing │ held │ missing │ held, the highest ├──
 */
export class MessageOrder {
  readonly #sink: StreamSink;
  readonly #knowledge: Knowledge;
  readonly #held: HeldMessages;
  readonly #recent = new RecentChecks();
  #next = 0;
  #highest = NONE;
  /** Of the last message applied, in the engine's clock. */
  #batchTime: number | undefined;
  #dropped = 0;

  constructor(
    sink: StreamSink,
    knowledge: Knowledge,
    held: HeldMessages,
    resume: StreamPosition | undefined,
  ) {
    this.#sink = sink;
    this.#knowledge = knowledge;
    this.#held = held;
    if (resume === undefined) return;
    this.#next = resume.sequence + 1;
    this.#recent.set(resume.sequence, resume.check);
  }

  /** The number to apply next; 0: none was. */
  get next(): number {
    return this.#next;
  }

  /** The highest number seen, −1: none was. */
  get highest(): number {
    return Math.max(this.#highest, this.#next - 1);
  }

  /** Are messages missing, or held? */
  get isBehind(): boolean {
    return this.#highest >= this.#next;
  }

  get heldMessages(): number {
    return this.#held.size;
  }

  get heldBytes(): number {
    return this.#held.bytes;
  }

  /** Messages that were to be held and found no room. */
  get dropped(): number {
    return this.#dropped;
  }

  isRecent(sequence: number): boolean {
    return this.#recent.get(sequence) !== undefined;
  }

  /**
   * Of a number below `next`: has the engine given it anew? When it is not recent, only the engine's clock tells; undefined: it
   * does not.
   */
  isOfNewLife(sequence: number, payload: Uint8Array): boolean | undefined {
    const known = this.#recent.get(sequence);
    if (known !== undefined) return known !== seam.xxh64(payload, 0n);
    const time = batchTime(payload);
    if (time === undefined || this.#batchTime === undefined) return undefined;
    return time > this.#batchTime;
  }

  /** Of a number from `next` on: is this message held? Undefined: none with that number is. */
  isHeld(sequence: number, payload: Uint8Array): boolean | undefined {
    return this.#held.isSame(sequence, payload);
  }

  hasRoomFor(payload: Uint8Array): boolean {
    return this.#held.hasRoomFor(payload);
  }

  /** The next message, and what is held behind it. */
  apply(sequence: number, payload: Uint8Array, receivedMs: number, isReplayed: boolean): void {
    if (this.#held.size > 0) this.#held.take(sequence);
    this.#applyOne(sequence, payload, receivedMs, isReplayed);
    if (this.#held.size > 0) this.applyHeld();
  }

  /** What is held from the next message on, up to the first that is missing. */
  applyHeld(): void {
    for (;;) {
      const message = this.#held.take(this.#next);
      if (message === undefined) return;
      this.#applyOne(message.sequence, message.payload, message.receivedMs, false);
    }
  }

  /** A message from `next` on that is not held. For want of room it is dropped, and all that is held with it. */
  hold(sequence: number, payload: Uint8Array, receivedMs: number): void {
    this.#highest = Math.max(this.#highest, sequence);
    if (this.#held.hasRoomFor(payload)) {
      this.#held.add({ sequence, payload, receivedMs });
    } else {
      this.#dropped += this.#held.size + 1;
      this.#held.clear();
    }
  }

  /** Applies what is held below a number, and what follows on that; what is missing below it is given up. */
  passOver(below: number): void {
    while (this.#next < below) {
      const to = Math.min(this.#held.lowest() ?? below, below);
      if (to > this.#next) this.#knowledge.lose(this.#next > 0);
      this.#next = to;
      this.applyHeld();
    }
  }

  /** The engine began anew: nothing of it is known. */
  restart(): void {
    this.#next = 0;
    this.#highest = NONE;
    this.#batchTime = undefined;
    this.#recent.clear();
    this.#held.clear();
    this.#knowledge.forget();
    this.#sink.restarted();
  }

  #applyOne(sequence: number, payload: Uint8Array, receivedMs: number, isReplayed: boolean): void {
    const check = seam.xxh64(payload, 0n);
    this.#recent.set(sequence, check);
    this.#batchTime = batchTime(payload);
    this.#next = sequence + 1;
    let effect = UNREAD;
    try {
      effect = this.#sink.apply({ payload, sequence, check, receivedMs, isReplayed });
    } finally {
      this.#knowledge.note(effect);
    }
  }
}
