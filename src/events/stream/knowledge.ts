import type { DegradedReason, StreamEffect } from './types.js';

/**
 * What is wrong with what is known, each kind by itself, so that an end of one uncovers the others. The reason told is the
 * first of
 *
 *   damaged, replay-too-short, late-start    until the engine clears its cache or begins anew
 *   replay-failed, unconfirmed, gap          may end at any time
 *
 * in that order: first what lasts, so that a stream that goes on from the reason last told forgets nothing (what may end is
 * found out again by asking); in either line first what may be more wrong.
 */
export class Knowledge {
  #isDamaged = false;
  #lost: 'replay-too-short' | 'late-start' | undefined;
  /** Nothing tells that the engine holds what is known. */
  isUnconfirmed = true;

  /** `reason`: as it was told last, for a stream that goes on. */
  constructor(reason: DegradedReason | undefined) {
    this.#isDamaged = reason === 'damaged';
    if (reason === 'replay-too-short' || reason === 'late-start') this.#lost = reason;
  }

  /** Messages are given up, behind others or before all. */
  lose(isBehindOthers: boolean): void {
    this.#lost = isBehindOthers ? 'replay-too-short' : (this.#lost ?? 'late-start');
  }

  note({ isCleared, isDamaged }: StreamEffect): void {
    if (isCleared) {
      this.#lost = undefined;
      this.#isDamaged = false;
    }
    // Which of the two came last is not said.
    if (isDamaged) this.#isDamaged = true;
  }

  /** All of it is void. */
  forget(): void {
    this.#isDamaged = false;
    this.#lost = undefined;
    this.isUnconfirmed = false;
  }

  reason(isMissing: boolean, isFailing: boolean): DegradedReason | undefined {
    if (this.#isDamaged) return 'damaged';
    if (this.#lost !== undefined) return this.#lost;
    if (isFailing && (this.isUnconfirmed || isMissing)) return 'replay-failed';
    if (this.isUnconfirmed) return 'unconfirmed';
    return isMissing ? 'gap' : undefined;
  }
}
