export { decodeEventBatch } from './decode-batch.js';
export {
  type Dialect,
  encodeBatch,
  encodeTensorRtJson,
  type FakeBatch,
  FakeEngine,
  type FakeEngineOptions,
  FakePublisher,
  type FakePublisherOptions,
  type FakeRequest,
  type ReplayLayout,
  type ServedRequest,
  type TensorRtJsonOptions,
  type TokenRequest,
  traceTokens,
} from './fake/index.js';
export { EventFeed } from './feed/event-feed.js';
export type { FollowedEngine } from './feed/followed-engine.js';
export { MEDIUM_TIERS } from './feed/mediums.js';
export type {
  AppliedBlocks,
  AppliedCounts,
  AppliedEvents,
  ApplyOptions,
  EventFeedOptions,
  FollowedRankStats,
} from './feed/types.js';
export {
  EventRecorder,
  type EventRecorderOptions,
  type ReadRecordingOptions,
  type RecordedMessage,
  type RecordedStreamState,
  RecordedStreams,
  readRecording,
} from './recording/index.js';
export type {
  DegradedReason,
  StreamEffect,
  StreamMessage,
  StreamPosition,
  StreamSink,
} from './stream/types.js';
export { decodeTensorRtEvents } from './tensorrt.js';
export type {
  BadEvent,
  ClearedEvent,
  EventBatch,
  KvEvent,
  RemovedEvent,
  StoredEvent,
  TensorRtEvent,
  TensorRtEvents,
} from './types.js';
export type { FollowOptions, StreamSinks, StreamStatus, ZmqSubscriberOptions } from './zmq/types.js';
export { ZmqSubscriber } from './zmq/zmq-subscriber.js';
