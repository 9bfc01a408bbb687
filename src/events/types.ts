/** Blocks that an engine holds from now on, consecutive: each is the parent of the next. */
export interface StoredEvent {
  readonly kind: 'stored';
  /** The engine's own names of the blocks, as u64: opaque, not of kvidx' scheme. */
  readonly blockHashes: BigUint64Array;
  /** The engine's name of the block before the first one; undefined at the head of a chain, or where none was sent. */
  readonly parentHash: bigint | undefined;
  /**
   * Token ids of all blocks, `Uint32Array[blocks × blockSize]`; one more with `isBigram`; fewer in TensorRT-LLM's
   * JSON, whose last block may be partial. Undefined: none were sent (offloads), the blocks are known by hash only.
   */
  readonly tokens: Uint32Array | undefined;
  /** Tokens a block. Undefined: not told (offloads say 0), as for the only block of an event of TensorRT-LLM's JSON. */
  readonly blockSize: number | undefined;
  /** The tier as sent; `'GPU'` where none was. */
  readonly medium: string;
  readonly loraName: string | undefined;
  /** The engine's number of the adapter, all that vLLM before lora_name tells: such blocks are not those of the base model. */
  readonly loraId: number | undefined;
  /** Told by SGLang. vLLM puts it among the extra keys of a request's first block. */
  readonly cacheSalt: string | undefined;
  /** What else tells a block apart, as sent, parallel to the blocks; undefined where no block has any. */
  readonly extraKeys: readonly (readonly unknown[] | undefined)[] | undefined;
  readonly groupIdx: number | undefined;
  /** Kind of attention, as sent: `'full_attention'`, … */
  readonly specKind: string | undefined;
  readonly slidingWindow: number | undefined;
  /** SGLang with EAGLE: a position is a pair of neighbours, so that the last block looks one token ahead. */
  readonly isBigram: boolean;
}

/** Blocks that an engine no longer holds in one tier. */
export interface RemovedEvent {
  readonly kind: 'removed';
  readonly blockHashes: BigUint64Array;
  /** The tier as sent; `'GPU'` where none was. */
  readonly medium: string;
  readonly groupIdx: number | undefined;
}

/** The engine holds nothing any more. */
export interface ClearedEvent {
  readonly kind: 'cleared';
}

export type KvEvent = StoredEvent | RemovedEvent | ClearedEvent;

/** An event that was wrong, by its place in the list that was sent. */
export interface BadEvent {
  readonly index: number;
  readonly problem: string;
}

/** What one message of an engine says. */
export interface EventBatch {
  /** When the engine made it, in ms of its clock. */
  readonly timestampMs: number;
  /** Data-parallel rank; undefined: not told. */
  readonly dpRank: number | undefined;
  /** The good ones, in order. */
  readonly events: readonly KvEvent[];
  /** How many had a tag that is not known here. */
  readonly unknown: number;
  readonly bad: readonly BadEvent[];
}

/** One event of TensorRT-LLM's JSON. */
export interface TensorRtEvent {
  /** Rises by 1 an event, for each rank. */
  readonly eventId: number;
  readonly type: 'created' | 'stored' | 'removed' | 'updated';
  /** Attention window in tokens. Each window has events of its own about the same tokens: keep those of the largest. */
  readonly windowSize: number | undefined;
  readonly dpRank: number | undefined;
  /** What it comes to, in order: see `decodeTensorRtEvents`. */
  readonly events: readonly KvEvent[];
  /** Of `created`: sizes of the pools in blocks, GPU first. */
  readonly blocksPerLevel: readonly number[] | undefined;
}

/** What one answer of TensorRT-LLM says. */
export interface TensorRtEvents {
  /** The good ones, in order. */
  readonly events: readonly TensorRtEvent[];
  /** How many had a type that is not known here. */
  readonly unknown: number;
  readonly bad: readonly BadEvent[];
}
