import type { KvIndex } from '../../kv-index/kv-index.js';
import type { BlockNamespaces } from './block-namespaces.js';
import type { TierPlaces } from './mediums.js';

/** What all ranks of a feed have in common. */
export interface FeedContext {
  readonly index: KvIndex;
  readonly blockSize: number;
  readonly namespaces: BlockNamespaces;
  readonly tiers: TierPlaces;
  readonly loraNames: Readonly<Record<number, string>>;
  readonly countsCopies: boolean;
  readonly maxRanks: number;
  readonly onError: (error: Error, worker: string, dpRank: number) => void;
}
