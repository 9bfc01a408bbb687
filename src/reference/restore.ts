import { type HashSeam, RESULT_LENGTH } from '../native/seam.js';
import { enforceBounds } from './bounds.js';
import type { IndexState } from './index-state.js';
import { decodeSnapshot } from './snapshot-read.js';
import { stampAll } from './stamps.js';

/** The state of a snapshot in the place of another one, whose options it keeps; or the name of the first bad section. */
export function restoredState(
  bytes: Uint8Array,
  { options, incarnations: before }: IndexState,
  hasher: Pick<HashSeam, 'xxh64'>,
): IndexState | string {
  const state = decodeSnapshot(bytes, options, hasher);
  if (typeof state === 'string') return state;
  // No life of a slot, of before or in the file, comes back.
  for (let slot = 0; slot < Math.max(before.length, state.incarnations.length); slot++) {
    state.incarnations[slot] = Math.max(before[slot] ?? 0, state.incarnations[slot] ?? 0) + 1;
  }
  if (options.maxBlocks === 0) state.known.clear();
  else if (state.known.size === 0) stampAll(state);
  enforceBounds(state, { slot: -1, newcomers: new Map(), result: new Float64Array(RESULT_LENGTH) });
  return state;
}
