import { SLOT_FIGURE, SLOT_MODE, STATUS } from '../native/seam.js';
import { enforceBounds } from './bounds.js';
import type { IndexState, Slot } from './index-state.js';

export function setCapacity(
  state: IndexState,
  slot: number,
  holder: Slot,
  blocks: number,
  ttlMs: number,
  result: Float64Array,
): number {
  if (holder.mode === SLOT_MODE.counted) return STATUS.otherMode;
  if (holder.mode === SLOT_MODE.plain && holder.blocks.size > 0) return STATUS.notEmpty;
  if (holder.pins.size > blocks) return STATUS.pinned;
  holder.mode = SLOT_MODE.bounded;
  holder.capacity = blocks;
  holder.ttlMs = ttlMs;
  enforceBounds(state, { slot, newcomers: new Map(), result });
  return STATUS.ok;
}

export function countReferences(holder: Slot): number {
  if (holder.mode === SLOT_MODE.counted) return STATUS.ok;
  if (holder.mode === SLOT_MODE.bounded) return STATUS.otherMode;
  if (holder.blocks.size > 0) return STATUS.notEmpty;
  holder.mode = SLOT_MODE.counted;
  return STATUS.ok;
}

/** See SLOT_FIGURE. */
export function fillFigures(holder: Slot | undefined, out: Float64Array): void {
  out.fill(0);
  out[SLOT_FIGURE.lastStoreMs] = -1;
  if (!holder) return;
  out[SLOT_FIGURE.mode] = holder.mode;
  out[SLOT_FIGURE.capacity] = holder.capacity;
  out[SLOT_FIGURE.ttlMs] = holder.ttlMs;
  out[SLOT_FIGURE.residentBlocks] = holder.blocks.size;
  out[SLOT_FIGURE.lastStoreMs] = holder.lastStoreMs;
  out[SLOT_FIGURE.pinnedBlocks] = holder.pins.size;
  out[SLOT_FIGURE.evictedByCapacity] = holder.evictedByCapacity;
  out[SLOT_FIGURE.evictedByBound] = holder.evictedByBound;
  out[SLOT_FIGURE.expired] = holder.expired;
  out[SLOT_FIGURE.degraded] = holder.degraded ? 1 : 0;
}
