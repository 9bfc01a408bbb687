import type { KvEvent, RemovedEvent, StoredEvent } from '../types.js';

/*
 * How each engine, version by version, writes an event: which fields in which order, as an array or a map, and what it
 * makes of a name. Sources: vllm-project/vllm, vllm/distributed/kv_events.py, with the pull requests named below; sgl-project/sglang,
 * python/sglang/srt/disaggregation/kv_events.py; TensorRT-LLM's stream, which has vLLM's names.
 */

/** A block's name as the dialect writes it. */
type WriteName = (name: bigint, event: StoredEvent | RemovedEvent) => unknown;

export interface Field<E> {
  readonly name: string;
  readonly value: (event: E, writeName: WriteName) => unknown;
  /** Maps leave out a field with a default where it has that value, nil (msgspec, omit_defaults). */
  readonly hasDefault: boolean;
}

export interface Layout {
  /** Items of the batch: time, events, and from 3 on the rank. */
  readonly batchItems: 2 | 3;
  readonly form: 'array' | 'map';
  readonly stored: readonly Field<StoredEvent>[];
  readonly removed: readonly Field<RemovedEvent>[];
  readonly writeName: WriteName;
  /** A map of names behind the items of an array. */
  readonly appended?: (event: StoredEvent) => Readonly<Record<string, unknown>> | undefined;
}

// ------------------------------------------------------------------------------------------------------------- fields

function field<E>(name: string, value: Field<E>['value'], hasDefault = false): Field<E> {
  return { name, value, hasDefault };
}

const BLOCK_HASHES = field<StoredEvent | RemovedEvent>('block_hashes', (event, writeName) =>
  listOf(event.blockHashes, (name) => writeName(name, event)),
);
const MEDIUM = field<StoredEvent | RemovedEvent>('medium', ({ medium }) => medium);
const GROUP_IDX = field<StoredEvent | RemovedEvent>('group_idx', ({ groupIdx }) => groupIdx, true);

/** In vLLM's order, which SGLang follows as far as it goes. */
const STORED: readonly Field<StoredEvent>[] = [
  BLOCK_HASHES,
  field('parent_block_hash', (event, writeName) =>
    event.parentHash === undefined ? undefined : writeName(event.parentHash, event),
  ),
  field('token_ids', ({ tokens, isBigram }) =>
    isBigram ? pairs(tokens) : listOf(tokens ?? [], (token) => token),
  ),
  field('block_size', ({ blockSize }) => blockSize ?? 0),
  field('lora_id', ({ loraId }) => loraId),
  MEDIUM,
  field('lora_name', ({ loraName }) => loraName),
  field('extra_keys', extraKeys, true),
  GROUP_IDX,
  field('kv_cache_spec_kind', ({ specKind }) => specKind, true),
  field('kv_cache_spec_sliding_window', ({ slidingWindow }) => slidingWindow, true),
];
const REMOVED: readonly Field<RemovedEvent>[] = [BLOCK_HASHES, MEDIUM, GROUP_IDX];

const CACHE_SALT = field<StoredEvent>('cache_salt', ({ cacheSalt }) => cacheSalt, true);

/** What vLLM has had on its main branch since September 2026, and TensorRT-LLM's stream has: readers have no use for it. */
const LOCALITY = field<KvEvent>('locality', () => 'local', true);
const OWNERSHIP = field<KvEvent>('ownership', () => 'owned', true);
const SESSION_ID = field<StoredEvent>('session_id', () => 'session', true);

/**
 * vLLM's: a list a block, of the LoRA adapter, multimodal items and, at the head of a prompt only, its salt; nil where
 * there is none.
 */
function extraKeys({
  blockHashes,
  tokens,
  extraKeys,
  loraName,
  cacheSalt,
  parentHash,
}: StoredEvent): unknown {
  if (extraKeys !== undefined) return extraKeys.map((keys) => keys ?? null);
  if (tokens === undefined) return undefined;
  return Array.from(blockHashes, (_, i) => {
    const isHead = i === 0 && parentHash === undefined;
    const keys = [loraName, isHead ? cacheSalt : undefined].filter((key) => key !== undefined);
    return keys.length === 0 ? null : keys;
  });
}

/** Most of the time of a batch goes here: a loop takes a fifth of that of Array.from. */
function listOf<V>(array: ArrayLike<V>, write: (value: V) => unknown): unknown[] {
  const list = new Array<unknown>(array.length);
  for (let i = 0; i < list.length; i++) list[i] = write(array[i]!);
  return list;
}

