import { KvIndex, type WorkerHandle } from '../src/kv-index/index.js';
import { settledHeapBytes } from './allocation.js';
import type { BenchAddon } from './backends.js';
import { Random } from './random.js';

const SLOTS = 16;
const BLOCK = 24;
/** Kinds of queries; prime to LONG_EVERY, so that each kind asks for long prompts too. */
const KINDS = 8;
/** Every so many queries one asks for a long prompt. */
const LONG_EVERY = 61;

interface Prompt {
  readonly session: string;
  readonly tokens: Uint32Array;
  readonly seqHashes: BigUint64Array;
}

interface Prompts {
  readonly prompts: readonly Prompt[];
  /** The hashes of all of them, asked for in one call. */
  readonly requests: readonly BigUint64Array[];
}

/**
 * `overlap`, `overlapMany` and `exclusiveOverlap` in either mode, `fairOverlap` and `lookupTokens` through the public API. All fill
 * arrays that stay, but for `lookupTokens`, which makes its own; the list that `overlapMany` makes of its requests is garbage.
 */
export class SteadyQueries {
  readonly #index = new KvIndex({ blockSize: BLOCK });
  readonly #short: Prompts;
  readonly #long: Prompts;
  readonly #prefix = { mode: 'prefix', out: new Uint32Array(SLOTS) } as const;
  readonly #set = { mode: 'set', out: new Uint32Array(SLOTS) } as const;
  readonly #prefixRows = { mode: 'prefix', out: new Uint32Array(SLOTS * SLOTS) } as const;
  readonly #setRows = { mode: 'set', out: new Uint32Array(SLOTS * SLOTS) } as const;
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
    const all = (kind: string, blocks: number): Prompts => {
      const prompts = workers.map((worker) => stored(`${kind} of ${worker.name}`, blocks, worker));
      return { prompts, requests: prompts.map(({ seqHashes }) => seqHashes) };
    };
    this.#short = all('short', 24);
    this.#long = all('long', 2_000);
  }

  run(queries: number): void {
    for (let i = 0; i < queries; i++) {
      const { prompts, requests } = i % LONG_EVERY === 0 ? this.#long : this.#short;
      const { session, tokens, seqHashes } = prompts[Math.floor(i / KINDS) % prompts.length]!;
      switch (i % KINDS) {
        case 0:
          this.#index.overlap(seqHashes, this.#prefix);
          break;
        case 1:
          this.#index.overlap(seqHashes, this.#set);
          break;
        case 2:
          this.#index.overlapMany(requests, this.#prefixRows);
          break;
        case 3:
          this.#index.overlapMany(requests, this.#setRows);
          break;
        case 4:
          this.#index.exclusiveOverlap(session, seqHashes, this.#prefix);
          break;
        case 5:
          this.#index.exclusiveOverlap(session, seqHashes, this.#set);
          break;
        case 6:
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
  steady.run(20_000); // optimised code and the scratch space of index and binding are there from now on
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
