export type { Dialect } from './dialects.js';
export { encodeBatch, type FakeBatch } from './encode-batch.js';
export { FakeEngine, type FakeEngineOptions, type FakeRequest, type ServedRequest } from './fake-engine.js';
export { FakePublisher, type FakePublisherOptions, type ReplayLayout } from './fake-publisher.js';
export { encodeTensorRtJson, type TensorRtJsonOptions } from './tensorrt-json.js';
export { type TokenRequest, traceTokens } from './trace-tokens.js';
