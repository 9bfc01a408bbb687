import { applyEach } from './feed-result.js';
import type { Slot } from './index-state.js';

/** One pin more on each resident block. */
export function pin({ blocks, pins }: Slot, seq: BigUint64Array, result: Float64Array): void {
  applyEach(seq, result, (hash) => {
    if (!blocks.has(hash)) return false;
    pins.set(hash, (pins.get(hash) ?? 0) + 1);
    return true;
  });
}

/** One pin less on each pinned block. */
export function unpin({ pins }: Slot, seq: BigUint64Array, result: Float64Array): void {
  applyEach(seq, result, (hash) => {
    const count = pins.get(hash);
    if (count === undefined) return false;
    if (count === 1) pins.delete(hash);
    else pins.set(hash, count - 1);
    return true;
  });
}
