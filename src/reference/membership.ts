import type { Block, IndexState, Session, Slot } from './index-state.js';

/** A known block becomes resident; answers false when it was. */
export function hold(state: IndexState, slot: number, holder: Slot, hash: bigint): boolean {
  if (holder.blocks.has(hash)) return false;
  holder.blocks.add(hash);
  state.blocks.get(hash)!.holders++;
  state.history.forget(slot, hash);
  return true;
}

/** A block leaves the slot, with all that the slot knows of it; answers false when it was not resident. */
export function release(state: IndexState, holder: Slot, hash: bigint): boolean {
  const { blocks, stamps, copies, pins } = holder;
  if (!blocks.delete(hash)) return false;
  // Asking an empty map costs as much as asking a full one.
  if (stamps.size > 0) stamps.delete(hash);
  if (copies.size > 0) copies.delete(hash);
  if (pins.size > 0) pins.delete(hash);
  unhold(state, hash);
  return true;
}

export function releaseAll(state: IndexState, holder: Slot): void {
  for (const hash of holder.blocks) unhold(state, hash);
  holder.blocks.clear();
  holder.stamps.clear();
  holder.copies.clear();
  holder.pins.clear();
}

/** A known block gets an owner; answers false when it was one. */
export function take(state: IndexState, owner: Session, hash: bigint): boolean {
  if (owner.blocks.has(hash)) return false;
  owner.blocks.add(hash);
  state.blocks.get(hash)!.owners++;
  return true;
}

/** The owner of a block is it no longer. */
export function disown(state: IndexState, owner: Session, hash: bigint): void {
  owner.blocks.delete(hash);
  const block = state.blocks.get(hash)!;
  block.owners--;
  forgetUnknown(state, hash, block);
}

function unhold(state: IndexState, hash: bigint): void {
  const block = state.blocks.get(hash)!;
  block.holders--;
  forgetUnknown(state, hash, block);
}

function forgetUnknown({ blocks, known }: IndexState, hash: bigint, { holders, owners }: Block): void {
  if (holders > 0 || owners > 0) return;
  blocks.delete(hash);
  if (known.size > 0) known.delete(hash);
}
