import { counted } from '../text.js';
import {
  EventProblem,
  extraKeysOf,
  hashList,
  integerOf,
  isAbsent,
  mediumOf,
  optionalHash,
  optionalInteger,
  optionalText,
  tokensOf,
} from './fields.js';
import type { KvEvent, RemovedEvent, StoredEvent } from './types.js';

/*
 * One event, from a positional array or a map, both of vLLM's names (vllm/distributed/kv_events.py; SGLang's
 * disaggregation/kv_events.py): the array's items get their names first. Versions of an engine differ in how many
 * items they send, so that missing ones are absent and further ones ignored, as are fields that are not known.
 */

type Fields = Readonly<Record<string, unknown>>;

const STORED_ITEMS = [
  'type',
  'block_hashes',
  'parent_block_hash',
  'token_ids',
  'block_size',
  'lora_id',
  'medium',
  'lora_name',
  'extra_keys',
  'group_idx',
  'kv_cache_spec_kind',
  'kv_cache_spec_sliding_window',
];
const REMOVED_ITEMS = ['type', 'block_hashes', 'medium', 'group_idx'];

/** Names of Mooncake's own for what the others call by the tags of vLLM. */
const TAGS: Readonly<Record<string, KvEvent['kind']>> = {
  BlockStored: 'stored',
  BlockRemoved: 'removed',
  AllBlocksCleared: 'cleared',
  stored: 'stored',
  removed: 'removed',
  cleared: 'cleared',
};

/** Undefined: a tag that is not known. Throws EventProblem. */
export function decodeEvent(value: unknown): KvEvent | undefined {
  const tag = tagOf(value);
  if (typeof tag !== 'string') throw new EventProblem('no array or map with a tag');
  if (!Object.hasOwn(TAGS, tag)) return undefined;
  const kind = TAGS[tag]!;
  if (kind === 'stored') return decodeStored(named(value, STORED_ITEMS));
  if (kind === 'removed') return decodeRemoved(named(value, REMOVED_ITEMS));
  return { kind: 'cleared' };
}

function tagOf(value: unknown): unknown {
  if (Array.isArray(value)) return value[0];
  if (!isMap(value)) return undefined;
  return value.type ?? value.event_type;
}

/** SGLang appends a map of names where vLLM has the LoRA's name: what it holds stands beside the items. */
function named(value: unknown, names: readonly string[]): Fields {
  if (!Array.isArray(value)) return value as Fields;
  const fields: Record<string, unknown> = {};
  for (let i = 0; i < names.length && i < value.length; i++) {
    if (names[i] === 'lora_name' && isMap(value[i])) Object.assign(fields, namesOnly(value[i]));
    else fields[names[i]!] = value[i];
  }
  return fields;
}

/** Of the appended map only what no position has. */
function namesOnly(map: Fields): Fields {
  return { lora_name: map.lora_name, cache_salt: map.cache_salt };
}

function decodeStored(fields: Fields): StoredEvent {
  const blockHashes = hashList('block_hashes', blockHashesOf(fields));
  const sent = tokensOf(fields.token_ids);
  const blockSize = blockSizeOf(fields.block_size);
  checkCounts(blockHashes.length, blockSize, sent);
  return {
    kind: 'stored',
    blockHashes,
    parentHash: parentOf(fields),
    tokens: sent?.tokens,
    blockSize,
    medium: mediumOf(fields.medium),
    loraName: optionalText('lora_name', fields.lora_name),
    loraId: loraIdOf(fields),
    cacheSalt: optionalText('cache_salt', fields.cache_salt ?? fields.additional_salt),
    extraKeys: extraKeysOf(fields.extra_keys, blockHashes.length),
    groupIdx: optionalInteger('group_idx', fields.group_idx),
    specKind: optionalText('kv_cache_spec_kind', fields.kv_cache_spec_kind),
    slidingWindow: optionalInteger('kv_cache_spec_sliding_window', fields.kv_cache_spec_sliding_window),
    isBigram: sent?.isBigram ?? false,
  };
}

function decodeRemoved(fields: Fields): RemovedEvent {
  return {
    kind: 'removed',
    blockHashes: hashList('block_hashes', blockHashesOf(fields)),
    medium: mediumOf(fields.medium),
    groupIdx: optionalInteger('group_idx', fields.group_idx),
  };
}

/** Mooncake's master sends the aliases of vLLM beside its own names, and either may be the empty one. */
function blockHashesOf({ block_hashes: hashes, seq_hashes: other }: Fields): unknown {
  const isEmpty = isAbsent(hashes) || (Array.isArray(hashes) && hashes.length === 0);
  return isEmpty ? (other ?? hashes) : hashes;
}

function parentOf(fields: Fields): bigint | undefined {
  const parent = optionalHash('parent_block_hash', fields.parent_block_hash ?? fields.parent_hash);
  const first = isAbsent(fields.base_block_idx) ? 0 : integerOf('base_block_idx', fields.base_block_idx);
  if (parent === undefined && first > 0) {
    throw new EventProblem(`base_block_idx is ${first}, and no parent_hash tells behind which block`);
  }
  return parent;
}

/** Beside a name the number says nothing more, and may be any. */
function loraIdOf({ lora_id: id, lora_name: name }: Fields): number | undefined {
  const isUsed = isAbsent(name) || name === '';
  return isUsed || (typeof id === 'number' && id >>> 0 === id) ? optionalInteger('lora_id', id) : undefined;
}

/** Offloads say 0 where they do not know. */
function blockSizeOf(value: unknown): number | undefined {
  const size = isAbsent(value) ? 0 : integerOf('block_size', value);
  return size === 0 ? undefined : size;
}

/** Tokens that do not fill the blocks would move every later block to another place: refused. */
function checkCounts(
  blocks: number,
  blockSize: number | undefined,
  sent: { tokens: Uint32Array; isBigram: boolean } | undefined,
): void {
  if (sent === undefined) return;
  const count = sent.tokens.length - Number(sent.isBigram);
  if (blocks * (blockSize ?? 0) === count) return;
  throw new EventProblem(
    `block_size ${blockSize ?? 0} × ${counted(blocks, 'block')} ≠ ${counted(count, 'token')}`,
  );
}

function isMap(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype;
}
