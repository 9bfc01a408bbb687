import { RESULT, SLOT_MODE, STATUS } from '../native/seam.js';
import { enforceBounds, isBounded, type Newcomers } from './bounds.js';
import { applyEach } from './feed-result.js';
import type { IndexState, Predecessor, Slot } from './index-state.js';
import { hold, release } from './membership.js';
import { hasResidentPath, refuses, tellPredecessors } from './predecessors.js';
import { stampCall } from './stamps.js';

/** A slot in one of its lives. */
export interface Place {
  readonly slot: number;
  readonly holder: Slot;
}

/** A chain as one call tells it. */
export interface ToldChain {
  readonly hashes: readonly bigint[];
  readonly parent: Predecessor;
}

export function store(
  state: IndexState,
  place: Place,
  chain: ToldChain,
  nowMs: number,
  result: Float64Array,
): number {
  const { slot, holder } = place;
  const { hashes, parent } = chain;
  if (holder.mode === SLOT_MODE.bounded && parent !== undefined) return STATUS.parentOnBounded;
  if (hashes.length === 0 || refuses(state, hashes, parent, result)) return STATUS.ok;
  holder.lastStoreMs = nowMs;
  const newcomers: Newcomers | undefined = isBounded(state, holder) ? new Map() : undefined;
  const applied = admit(state, place, chain, nowMs, (hash, i) => newcomers?.set(hash, i));
  const duplicate = hashes.length - applied;
  state.duplicates += duplicate;
  result[RESULT.applied] = applied;
  result[RESULT.duplicate] = duplicate;
  result[RESULT.orphaned] = hasResidentPath(state, hashes[0]!) ? 0 : hashes.length;
  if (newcomers) enforceBounds(state, { slot, newcomers, result });
  return STATUS.ok;
}

/**
 * The slot holds the blocks of an accepted chain; one that it held has a copy more where copies are counted. Answers how
 * many came, and tells `arrived` each.
 */
export function admit(
  state: IndexState,
  { slot, holder }: Place,
  { hashes, parent }: ToldChain,
  nowMs: number,
  arrived: (hash: bigint, position: number) => void,
): number {
  const { copies } = holder;
  const isCounted = holder.mode === SLOT_MODE.counted;
  tellPredecessors(state, hashes, parent);
  let applied = 0;
  for (const [i, hash] of hashes.entries()) {
    if (hold(state, slot, holder, hash)) {
      applied++;
      arrived(hash, i);
    } else if (isCounted) {
      copies.set(hash, (copies.get(hash) ?? 0) + 1);
    }
  }
  stampCall(state, hashes, holder, nowMs);
  return applied;
}

/** Takes one copy of each block away; a block leaves with its last. */
export function remove(state: IndexState, holder: Slot, seq: BigUint64Array, result: Float64Array): void {
  const { copies } = holder;
  applyEach(seq, result, (hash) => {
    const further = copies.size > 0 ? copies.get(hash) : undefined;
    if (further === undefined) return release(state, holder, hash);
    if (further === 1) copies.delete(hash);
    else copies.set(hash, further - 1);
    return true;
  });
  state.unknownRemoves += result[RESULT.unknown]!;
}

/** Tells nothing, so that it cannot be refused; and brings nothing, so that no bound can be met. */
export function refresh(
  state: IndexState,
  holder: Slot,
  seq: BigUint64Array,
  nowMs: number,
  result: Float64Array,
): void {
  applyEach(seq, result, (hash) => holder.blocks.has(hash));
  stampCall(state, seq, holder, nowMs);
}