/** `a, b, c` → `[a, b], [b, c]`. */
function pairs(tokens: Uint32Array | undefined): [number, number][] {
  return Array.from(tokens?.subarray(1) ?? [], (token, i) => [tokens![i]!, token]);
}

// -------------------------------------------------------------------------------------------------------------- names

const MIN_I32 = -(2n ** 31n);
const MAX_U32 = 2n ** 32n - 1n;

const unsigned: WriteName = (name) => shortest(name);
const signed: WriteName = (name) => shortest(BigInt.asIntN(64, name));
/** VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=0. */
const digests: WriteName = (name) => digestOf(name);
/** Earlier offload connectors, which never made integers of their digests. */
const digestsOfOffloads: WriteName = (name, event) =>
  event.medium === 'GPU' ? shortest(name) : digestOf(name);

/** msgspec writes integers in the shortest form, which is that of Numbers; bigints have 64 bits. */
function shortest(name: bigint): bigint | number {
  return name >= MIN_I32 && name <= MAX_U32 ? Number(name) : name;
}

/** A SHA-256 in appearance, whose last 8 bytes are the name. */
function digestOf(name: bigint): Uint8Array {
  const digest = new Uint8Array(32);
  const view = new DataView(digest.buffer);
  for (let at = 0; at < 24; at += 8) view.setBigUint64(at, name ^ BigInt(0x5eed << at));
  view.setBigUint64(24, name);
  return digest;
}

// ----------------------------------------------------------------------------------------------------------- dialects

/** Positional arrays: so many items, their tag among them. */
function arrays(storedItems: number, removedItems: number, writeName: WriteName): Layout {
  return {
    batchItems: 3,
    form: 'array',
    stored: STORED.slice(0, storedItems - 1),
    removed: REMOVED.slice(0, removedItems - 1),
    writeName,
  };
}

const VLLM_MAP: Layout = {
  batchItems: 3,
  form: 'map',
  stored: STORED,
  removed: REMOVED,
  writeName: unsigned,
};
const SGLANG_7 = arrays(7, 3, signed);

export const DIALECTS = {
  /** The first, #16750, v0.8. */
  'vllm-first': { ...arrays(6, 2, unsigned), batchItems: 2 },
  /** With data_parallel_rank. */
  'vllm-rank': arrays(6, 2, unsigned),
  /** With medium, #19737. */
  'vllm-medium': arrays(7, 3, unsigned),
  /** With lora_name, #27577. */
  'vllm-lora-name': arrays(8, 3, unsigned),
  /** With extra_keys, #33304, v0.17. */
  'vllm-extra-keys': arrays(9, 3, unsigned),
  /** With group_idx, #37688. */
  'vllm-group': arrays(10, 4, unsigned),
  /** With the kind of attention, #40984, v0.22.1. */
  'vllm-spec': arrays(12, 4, unsigned),
  /** Events as maps, #42892, v0.24. */
  'vllm-map': VLLM_MAP,
  /** With locality, ownership and session_id. */
  'vllm-locality': {
    ...VLLM_MAP,
    stored: [...STORED, LOCALITY, OWNERSHIP, SESSION_ID],
    removed: [...REMOVED, LOCALITY, OWNERSHIP],
  },
  /** Digests of 32 bytes instead of integers. */
  'vllm-bytes': { ...VLLM_MAP, writeName: digests },
  /** Integers for the GPU, digests for offloads. */
  'vllm-mixed': arrays(9, 3, digestsOfOffloads),
  /** The first. */
  'sglang-6': { ...arrays(6, 2, signed), batchItems: 2 },
  /** With rank and medium. */
  'sglang-7': SGLANG_7,
  /** v0.5.18: the salt in a map behind the items, #30827. */
  'sglang-salted': {
    ...SGLANG_7,
    appended: ({ cacheSalt }) => (cacheSalt === undefined ? undefined : { cache_salt: cacheSalt }),
  },
  /** Events as maps, #37482. */
  'sglang-map': {
    ...VLLM_MAP,
    stored: [...STORED.slice(0, 6), CACHE_SALT],
    removed: REMOVED.slice(0, 2),
    writeName: signed,
  },
  /** TensorRT-LLM's stream. */
  tensorrt: {
    ...VLLM_MAP,
    stored: [...STORED.slice(0, 7), LOCALITY],
    removed: [...REMOVED.slice(0, 2), LOCALITY],
    writeName: signed,
  },
} satisfies Record<string, Layout>;

/** An engine's way to write its events, named after what came with it. */
export type Dialect = keyof typeof DIALECTS;
