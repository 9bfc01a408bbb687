import { KvIndex, type WorkerHandle } from '../src/kv-index/index.js';
import { settledHeapBytes } from './allocation.js';
import type { BenchAddon } from './backends.js';
import { Random } from './random.js';

const SLOTS = 16;
const BLOCK = 24;
/** Every so many queries one asks for a long prompt. */
const LONG_EVERY = 61;

interface Prompt {
  readonly session: string;
  readonly tokens: Uint32Array;
  readonly seqHashes: BigUint64Array;
}

/** Queries of every kind through the public API, into arrays that stay. `lookupTokens` makes its own. */
export class SteadyQueries {
  readonly #index = new KvIndex({ blockSize: BLOCK });
  readonly #short: readonly Prompt[];
  readonly #long: readonly Prompt[];
  readonly #overlaps = { out: new Uint32Array(SLOTS) };
  readonly #fair = { out: new Float64Array(SLOTS) };

  constructor() {
    const workers = Array.from({ length: SLOTS }, (_, slot) => this.#index.addWorker(`worker ${slot}`));
    const random = new Random(29);
    const stored = (session: string, blocks: number, worker: WorkerHandle): Prompt => {
      const tokens = random.tokens(blocks * BLOCK);
      const { seqHashes } = this.#index.lookupTokens(tokens);
      this.#index.store(worker, seqHashes, { nowMs: 0 });
      this.#index.own(session, seqHashes, { nowMs: 0 });
      return { session, tokens, seqHashes };
    };
    this.#short = workers.map((worker) => stored(`short of ${worker.name}`, 24, worker));
    this.#long = workers.map((worker) => stored(`long of ${worker.name}`, 2_000, worker));
  }

  run(queries: number): void {
    for (let i = 0; i < queries; i++) {
      const prompts = i % LONG_EVERY === 0 ? this.#long : this.#short;
      const { session, tokens, seqHashes } = prompts[(i >> 2) % prompts.length]!;
      switch (i % 4) {
        case 0:
          this.#index.overlap(seqHashes, this.#overlaps);
          break;
        case 1:
          this.#index.exclusiveOverlap(session, seqHashes, this.#overlaps);
          break;
        case 2:
          this.#index.fairOverlap(seqHashes, this.#fair);
          break;
        default:
          this.#index.lookupTokens(tokens, { session });
      }
    }
  }

  close(): void {
    this.#index.close();
  }
}

/**
 * What so many queries leave behind: bytes of the JavaScript heap and of array buffers after collections, and how often the
 * core asked for memory meanwhile, where that is counted (`countKvIndexes`).
 */
export function measureSteadyQueries(addon: Pick<BenchAddon, 'allocations'>, queries: number) {
  const steady = new SteadyQueries();
  steady.run(20_000); // optimised code and the index's scratch space are there from now on
  const heapBefore = settledHeapBytes();
  const allocationsBefore = addon.allocations?.();
  steady.run(queries);
  const allocationsAfter = addon.allocations?.();
  const heapBytes = settledHeapBytes() - heapBefore;
  steady.close();
  const allocations =
    allocationsBefore === undefined || allocationsAfter === undefined
      ? undefined
      : allocationsAfter - allocationsBefore;
  return { heapBytes, allocations };
}
