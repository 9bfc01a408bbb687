import { seam } from '../../src/native/index.js';
import { BloomFilter } from '../../src/sketch/bloom-filter.js';
import { encodeFrame } from '../../src/sketch/frame.js';
import type { ClearFrame, DeltaFrame, FullFrame, SketchFrame } from '../../src/sketch/types.js';
import { range } from '../kv-index/support.js';

export const head = {
  worker: 'decode-0',
  session: undefined,
  epoch: 1_722_000_000_000,
  sequence: 7,
  timestampMs: 1_722_000_123_456,
  keys: 20,
  targetFpp: 0.01,
  blockSize: 24,
};
export const full: FullFrame = { kind: 'full', ...head, filter: BloomFilter.of(range(0, 40)) };
export const delta: DeltaFrame = {
  kind: 'delta',
  ...head,
  z: 9,
  indices: Uint32Array.of(0, 3, 8),
  blocks: Uint32Array.from({ length: 24 }, (_, i) => i),
};
export const clear: ClearFrame = { kind: 'clear', ...head, z: 3 };
export const frames: SketchFrame[] = [full, delta, clear];

/** Filters are equal when their bits are. */
export function plain(frame: SketchFrame) {
  return frame.kind === 'full' ? { ...frame, filter: frame.filter.words } : frame;
}

/** The bytes with others at some places, and a checksum that fits again. */
export function patched(
  frame: SketchFrame | Uint8Array,
  ...patches: [at: number, bytes: number[]][]
): Uint8Array {
  const bytes = frame instanceof Uint8Array ? frame.slice() : encodeFrame(frame);
  for (const [at, patch] of patches) bytes.set(patch, at);
  const end = bytes.length - 8;
  new DataView(bytes.buffer).setBigUint64(end, seam.xxh64(bytes.subarray(0, end), 0n), true);
  return bytes;
}
