import { counted } from '../text.js';
import {
  EventProblem,
  hashList,
  hashOf,
  integerOf,
  isAbsent,
  listOf,
  optionalHash,
  optionalInteger,
  tokenOf,
} from './fields.js';
import type { KvEvent, RemovedEvent, StoredEvent, TensorRtEvent } from './types.js';

/*
 * One event of TensorRT-LLM's JSON (tensorrt_llm/_utils.py, KVCacheEventSerializer). A block is in one tier at a time
 * there: it moves, and when it is removed, it is gone from whichever it was in.
 */

type Fields = Readonly<Record<string, unknown>>;

/** Tiers by cache_level. */
const MEDIA = ['GPU', 'CPU'];

/** Undefined: a type that is not known. Throws EventProblem. */
export function decodeTensorRtEvent(value: unknown): TensorRtEvent | undefined {
  const event = objectOf('an event', value);
  const data = objectOf('data', event.data);
  const { type } = data;
  if (typeof type !== 'string') throw new EventProblem('data has no type');
  if (type !== 'created' && type !== 'stored' && type !== 'removed' && type !== 'updated') return undefined;
  return {
    eventId: eventIdOf(event.event_id),
    type,
    windowSize: optionalInteger('window_size', event.window_size),
    dpRank: optionalInteger('attention_dp_rank', event.attention_dp_rank),
    events: type === 'created' ? [] : DECODERS[type](data),
    blocksPerLevel: type === 'created' ? poolSizes(data) : undefined,
  };
}

const DECODERS = { stored: decodeStored, removed: decodeRemoved, updated: decodeUpdated };

function eventIdOf(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new EventProblem('event_id is no integer, 0 or more');
}

function poolSizes(data: Fields): number[] {
  const sizes = listOf('num_blocks_per_cache_level', data.num_blocks_per_cache_level);
  return sizes.map((size, level) => integerOf(`num_blocks_per_cache_level[${level}]`, size));
}

interface Block {
  readonly hash: bigint;
  readonly tokens: readonly number[];
  readonly medium: string;
  readonly extraKeys: readonly unknown[] | undefined;
}

/** The blocks of one event may lie in different tiers: a typed event for each run within one. */
function decodeStored(data: Fields): KvEvent[] {
  const blocks = listOf('blocks', data.blocks).map(decodeBlock);
  const blockSize = blockSizeOf(blocks);
  let parentHash = optionalHash('parent_hash', fromText(data.parent_hash));
  const events: KvEvent[] = [];
  for (let start = 0; start < blocks.length; ) {
    const { medium } = blocks[start]!;
    let end = start + 1;
    while (end < blocks.length && blocks[end]!.medium === medium) end++;
    events.push(storedRun(blocks.slice(start, end), parentHash, blockSize));
    parentHash = blocks[end - 1]!.hash;
    start = end;
  }
  return events;
}

function storedRun(
  blocks: readonly Block[],
  parentHash: bigint | undefined,
  blockSize: number | undefined,
): StoredEvent {
  const tokens = Uint32Array.from(blocks.flatMap((block) => block.tokens));
  const hasExtraKeys = blocks.some((block) => block.extraKeys !== undefined);
  return {
    ...bareStore(
      blocks[0]!.medium,
      BigUint64Array.from(blocks, (block) => block.hash),
    ),
    parentHash,
    tokens: tokens.length === 0 ? undefined : tokens,
    blockSize,
    extraKeys: hasExtraKeys ? blocks.map((block) => block.extraKeys) : undefined,
  };
}

/** Blocks that are known by hash only. */
function bareStore(medium: string, blockHashes: BigUint64Array): StoredEvent {
  return {
    kind: 'stored',
    blockHashes,
    parentHash: undefined,
    tokens: undefined,
    blockSize: undefined,
    medium,
    loraName: undefined,
    loraId: undefined,
    cacheSalt: undefined,
    extraKeys: undefined,
    groupIdx: undefined,
    specKind: undefined,
    slidingWindow: undefined,
    isBigram: false,
  };
}

