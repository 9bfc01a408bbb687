import { BlockHasher } from '../../hash/block-hasher.js';
import { MAX_BLOCK_SIZE } from '../../hash/limits.js';
import { type Namespace, namespaceRoot } from '../../hash/namespace.js';
import {
  checkBoolean,
  checkChoice,
  checkInteger,
  checkName,
  checkOptions,
  checkTokens,
} from '../../validate.js';
import type { KvEvent, StoredEvent } from '../types.js';
import { type Blocks, BlockTier, halvesOf } from './block-tier.js';
import { removedEvent, storedEvent } from './make-event.js';
import { OffloadTier } from './offload-tier.js';

/** What vLLM calls max_num_batched_tokens: tokens of prompts that one step computes. */
const DEFAULT_BATCHED_TOKENS = 8192;
const MAX_CAPACITY = 2 ** 24;
const MAX_U32 = 0xffff_ffff;
/** There is one group of layers, all of full attention. */
const MAIN_GROUP = 0;

export interface FakeEngineOptions {
  /** Tokens a block, 1 … 4096; default 16. */
  readonly blockSize?: number | undefined;
  /** Blocks that the GPU holds, 1 … 2^24. */
  readonly capacity: number;
  /** Blocks that a second tier holds; default 0: there is none. Evicted blocks go to it, and come back from it. */
  readonly offloadCapacity?: number | undefined;
  /** What the second tier is called; default `CPU`, as by vLLM; SGLang says `CPU_PINNED`. */
  readonly offloadMedium?: string | undefined;
  /** What names of blocks come from, 0 … 2^32 − 1; default 0. Under another one nothing keeps its name. */
  readonly seed?: number | undefined;
  /** Of `seqHashes()`; the LoRA adapter and the salt of a request are added to it. */
  readonly namespace?: Namespace | undefined;
  /** Prompt tokens that a step computes; a step is a batch of events. Default 8192. */
  readonly maxBatchedTokens?: number | undefined;
  /** Decoded blocks whose events share a batch, as those of requests that decode together do; default 1. */
  readonly decodedBlocksPerBatch?: number | undefined;
  /** SGLang with EAGLE: a position is a pair of tokens, a block looks one token ahead. Default false. */
  readonly isBigram?: boolean | undefined;
}

export interface FakeRequest {
  readonly tokens: Uint32Array | readonly number[];
  /** The answer. Its last token is never an input, so that no block is completed by it. */
  readonly output?: Uint32Array | readonly number[] | undefined;
  readonly loraName?: string | undefined;
  readonly cacheSalt?: string | undefined;
}

export interface ServedRequest {
  /** Tokens of leading blocks that were cached, in either tier. */
  readonly cachedTokens: number;
  /** A list of events a step; steps without any are left out. */
  readonly batches: readonly (readonly KvEvent[])[];
}

/** A request under way. */
interface Running extends Blocks {
  /** Prompt and answer, as far as they are inputs. */
  readonly tokens: Uint32Array;
  readonly halves: Uint32Array;
  readonly loraName: string | undefined;
  readonly cacheSalt: string | undefined;
  /** Of its blocks, in order. */
  readonly places: number[];
}

/**
 * One data-parallel rank of an engine, without a model: its prefix cache, and the events that tell of it. Serves one
 * request after the other. Full blocks are cached, the least recently used leave first, of a prompt its tail before its
 * head; those of the request that runs stay, so that of a prompt longer than the cache only the head is cached.
 *
 * Costs: O(tokens) hashing a request, O(1) a block.
 */
export class FakeEngine {
  readonly blockSize: number;
  readonly #gpu: BlockTier;
  readonly #offload: OffloadTier | undefined;
  readonly #media: readonly string[];
  readonly #hasher: BlockHasher;
  readonly #seed: number;
  readonly #namespace: Namespace;
  readonly #maxBatchedTokens: number;
  readonly #decodedBlocksPerBatch: number;
  readonly #lookAhead: 0 | 1;

