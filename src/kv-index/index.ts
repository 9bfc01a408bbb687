export type {
  ExplainOptions,
  ExplainQuery,
  ExplainReason,
  Explanation,
  WorkerExplanation,
  WorkerReason,
} from './explain.js';
export { type FeedResult, RejectedError } from './feed-result.js';
export { KvIndex } from './kv-index.js';
export {
  type ExclusiveOverlapOptions,
  FAIR_UNIT,
  type FairOverlapOptions,
  type IndexStats,
  type KvIndexOptions,
  type LookupOptions,
  type LookupResult,
  type OverlapOptions,
  type OwnOptions,
  type RemoveOptions,
  type StoreOptions,
  type WorkerStats,
} from './types.js';
export { TIERS, type Tier, type WorkerHandle, type WorkerOptions } from './workers.js';
