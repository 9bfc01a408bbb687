import { invalidArgType } from '../../errors.js';
import { checkInteger, checkOptions } from '../../validate.js';
import type { KvEvent, StoredEvent } from '../types.js';

/** What TensorRT-LLM gives blocks that nobody ranked. */
const PRIORITY = 35;
const MAX_U32 = 0xffff_ffff;
/** Before the digits of a hash, which JSON has as an integer and a Number cannot hold; no text here begins so. */
const MARK = '#';

export interface TensorRtJsonOptions {
  /** Attention window in tokens; default 32,768. */
  readonly windowSize?: number | undefined;
  /** Data-parallel rank; undefined: not told. */
  readonly dpRank?: number | undefined;
}

/**
 * Events as TensorRT-LLM's JSON has them (tensorrt_llm/_utils.py, KVCacheEventSerializer), a list whose ids rise by 1
 * from `firstEventId` on. The last block of a store may be partial: tokens that fill it in part only. It knows neither
 * clears nor, as blocks move there, a store in another tier than the GPU: those are ERR_KVIDX_INVALID_ARG_TYPE; another
 * option is ERR_KVIDX_OUT_OF_RANGE.
 */
export function encodeTensorRtJson(
  events: readonly KvEvent[],
  firstEventId: number,
  options?: TensorRtJsonOptions,
): string {
  checkInteger('firstEventId', firstEventId, 0, Number.MAX_SAFE_INTEGER);
  const { windowSize = 32_768, dpRank } = checkOptions(options);
  const rank = dpRank === undefined ? {} : { attention_dp_rank: checkInteger('dpRank', dpRank, 0, MAX_U32) };
  const list = events.map((event, i) => ({
    event_id: firstEventId + i,
    data: dataOf(event),
    window_size: checkInteger('windowSize', windowSize, 1, MAX_U32),
    ...rank,
  }));
  const text = JSON.stringify(list, (_, value) => (typeof value === 'bigint' ? `${MARK}${value}` : value));
  return text.replace(new RegExp(`"${MARK}(\\d+)"`, 'g'), '$1');
}

function dataOf(event: KvEvent): object {
  if (event.kind === 'removed' && event.medium === 'GPU') {
    return { type: 'removed', block_hashes: Array.from(event.blockHashes) };
  }
  if (event.kind !== 'stored' || event.medium !== 'GPU') {
    throw invalidArgType('an event for TensorRT-LLM', 'a store on the GPU or a removal from it', event);
  }
  return { type: 'stored', parent_hash: event.parentHash ?? null, blocks: blocksOf(event) };
}

function blocksOf({
  blockHashes,
  tokens = new Uint32Array(0),
  blockSize = tokens.length,
}: StoredEvent): object[] {
  return Array.from(blockHashes, (block_hash, i) => ({
    type: 'stored_block',
    block_hash,
    tokens: Array.from(tokens.subarray(i * blockSize, (i + 1) * blockSize), (token_id) => ({
      type: 'unique_token',
      token_id,
      token_extra_id: 0,
    })),
    cache_level: 0,
    priority: PRIORITY,
  }));
}
