import { PARENT, RESULT, SLOT_MODE, STATUS } from '../native/seam.js';
import { enforceBounds, type Newcomers } from './bounds.js';
import type { IndexState } from './index-state.js';
import { release } from './membership.js';
import { hasResidentPath, refuses } from './predecessors.js';
import { admit, type Place, type ToldChain } from './residency.js';

/** The chains of a full report as they cross the seam: the next `lengths[i]` hashes are chain i. */
export function toldChains(
  seq: BigUint64Array,
  lengths: Uint32Array,
  kinds: Uint8Array,
  parents: BigUint64Array,
): ToldChain[] {
  let begin = 0;
  return Array.from(lengths, (length, i) => {
    const hashes = Array.from(seq.subarray(begin, begin + length));
    begin += length;
    if (kinds[i] === PARENT.hash) return { hashes, parent: parents[i]! };
    return { hashes, parent: kinds[i] === PARENT.root ? undefined : null };
  });
}

/**
 * What the slot held stays until all chains are read: a block that a later chain names keeps its predecessor, and a
 * chain that contradicts it is left out.
 */
export function replace(
  state: IndexState,
  place: Place,
  chains: readonly ToldChain[],
  nowMs: number,
  result: Float64Array,
): number {
  const { slot, holder } = place;
  const hasParent = chains.some(({ hashes, parent }) => hashes.length > 0 && parent !== undefined);
  if (holder.mode === SLOT_MODE.bounded && hasParent) return STATUS.parentOnBounded;

  const newcomers: Newcomers = new Map();
  const named = new Set<bigint>();
  for (const [i, chain] of chains.entries()) {
    const { hashes, parent } = chain;
    if (hashes.length === 0 || refuses(state, hashes, parent, result, i)) continue;
    // firstBad tells chains, so that a newcomer has no position.
    result[RESULT.applied]! += admit(state, place, chain, nowMs, (hash) => newcomers.set(hash, -1));
    if (!hasResidentPath(state, hashes[0]!)) result[RESULT.orphaned]! += hashes.length;
    for (const hash of hashes) named.add(hash);
  }

  for (const hash of holder.blocks) if (!named.has(hash)) release(state, holder, hash);
  holder.copies.clear();
  holder.lastStoreMs = nowMs;
  holder.degraded = false;
  enforceBounds(state, { slot, newcomers, result });
  return STATUS.ok;
}
