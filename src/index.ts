export { KvidxError, type KvidxErrorCode } from './errors.js';
export {
  BlockHasher,
  type BlockHasherOptions,
  type LocalHashesOptions,
  type SeqHashesOptions,
} from './hash/block-hasher.js';
export type { ExtraKeys } from './hash/extra-keys.js';
export { encodeNamespace, type Namespace, namespaceRoot } from './hash/namespace.js';
export { SessionHasher } from './hash/session-hasher.js';
export * from './kv-index/index.js';
export { type BackendInfo, backend } from './native/index.js';
