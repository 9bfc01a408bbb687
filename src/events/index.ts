export { decodeEventBatch } from './decode-batch.js';
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
