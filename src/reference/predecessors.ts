import { RESULT } from '../native/seam.js';
import { noteBad } from './feed-result.js';
import type { IndexState, Predecessor } from './index-state.js';

/**
 * Counts a chain as rejected, and answers true, when it contradicts what is known or itself. `place` is its own in a call
 * of several chains, whose firstBad tells chains and not blocks.
 */
export function refuses(
  state: IndexState,
  hashes: readonly bigint[],
  parent: Predecessor,
  result: Float64Array,
  place?: number,
): boolean {
  const firstBad = firstBadBlock(state, hashes, parent);
  if (firstBad < 0) return false;
  state.rejected += hashes.length;
  result[RESULT.rejected]! += hashes.length;
  noteBad(result, place ?? firstBad);
  return true;
}

/**
 * Index of the first block for which the call cannot be admitted, −1: it can. A call tells one path, so it would close
 * a cycle exactly when the way up from its first block comes back to one of its blocks.
 */
function firstBadBlock(state: IndexState, hashes: readonly bigint[], parent: Predecessor): number {
  const { blocks } = state;
  let told = parent;
  for (const [i, hash] of hashes.entries()) {
    const block = blocks.get(hash);
    if (block && told !== null && block.predecessor !== null && block.predecessor !== told) return i;
    told = hash;
  }
  const inCall = new Set<bigint>();
  for (const [i, hash] of hashes.entries()) {
    if (inCall.has(hash)) return i;
    inCall.add(hash);
  }
  let up = parent === null ? blocks.get(hashes[0]!)?.predecessor : parent;
  while (typeof up === 'bigint') {
    if (inCall.has(up)) return 0;
    up = blocks.get(up)?.predecessor;
  }
  return -1;
}

/** Makes the blocks of an admitted call known, with the predecessors that it tells. */
export function tellPredecessors(state: IndexState, hashes: readonly bigint[], parent: Predecessor): void {
  const { blocks } = state;
  let predecessor = parent;
  for (const hash of hashes) {
    const block = blocks.get(hash);
    if (!block) blocks.set(hash, { predecessor, holders: 0, owners: 0 });
    else if (predecessor !== null) block.predecessor = predecessor;
    predecessor = hash;
  }
}

/** Do resident blocks lead from a known block up to the root? */
export function hasResidentPath(state: IndexState, hash: bigint): boolean {
  let up = state.blocks.get(hash)!.predecessor;
  while (typeof up === 'bigint') {
    const block = state.blocks.get(up);
    if (!block || block.holders === 0) return false;
    up = block.predecessor;
  }
  return up === undefined;
}

/** Resident blocks whose predecessor is unknown or resident nowhere. */
export function countOrphans(state: IndexState): number {
  let orphans = 0;
  for (const { holders, predecessor } of state.blocks.values()) {
    if (holders === 0 || predecessor === undefined) continue;
    if (predecessor === null || !state.blocks.get(predecessor)?.holders) orphans++;
  }
  return orphans;
}
