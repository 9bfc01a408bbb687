import { MODE } from '../native/seam.js';
import type { Block, IndexState } from './index-state.js';

/** One whole block in the units of `fairOverlap`. */
const WHOLE_BLOCK = 2 ** 20;

export function overlap(state: IndexState, seq: BigUint64Array, mode: number, out: Uint32Array): void {
  sumCounted(state, seq, mode, () => 1, out);
}

export function exclusiveOverlap(
  state: IndexState,
  session: number,
  seq: BigUint64Array,
  mode: number,
  maxOwners: number,
  out: Uint32Array,
): void {
  const owned = state.sessions.get(session)?.blocks;
  const counts = (owners: number, hash: bigint) =>
    maxOwners === 1 ? owners === 1 && owned?.has(hash) : owners >= 1 && owners <= maxOwners;
  sumCounted(state, seq, mode, ({ owners }, hash) => (counts(owners, hash) ? 1 : 0), out);
}

export function fairOverlap(state: IndexState, seq: BigUint64Array, out: Float64Array): void {
  sumCounted(state, seq, MODE.prefix, ({ owners }) => Math.floor(WHOLE_BLOCK / Math.max(owners, 1)), out);
}

/** `out[slot]` = Σ `worth` over the positions that an overlap query counts on the slot. */
function sumCounted(
  { blocks, slots }: IndexState,
  seq: BigUint64Array,
  mode: number,
  worth: (block: Block, hash: bigint) => number,
  out: Uint32Array | Float64Array,
): void {
  const hashes: bigint[] = [];
  const worths: number[] = [];
  for (const hash of seq) {
    const block = blocks.get(hash);
    if (block) {
      hashes.push(hash);
      worths.push(worth(block, hash));
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
