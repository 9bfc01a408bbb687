import { CAUSE, RESULT, SLOT_MODE } from '../native/seam.js';
import { noteBad } from './feed-result.js';
import type { IndexState, Slot } from './index-state.js';
import { disown, release } from './membership.js';

/**
 * The blocks that a call made resident on its slot (owned), with their position in the call, −1 where that is not told.
 * One that does not stay was rejected rather than evicted.
 */
export type Newcomers = Map<bigint, number>;

/** What a call has to do with the bounds that are enforced after it. */
export interface BoundedCall {
  /** −1: none. */
  readonly slot: number;
  readonly newcomers: Newcomers;
  readonly result: Float64Array;
}

/** Can a call on this slot, or on none, meet a bound? */
export function isBounded({ options }: IndexState, holder?: Slot): boolean {
  return options.maxBlocks > 0 || holder?.mode === SLOT_MODE.bounded;
}

/** First the capacity of the call's slot, then `maxBlocks`. O(1) a block that goes, beside slots, pins and owners. */
export function enforceBounds(state: IndexState, call: BoundedCall): void {
  const holder = state.slots[call.slot];
  if (holder?.mode === SLOT_MODE.bounded) enforceCapacity(state, holder, call);
  if (state.options.maxBlocks > 0) enforceMaxBlocks(state, call);
}

function enforceCapacity(state: IndexState, holder: Slot, call: BoundedCall): void {
  if (holder.blocks.size <= holder.capacity) return;
  for (const { key: hash } of holder.stamps) {
    if (holder.pins.has(hash)) continue;
    release(state, holder, hash);
    if (!takeBack(state, call, hash)) {
      call.result[RESULT.evicted]!++;
      state.evictedByCapacity++;
      holder.evictedByCapacity++;
      state.history.record(call.slot, hash, CAUSE.capacity);
    }
    if (holder.blocks.size <= holder.capacity) return;
  }
}

function enforceMaxBlocks(state: IndexState, call: BoundedCall): void {
  const { blocks, slots, known, options } = state;
  if (blocks.size <= options.maxBlocks) return;
  for (const { key: hash } of known) {
    if (slots.some((holder) => holder?.pins.has(hash))) continue;
    const isNew = takeBack(state, call, hash);
    if (!isNew) {
      call.result[RESULT.evicted]!++;
      state.evictedByBound++;
    }
    evictEverywhere(state, hash, isNew ? call.slot : -1);
    if (blocks.size <= options.maxBlocks) return;
  }
}

/** `newcomerOf`: the slot to which the block had just come, −1: none. */
function evictEverywhere(state: IndexState, hash: bigint, newcomerOf: number): void {
  const { slots, sessions } = state;
  let { holders, owners } = state.blocks.get(hash)!;
  for (let slot = 0; holders > 0; slot++) {
    const holder = slots[slot];
    if (!holder?.blocks.has(hash)) continue;
    holders--;
    release(state, holder, hash);
    if (holder.mode !== SLOT_MODE.bounded) holder.degraded = true;
    if (slot === newcomerOf) continue;
    holder.evictedByBound++;
    state.history.record(slot, hash, CAUSE.bound);
  }
  // The owners of what was named longest ago are likely among those that owned longest ago, which stand first.
  for (const owner of sessions.values()) {
    if (owners === 0) return;
    if (!owner.blocks.has(hash)) continue;
    owners--;
    disown(state, owner, hash);
  }
}

/** Counts a newcomer that does not stay as rejected; answers false for any other block. */
function takeBack(state: IndexState, { newcomers, result }: BoundedCall, hash: bigint): boolean {
  const position = newcomers.get(hash);
  if (position === undefined) return false;
  // One that the capacity has rejected may yet have to leave other slots: those it leaves as an old one.
  newcomers.delete(hash);
  state.rejected++;
  result[RESULT.rejected]!++;
  result[RESULT.applied]!--;
  if (position >= 0) noteBad(result, position);
  return true;
}

/** O(blocks of slots with a ttl): a clock may have gone back, so that the order of stamps is not that of times. */
export function expireBlocks(state: IndexState, nowMs: number): number {
  let expired = 0;
  for (const [slot, holder] of state.slots.entries()) {
    if (!holder || holder.ttlMs === 0) continue;
    for (const { key: hash, value } of holder.stamps) {
      if (nowMs - value.ms < holder.ttlMs || holder.pins.has(hash)) continue;
      release(state, holder, hash);
      holder.expired++;
      state.history.record(slot, hash, CAUSE.ttl);
      expired++;
    }
  }
  state.expired += expired;
  return expired;
}
