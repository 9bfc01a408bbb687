import { BloomFilter } from '../../../src/sketch/bloom-filter.js';
import { SketchState } from '../../../src/sketch/exchange/sketch-state.js';
import type { SketchFrame } from '../../../src/sketch/types.js';
import { full } from './support.js';

export const YIELD_MS = 60_000;

export class State extends SketchState {
  nowMs = 1000;

  constructor(hasRoom: (bytes: number) => boolean = () => true) {
    super({ worker: 'w', yieldAfterMs: YIELD_MS, hasRoom });
  }

  take(...frames: SketchFrame[]): string[] {
    return frames.map((frame) => this.apply(frame, this.nowMs, true));
  }

  /** `epoch.sequence`. */
  get at(): string | undefined {
    return this.sketch && `${this.sketch.epoch}.${this.sketch.sequence}`;
  }
}

/** A state at 5.0, and a function that says whether it is still the same. */
export function filled() {
  const state = new State();
  state.take(full(5, 0));
  const before = BloomFilter.fromWords(state.sketch!.filter.words);
  return { state, isUnchanged: () => state.at === '5.0' && state.sketch!.filter.equals(before) };
}