  /** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE. */
  constructor(options: FakeEngineOptions) {
    const {
      blockSize = 16,
      capacity,
      offloadCapacity = 0,
      offloadMedium = 'CPU',
      seed = 0,
      namespace = {},
      maxBatchedTokens = DEFAULT_BATCHED_TOKENS,
      decodedBlocksPerBatch = 1,
      isBigram = false,
    } = checkOptions<FakeEngineOptions>(options);
    this.blockSize = checkInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE);
    this.#gpu = new BlockTier(checkInteger('capacity', capacity, 1, MAX_CAPACITY));
    checkInteger('offloadCapacity', offloadCapacity, 0, MAX_CAPACITY);
    checkName('offloadMedium', offloadMedium);
    this.#offload = offloadCapacity === 0 ? undefined : new OffloadTier(offloadCapacity, offloadMedium);
    this.#media = ['GPU', offloadMedium];
    this.#seed = checkInteger('seed', seed, 0, MAX_U32);
    namespaceRoot(namespace);
    this.#namespace = { ...namespace };
    this.#maxBatchedTokens = checkInteger('maxBatchedTokens', maxBatchedTokens, 1, MAX_U32);
    this.#decodedBlocksPerBatch = checkInteger('decodedBlocksPerBatch', decodedBlocksPerBatch, 1, MAX_U32);
    this.#lookAhead = checkBoolean('isBigram', isBigram) ? 1 : 0;
    this.#hasher = new BlockHasher({ blockSize });
  }

  /** Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE, the cache unchanged. */
  serve(request: FakeRequest): ServedRequest {
    const prompt = checkTokens(checkOptions<FakeRequest>(request, 'request').tokens);
    const running = this.#start(request, prompt);
    const promptBlocks = this.#blocksIn(prompt.length);
    const cachedBlocks = this.#cachedBlocks(running, promptBlocks);
    this.#offload?.touch(running.halves, cachedBlocks);
    const batches = [this.#advance(running, cachedBlocks)];
    const cachedTokens = running.places.length * this.blockSize;

    for (let at = cachedTokens; at < prompt.length; at += this.#maxBatchedTokens) {
      const computed = Math.min(at + this.#maxBatchedTokens, prompt.length);
      batches.push(this.#advance(running, this.#blocksIn(computed)));
    }
    const blocks = running.names.length;
    for (let at = promptBlocks; at < blocks; at += this.#decodedBlocksPerBatch) {
      const batch: KvEvent[] = [];
      const end = Math.min(at + this.#decodedBlocksPerBatch, blocks);
      for (let block = at; block < end; block++) batch.push(...this.#advance(running, block + 1));
      batches.push(batch);
    }
    // The tail first: it becomes the older.
    for (let i = running.places.length - 1; i >= 0; i--) this.#gpu.release(running.places[i]!);
    return { cachedTokens, batches: batches.filter((events) => events.length > 0) };
  }

  /**
   * How many tokens of leading blocks of the prompt are cached now, in either tier: what `serve` would answer. The cache and
   * the order in which it evicts stay as they are. Throws ERR_KVIDX_INVALID_ARG_TYPE or ERR_KVIDX_OUT_OF_RANGE.
   */
  cachedTokens(request: FakeRequest): number {
    const prompt = checkTokens(checkOptions<FakeRequest>(request, 'request').tokens);
    const blocks = this.#cachedBlocks(this.#start(request, prompt), this.#blocksIn(prompt.length));
    return Math.min(blocks, this.#gpu.capacity) * this.blockSize;
  }

  /** Empties both tiers; answers the batch that tells it. */
  reset(): readonly KvEvent[] {
    this.#gpu.clear();
    this.#offload?.clear();
    return [{ kind: 'cleared' }];
  }

  /** The names of the blocks in a tier, in no order: `BigUint64Array[blocks]`. Throws ERR_KVIDX_OUT_OF_RANGE. */
  blocks(medium = 'GPU'): BigUint64Array {
    return this.#contents(medium).names;
  }

  /**
   * The same blocks in kvidx' scheme, xxh64-v1: `BigUint64Array[blocks]`, fewer with `isBigram`, where blocks that
   * differ in the token after them differ only in name. Throws ERR_KVIDX_OUT_OF_RANGE.
   */
  seqHashes(medium = 'GPU'): BigUint64Array {
    const { seqHashes } = this.#contents(medium);
    return this.#lookAhead === 0 ? seqHashes : BigUint64Array.from(new Set(seqHashes));
  }

  #contents(medium: string): Blocks {
    const tier = checkChoice('medium', medium, this.#media) === 'GPU' ? this.#gpu : this.#offload;
    return tier?.blocks() ?? { names: new BigUint64Array(0), seqHashes: new BigUint64Array(0) };
  }

  #start({ output = [], loraName, cacheSalt }: FakeRequest, prompt: Uint32Array): Running {
    const answer = checkTokens(output, 'output');
    const tokens = new Uint32Array(prompt.length + Math.max(0, answer.length - 1));
    tokens.set(prompt);
    tokens.set(answer.subarray(0, tokens.length - prompt.length), prompt.length);

    // Names and seq hashes differ in the root only: one pass over the tokens, two over the blocks.
    const locals = this.#hasher.localHashes(
      tokens.subarray(0, this.#blocksIn(tokens.length) * this.blockSize),
    );
    const { lora, salt } = this.#namespace;
    const namespace = { ...this.#namespace, lora: loraName ?? lora, salt: cacheSalt ?? salt };
    const seqHashes = this.#hasher.chainHashes(locals, { parent: namespaceRoot(namespace) });
    const names = this.#hasher.chainHashes(
      this.#lookAhead === 0 ? locals : this.#pairHashes(tokens, locals),
      {
        parent: namespaceRoot({ tenant: `engine ${this.#seed}`, lora: loraName, salt: cacheSalt }),
      },
    );
    return { tokens, names, seqHashes, halves: halvesOf(names), loraName, cacheSalt, places: [] };
  }

  /** Local hashes that depend on the token behind each block, too: what a name is made of does not matter. */
  #pairHashes(tokens: Uint32Array, locals: BigUint64Array): BigUint64Array {
    return locals.map((local, i) => local ^ (BigInt(tokens[(i + 1) * this.blockSize]!) << 32n));
  }

  /** Full blocks in so many tokens. */
  #blocksIn(tokens: number): number {
    return Math.max(0, Math.floor((tokens - this.#lookAhead) / this.blockSize));
  }

  /** Leading blocks of the prompt that are in some tier. */
  #cachedBlocks({ halves }: Running, blocks: number): number {
    let i = 0;
    while (i < blocks && (this.#gpu.find(halves, i) >= 0 || this.#offload?.has(halves, i))) i++;
    return i;
  }

  /**
   * One step: the request's first `end` blocks, as many as the GPU has room for at all, are there from now on. Answers
   * the events.
   */
  #advance(running: Running, end: number): KvEvent[] {
    const { halves, places } = running;
    const missing: number[] = [];
    for (let i = places.length; i < Math.min(end, this.#gpu.capacity); i++) {
      const place = this.#gpu.find(halves, i);
      if (place >= 0) this.#gpu.hold(place);
      else missing.push(i);
      places.push(place);
    }
    const events = this.#makeRoom(missing.length - this.#gpu.room);
    for (const i of missing) places[i] = this.#gpu.add(running, i);
    for (let at = 0; at < missing.length; ) {
      const first = missing[at]!;
      while (missing[at + 1] === missing[at]! + 1) at++;
      events.push(this.#storedEvent(running, first, missing[at++]! + 1));
    }
    return events;
  }

  /** Where there is a second tier, blocks come to it before they leave the GPU: followers never lose their names. */
  #makeRoom(blocks: number): KvEvent[] {
    if (blocks <= 0) return [];
    const victims = this.#gpu.evict(blocks);
    const events = this.#offload?.take(victims) ?? [];
    for (const name of victims.names) events.push(removedEvent(BigUint64Array.of(name), 'GPU', MAIN_GROUP));
    return events;
  }

  #storedEvent({ tokens, names, loraName, cacheSalt }: Running, first: number, end: number): StoredEvent {
    const { blockSize } = this;
    return storedEvent({
      blockHashes: names.slice(first, end),
      parentHash: first === 0 ? undefined : names[first - 1],
      tokens: tokens.slice(first * blockSize, end * blockSize + this.#lookAhead),
      blockSize,
      loraName,
      cacheSalt,
      groupIdx: MAIN_GROUP,
      specKind: 'full_attention',
      isBigram: this.#lookAhead === 1,
    });
  }
}
