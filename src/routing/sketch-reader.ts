import type { FollowedSketch, SketchSource } from '../sketch/types.js';
import type { WorkerRecord } from './state/worker-table.js';
import type { SketchNote } from './types.js';

export interface SketchSettings {
  readonly source: SketchSource;
  readonly maxStalenessMs: number;
  readonly whenStale: 'discount' | 'ignore';
}

/** What the sketches of a router's workers are worth to it: those that grew old count less, or nothing. */
export class SketchReader {
  readonly #settings: SketchSettings;
  /** Outputs, one element a worker. */
  #leading = new Uint32Array(0);
  #anywhere = new Uint32Array(0);

  constructor(settings: SketchSettings) {
    this.#settings = settings;
  }

  follow(worker: string): FollowedSketch {
    return this.#settings.source.follow(worker);
  }

  /** Leading blocks that each worker holds by its sketch; 0 where it has none. */
  leading(workers: readonly WorkerRecord[], hashes: BigUint64Array): Uint32Array {
    if (this.#leading.length !== workers.length) this.#leading = new Uint32Array(workers.length);
    return this.#ask(workers, (sketch) => sketch.leadingBlocks(hashes), hashes.length, this.#leading);
  }

  /** As `leading`, blocks anywhere. */
  anywhere(workers: readonly WorkerRecord[], hashes: BigUint64Array): Uint32Array {
    if (this.#anywhere.length !== workers.length) this.#anywhere = new Uint32Array(workers.length);
    return this.#ask(workers, (sketch) => sketch.countBlocks(hashes), hashes.length, this.#anywhere);
  }

  /** Undefined: the worker is not known by a sketch. */
  note({ places: { sketch } }: WorkerRecord): SketchNote | undefined {
    if (!sketch) return undefined;
    return { ageMs: sketch.ageMs(), degraded: sketch.degraded, trust: this.#trust(sketch) };
  }

  #ask(
    workers: readonly WorkerRecord[],
    blocksOf: (sketch: FollowedSketch) => number,
    most: number,
    out: Uint32Array,
  ): Uint32Array {
    for (let place = 0; place < workers.length; place++) {
      const { sketch } = workers[place]!.places;
      const trust = sketch ? this.#trust(sketch) : 0;
      out[place] = trust === 0 ? 0 : Math.floor(Math.min(blocksOf(sketch!), most) * trust);
    }
    return out;
  }

  #trust(sketch: FollowedSketch): number {
    const { maxStalenessMs, whenStale } = this.#settings;
    const ageMs = sketch.ageMs();
    if (ageMs === undefined) return 0;
    if (ageMs <= maxStalenessMs) return 1;
    return whenStale === 'ignore' ? 0 : maxStalenessMs / ageMs;
  }
}
