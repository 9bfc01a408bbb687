import { BloomFilter } from '../bloom-filter.js';
import { filterBlocks, keyCapacity } from '../sizing.js';
import type { ClearFrame, SketchFrame, SketchHead } from '../types.js';
import { changedBlocks } from './changed-blocks.js';

export interface SeriesSettings {
  readonly worker: string;
  readonly blockSize: number;
  readonly targetFpp: number;
  readonly headroom: number;
  readonly fullEvery: number;
  readonly fullEveryMs: number;
}

/** A filter is built anew when one of so much of its size would do. */
const SHRINK = 0.75;
/** No clock gives a later one; room is left for those that follow. */
const LAST_EPOCH = 2 ** 52;

/**
 * How far a publisher rises above an epoch that it is told of, at least: who published in that one may have begun more of
 * them, which others know. As much again is by its own start, lest two that rise above one epoch meet.
 */
const RISE = 2 ** 20;

/** Of a publisher that starts at `startMs` and finds a frame of `latestEpoch`, or none that can be read. */
export function firstEpoch(startMs: number, latestEpoch: number | undefined): number {
  if (latestEpoch === undefined || latestEpoch >= LAST_EPOCH) return startMs;
  return Math.max(latestEpoch + 1, startMs);
}

/**
 * Which frame a publisher sends next: a filter of what is resident is built for each, and compared with the one sent last, so
 * that blocks which are no longer resident are forgotten at once.
 *
 *   first, or the filter no longer fits                     full, new epoch
 *   wanted, due, or the frame before did not go out         full
 *   the blocks that changed are no smaller than the filter  full, new epoch
 *   otherwise                                               delta; with nothing in it, it says that all is still so
 *
 * With nothing resident a clear frame stands for a full one, and is due as soon as that is so.
 * Cost: the filter twice in memory, a pass over it and an `add` of all that is resident for each frame.
 */
export class FrameSeries {
  readonly #settings: SeriesSettings;
  readonly #firstEpoch: number;
  #epoch: number;
  /** Of the next frame. */
  #sequence = 0;
  #sent: BloomFilter | undefined;
  #keys = 0;
  /** Deltas since the last full frame, and when that was. */
  #deltas = 0;
  #fullAtMs = 0;
  #isFullDue = false;

  constructor(settings: SeriesSettings, epoch: number) {
    this.#settings = settings;
    this.#firstEpoch = epoch;
    this.#epoch = epoch;
  }

  /**
   * The frame for what is resident at `nowMs`: `BigUint64Array[n]`. It is taken as sent: see `lost`. ERR_KVIDX_OUT_OF_RANGE:
   * there is no filter for so many, nothing has changed then.
   */
  next(hashes: BigUint64Array, nowMs: number, wantsFull: boolean): SketchFrame {
    const keys = hashes.length;
    const sent = this.#sent;
    const z = this.#fittingBlocks(keys);
    const filter = new BloomFilter(z);
    filter.add(hashes);

    const isNewlyEmpty = keys === 0 && this.#keys > 0;
    const fits = sent !== undefined && sent.z === z;
    const wholeIsDue = wantsFull || isNewlyEmpty || this.#isDue(nowMs);
    const changed = fits && !wholeIsDue ? changedBlocks(sent.words, filter.words) : undefined;
    if (sent && (!fits || (!wholeIsDue && !changed))) this.#beginEpoch();

    const head = this.#head(keys, nowMs);
    this.#sent = filter;
    this.#keys = keys;
    if (changed) {
      this.#deltas += 1;
      return { kind: 'delta', ...head, z, ...changed };
    }
    this.#deltas = 0;
    this.#fullAtMs = nowMs;
    this.#isFullDue = false;
    return keys === 0 ? { kind: 'clear', ...head, z } : { kind: 'full', ...head, filter };
  }

  /** The last frame of a worker that leaves: nothing is resident, and no deltas follow. */
  last(nowMs: number): ClearFrame {
    this.#isFullDue = true;
    return { kind: 'clear', ...this.#head(0, nowMs), z: 0 };
  }

  /** A sketch of a higher epoch is about: nothing is heard before the next frame is of one above. */
  riseAbove(epoch: number): void {
    if (epoch <= this.#epoch || epoch >= LAST_EPOCH) return;
    this.#epoch = epoch + RISE + (this.#firstEpoch % RISE);
    this.#sequence = 0;
    this.#isFullDue = true;
  }

  /** The frame may not have gone out: the next one does not build on it. */
  lost(): void {
    this.#isFullDue = true;
  }

  /** Those of the filter sent last while the keys fit it, so that deltas are possible; else with headroom. */
  #fittingBlocks(keys: number): number {
    const { targetFpp, headroom } = this.#settings;
    const roomy = filterBlocks(Math.ceil(keys * (1 + headroom)), targetFpp);
    const z = this.#sent?.z;
    return z !== undefined && keys <= keyCapacity(z, targetFpp) && roomy >= SHRINK * z ? z : roomy;
  }

  /** Also when the clock went back: a clock that jumps must not put full frames off. */
  #isDue(nowMs: number): boolean {
    const { fullEvery, fullEveryMs } = this.#settings;
    return (
      this.#isFullDue || this.#deltas + 1 >= fullEvery || Math.abs(nowMs - this.#fullAtMs) >= fullEveryMs
    );
  }

  #beginEpoch(): void {
    this.#epoch += 1;
    this.#sequence = 0;
  }

  #head(keys: number, nowMs: number): SketchHead {
    const { worker, blockSize, targetFpp } = this.#settings;
    return {
      worker,
      session: undefined,
      epoch: this.#epoch,
      sequence: this.#sequence++,
      timestampMs: nowMs,
      keys,
      targetFpp,
      blockSize,
    };
  }
}
