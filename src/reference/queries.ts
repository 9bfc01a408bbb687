import { MODE } from '../native/seam.js';
import type { IndexState } from './index-state.js';

/** One whole block in the units of `fairOverlap`. */
const WHOLE_BLOCK = 2 ** 20;

/** What a block counts, by its number of owners. */
type Worth = (owners: number, hash: bigint) => number;

const inFairUnits: Worth = (owners) => Math.floor(WHOLE_BLOCK / Math.max(owners, 1));

/** 1 for the blocks that count as exclusive, else 0. */
function exclusively({ sessions }: IndexState, session: number, maxOwners: number): Worth {
  if (maxOwners > 1) return (owners) => Number(owners >= 1 && owners <= maxOwners);
  const owned = sessions.get(session)?.blocks;
  return (owners, hash) => Number(owners === 1 && owned?.has(hash) === true);
}

export function overlap(state: IndexState, seq: BigUint64Array, mode: number, out: Uint32Array): void {
  sumCounted(state, seq, mode, () => 1, out);
}

export function overlapMany(
  state: IndexState,
  requests: readonly BigUint64Array[],
  mode: number,
  out: Uint32Array,
): void {
  const width = state.slots.length;
  for (const [k, seq] of requests.entries()) {
    overlap(state, seq, mode, out.subarray(k * width, (k + 1) * width));
  }
}

export function exclusiveOverlap(
  state: IndexState,
  session: number,
  seq: BigUint64Array,
  mode: number,
  maxOwners: number,
  out: Uint32Array,
): void {
  sumCounted(state, seq, mode, exclusively(state, session, maxOwners), out);
}

export function fairOverlap(state: IndexState, seq: BigUint64Array, out: Float64Array): void {
  sumCounted(state, seq, MODE.prefix, inFairUnits, out);
}

export function exclusiveWithin(
  state: IndexState,
  session: number,
  seq: BigUint64Array,
  maxOwners: number,
  lengths: Uint32Array,
  out: Uint32Array,
): void {
  sumWithin(state, seq, exclusively(state, session, maxOwners), lengths, out);
}

export function fairWithin(
  state: IndexState,
  seq: BigUint64Array,
  lengths: Uint32Array,
  out: Float64Array,
): void {
  sumWithin(state, seq, inFairUnits, lengths, out);
}

/** Hashes that the slot holds and the session alone owns, ascending. */
export function enumerateExclusive(state: IndexState, slot: number, session: number): BigUint64Array {
  const { blocks, slots, sessions } = state;
  const held = slots[slot]?.blocks;
  const owned = Array.from(sessions.get(session)?.blocks ?? []);
  return BigUint64Array.from(
    owned.filter((hash) => held?.has(hash) && blocks.get(hash)?.owners === 1),
  ).sort();
}

/** `out[slot]` = Σ `worth` over the positions that an overlap query counts on the slot. */
function sumCounted(
  { blocks, slots }: IndexState,
  seq: BigUint64Array,
  mode: number,
  worth: Worth,
  out: Uint32Array | Float64Array,
): void {
  const hashes: bigint[] = [];
  const worths: number[] = [];
  for (const hash of seq) {
    const block = blocks.get(hash);
    if (block) {
      hashes.push(hash);
      worths.push(worth(block.owners, hash));
    } else if (mode === MODE.prefix) break;
  }
  for (const [slot, holder] of slots.entries()) {
    let sum = 0;
    for (let i = 0; holder && i < hashes.length; i++) {
      if (holder.blocks.has(hashes[i]!)) sum += worths[i]!;
      else if (mode === MODE.prefix) break;
    }
    out[slot] = sum;
  }
}

/** `out[w]` = Σ `worth` over the first `lengths[w]` blocks; who holds them does not matter. */
function sumWithin(
  { blocks }: IndexState,
  seq: BigUint64Array,
  worth: Worth,
  lengths: Uint32Array,
  out: Uint32Array | Float64Array,
): void {
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const sums = [0];
  for (const hash of seq.subarray(0, longest)) {
    sums.push(sums.at(-1)! + worth(blocks.get(hash)?.owners ?? 0, hash));
  }
  for (const [w, length] of lengths.entries()) out[w] = sums[length]!;
}
