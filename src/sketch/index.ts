export { BloomFilter } from './bloom-filter.js';
export { type DecodeFrameOptions, decodeFrame, encodeFrame, SCHEME_XXH64_V1 } from './frame.js';
export { type FromParquetOptions, fromParquet, toParquet } from './parquet.js';
export { type ClosePublisherOptions, SketchPublisher } from './publisher.js';
export { residentOf } from './resident.js';
export { type SessionSketchOptions, sessionSketch } from './session-sketch.js';
export {
  bitsPerKey,
  expectedFpp,
  expectedInflation,
  filterBlocks,
  keyCapacity,
  MAX_FILTER_BLOCKS,
  parquetBits,
} from './sizing.js';
export { type SketchOverlap, sketchOverlap } from './sketch-overlap.js';
export { SketchSubscriber } from './subscriber.js';
export { memoryTransport } from './transport/memory.js';
export { type RedisTransportOptions, redisTransport } from './transport/redis.js';
export type { SketchTransport, SubscriptionWatch } from './transport/transport.js';
export type {
  ClearFrame,
  Degraded,
  DeltaFrame,
  FollowedSketch,
  FullFrame,
  Published,
  PublisherStats,
  PublishOptions,
  ResidentBlocks,
  Sketch,
  SketchFrame,
  SketchHead,
  SketchPublisherOptions,
  SketchSource,
  SketchSubscriberOptions,
  SubscriberStats,
} from './types.js';
