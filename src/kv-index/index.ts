export type { ExplainOptions, ExplainQuery, ExplainReason, Explanation } from './explain.js';
export type { EvictionCause, WorkerExplanation, WorkerReason } from './explain-workers.js';
export { type FeedResult, RejectedError } from './feed-result.js';
export { KvIndex } from './kv-index.js';
export {
  type EnumerateOptions,
  type ExclusiveOverlapOptions,
  type ExclusiveWithinOptions,
  FAIR_UNIT,
  type FairOverlapOptions,
  type FairWithinOptions,
  type FeedOptions,
  type IndexStats,
  type KvIndexOptions,
  type LookupOptions,
  type LookupResult,
  type OverlapManyOptions,
  type OverlapOptions,
  type OwnOptions,
  type Parent,
  type RemoveOptions,
  type ReportedChain,
  type SetCapacityOptions,
  type StoreOptions,
  type StrictOptions,
  type WorkerMode,
  type WorkerStats,
} from './types.js';
export { TIERS, type Tier, type WorkerHandle, type WorkerOptions } from './workers.js';
