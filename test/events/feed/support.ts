import {
  EventFeed,
  type EventFeedOptions,
  KvIndex,
  type KvIndexOptions,
  type LookupOptions,
} from '../../../src/index.js';
import { batch } from '../build.js';

export const BLOCK_SIZE = 4;

export function feedOf(
  options?: EventFeedOptions,
  indexOptions?: KvIndexOptions,
): { index: KvIndex; feed: EventFeed } {
  const index = new KvIndex({ blockSize: BLOCK_SIZE, ...indexOptions });
  return { index, feed: new EventFeed(index, options) };
}

/** `blocks` blocks of token ids from `first` on. */
export function prompt(first: number, blocks: number): number[] {
  return Array.from({ length: blocks * BLOCK_SIZE }, (_, i) => first + i);
}

/** A store as vLLM sends it in a map. */
export function store(hashes: readonly unknown[], tokens: readonly unknown[], fields: object = {}): object {
  return {
    type: 'BlockStored',
    block_hashes: hashes,
    parent_block_hash: null,
    token_ids: tokens,
    block_size: BLOCK_SIZE,
    lora_id: null,
    medium: 'GPU',
    lora_name: null,
    ...fields,
  };
}

export function remove(hashes: readonly unknown[], fields: object = {}): object {
  return { type: 'BlockRemoved', block_hashes: hashes, medium: 'GPU', ...fields };
}

export const CLEARED = { type: 'AllBlocksCleared' };

/** Leading blocks of a prompt by `worker rank tier`, of those that have any. */
export function hits(
  index: KvIndex,
  tokens: readonly number[],
  options?: LookupOptions,
): Record<string, number> {
  const { overlap } = index.lookupTokens(tokens, options);
  return Object.fromEntries(
    index
      .workers()
      .filter(({ slot }) => overlap[slot]! > 0)
      .map(({ name, dpRank, tier, slot }) => [`${name} ${dpRank} ${tier}`, overlap[slot]!]),
  );
}

export { batch };
