import type { IndexState, Session, Slot } from './index-state.js';

/** A known block becomes resident; answers false when it was. */
export function hold(state: IndexState, slot: number, holder: Slot, hash: bigint): boolean {
  if (holder.blocks.has(hash)) return false;
  holder.blocks.add(hash);
  state.blocks.get(hash)!.holders++;
  state.history.forget(slot, hash);
  return true;
}

/** A resident block leaves the slot, with all that the slot knows of it. */
export function release(state: IndexState, holder: Slot, hash: bigint): void {
  holder.blocks.delete(hash);
  holder.stamps.delete(hash);
  holder.copies.delete(hash);
  holder.pins.delete(hash);
  state.blocks.get(hash)!.holders--;
  forgetUnknown(state, hash);
}

export function releaseAll(state: IndexState, holder: Slot): void {
  for (const hash of holder.blocks) {
    state.blocks.get(hash)!.holders--;
    forgetUnknown(state, hash);
  }
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
  state.blocks.get(hash)!.owners--;
  forgetUnknown(state, hash);
}

function forgetUnknown({ blocks, known }: IndexState, hash: bigint): void {
  const { holders, owners } = blocks.get(hash)!;
  if (holders > 0 || owners > 0) return;
  blocks.delete(hash);
  if (known.size > 0) known.delete(hash);
}
