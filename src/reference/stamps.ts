import { SLOT_MODE } from '../native/seam.js';
import type { IndexState, Slot } from './index-state.js';

/**
 * Stamps the blocks of one call, the last one first, so that heads are newer than tails: those that `holder` holds, or
 * without a holder all. Of a hash named twice the first place counts.
 */
export function stampCall(
  state: IndexState,
  hashes: ArrayLike<bigint>,
  holder: Slot | undefined,
  nowMs: number,
): void {
  const stampsSlot = holder?.mode === SLOT_MODE.bounded;
  const stampsKnown = state.options.maxBlocks > 0;
  const end = state.nextStamp + hashes.length;
  if (stampsSlot || stampsKnown) {
    for (let i = hashes.length - 1; i >= 0; i--) {
      const hash = hashes[i]!;
      if (holder && !holder.blocks.has(hash)) continue;
      const stamp = end - 1 - i;
      if (stampsSlot) holder.stamps.set(hash, { stamp, ms: nowMs });
      if (stampsKnown) state.known.set(hash, stamp);
    }
  }
  state.nextStamp = end;
}

/**
 * Gives the known blocks of a snapshot that has no stamps for them such: the last block of the last chain becomes the
 * oldest one.
 */
export function stampAll(state: IndexState): void {
  for (const hash of [...state.blocks.keys()].reverse()) state.known.set(hash, state.nextStamp++);
}