function decodeBlock(value: unknown, index: number): Block {
  const block = objectOf(`blocks[${index}]`, value);
  const sent = listOf(`blocks[${index}].tokens`, block.tokens).map((token, i) =>
    objectOf(`token ${i}`, token),
  );
  const extraIds = sent.flatMap((token, i) => extraId(token.token_extra_id, i));
  const mmKeys = isAbsent(block.mm_keys) ? [] : listOf('mm_keys', block.mm_keys).map(mmKey);
  const extraKeys = [...mmKeys, ...extraIds];
  return {
    hash: hashOf(`blocks[${index}].block_hash`, fromText(block.block_hash)),
    tokens: sent.map((token, i) => tokenOf(token.token_id, i)),
    medium: mediumOfLevel(block.cache_level),
    extraKeys: extraKeys.length === 0 ? undefined : extraKeys,
  };
}

/** A token of another meaning under the same id: blocks with it are not those without. */
function extraId(value: unknown, at: number): unknown[] {
  if (isAbsent(value) || value === 0) return [];
  return [['token_extra_id', at, hashOf(`token_extra_id of token ${at}`, fromText(value))]];
}

/** In the form of vLLM's: the identifier and where the item starts. */
function mmKey(value: unknown, index: number): unknown {
  const key = objectOf(`mm_keys[${index}]`, value);
  if (typeof key.hash !== 'string') throw new EventProblem(`mm_keys[${index}].hash is no text`);
  const { start_offset: offset } = key;
  if (!Number.isSafeInteger(offset)) throw new EventProblem(`mm_keys[${index}].start_offset is no integer`);
  return [key.hash, offset];
}

/** Only the last block may be partial, so that only an event of several tells the size. */
function blockSizeOf(blocks: readonly Block[]): number | undefined {
  if (blocks.length < 2) return undefined;
  const size = blocks[0]!.tokens.length;
  const full = blocks.slice(0, -1).every((block) => block.tokens.length === size);
  const last = blocks[blocks.length - 1]!.tokens.length;
  if (!full || last > size)
    throw new EventProblem(`not all blocks but the last have ${counted(size, 'token')}`);
  return size === 0 ? undefined : size;
}

/** Out of every tier: the event does not say which. */
function decodeRemoved(data: Fields): KvEvent[] {
  const list = listOf('block_hashes', data.block_hashes).map(fromText);
  const blockHashes = hashList('block_hashes', list);
  return MEDIA.map((medium) => removal(blockHashes.slice(), medium));
}

/** A block that moves is stored in its new tier first, so that its hash stays known. A mere priority moves nothing. */
function decodeUpdated(data: Fields): KvEvent[] {
  const hash = hashOf('block_hash', fromText(data.block_hash));
  if (isAbsent(data.cache_level)) return [];
  const { new_value: to, old_value: from } = objectOf('cache_level', data.cache_level);
  const [newMedium, oldMedium] = [mediumOfLevel(to), mediumOfLevel(from)];
  if (newMedium === oldMedium) return [];
  return [bareStore(newMedium, BigUint64Array.of(hash)), removal(BigUint64Array.of(hash), oldMedium)];
}

function removal(blockHashes: BigUint64Array, medium: string): RemovedEvent {
  return { kind: 'removed', blockHashes, medium, groupIdx: undefined };
}

function mediumOfLevel(level: unknown): string {
  const medium = isAbsent(level) ? MEDIA[0] : MEDIA[integerOf('cache_level', level)];
  if (medium === undefined) throw new EventProblem(`cache_level ${level} is neither 0 (GPU) nor 1 (host)`);
  return medium;
}

/** A hash as digits, which keeps all of its bits where JSON is parsed to Numbers. */
function fromText(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? BigInt(value) : value;
}

function objectOf(name: string, value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new EventProblem(`${name} is no object`);
}
