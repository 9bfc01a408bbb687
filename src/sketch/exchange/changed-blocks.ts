import type { DeltaFrame } from '../types.js';
import { BLOCK_BYTES, WORDS_A_BLOCK } from '../words.js';

/** Of a delta: a block and its index. */
const PAIR_BYTES = 4 + BLOCK_BYTES;
const COUNT_BYTES = 4;

/**
 * The blocks of `after` that differ from those of `before`, both `Uint32Array[8 z]`; undefined: a delta of them would be no
 * smaller than the whole filter. Reads both once.
 */
export function changedBlocks(
  before: Uint32Array,
  after: Uint32Array,
): Pick<DeltaFrame, 'indices' | 'blocks'> | undefined {
  const most = Math.ceil((after.byteLength - COUNT_BYTES) / PAIR_BYTES) - 1;
  const changed: number[] = [];
  for (let at = 0; at < after.length; at += WORDS_A_BLOCK) {
    if (!differs(before, after, at)) continue;
    if (changed.length >= most) return undefined;
    changed.push(at / WORDS_A_BLOCK);
  }
  const blocks = new Uint32Array(WORDS_A_BLOCK * changed.length);
  changed.forEach((index, i) => {
    const from = WORDS_A_BLOCK * index;
    for (let k = 0; k < WORDS_A_BLOCK; k++) blocks[WORDS_A_BLOCK * i + k] = after[from + k]!;
  });
  return { indices: Uint32Array.from(changed), blocks };
}

function differs(before: Uint32Array, after: Uint32Array, at: number): boolean {
  for (let k = 0; k < WORDS_A_BLOCK; k++) if (before[at + k] !== after[at + k]) return true;
  return false;
}
