export { type ApcAnalysis, type ApcOptions, analyzeApc } from './analysis/apc.js';
export type { ApcResult, ApcRow } from './analysis/request-log.js';
export { KvidxError, type KvidxErrorCode } from './errors.js';
export * from './events/index.js';
export {
  BlockHasher,
  type BlockHasherOptions,
  type ChainHashesOptions,
  type HashManyOptions,
  type LocalHashesOptions,
  type SeqHashesOptions,
} from './hash/block-hasher.js';
export {
  createEngineHasher,
  type EngineHasher,
  type EngineHasherOptions,
  type EngineHashScheme,
} from './hash/engine-hashes.js';
export type { ExtraKeys } from './hash/extra-keys.js';
export { multimodalKey } from './hash/multimodal-key.js';
export { encodeNamespace, type Namespace, namespaceRoot } from './hash/namespace.js';
export { type AppendOptions, SessionHasher } from './hash/session-hasher.js';
export * from './kv-index/index.js';
export { type BackendInfo, backend } from './native/index.js';
export * from './routing/index.js';
export { simulateSequential } from './sim/sequential.js';
export type { OpenRows, PolicyResult, SimOptions, SimResult, Simulation } from './sim/types.js';
export * from './sketch/index.js';
export type { BlockConvention, BlockSizeVerdict } from './trace/block-size.js';
export { hybridLine } from './trace/hybrid-line.js';
export { type SynthOptions, synthesizeTrace } from './trace/synth.js';
export { TraceReader } from './trace/trace-reader.js';
export type { ChatRow, TraceFormat, TraceReaderOptions, TraceRow } from './trace/types.js';
