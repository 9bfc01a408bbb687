import type { RemovedEvent, StoredEvent } from '../types.js';

/** On the GPU, and nothing told but what is given. */
export function storedEvent(fields: Partial<StoredEvent> & Pick<StoredEvent, 'blockHashes'>): StoredEvent {
  return {
    kind: 'stored',
    parentHash: undefined,
    tokens: undefined,
    blockSize: undefined,
    medium: 'GPU',
    loraName: undefined,
    loraId: undefined,
    cacheSalt: undefined,
    extraKeys: undefined,
    groupIdx: undefined,
    specKind: undefined,
    slidingWindow: undefined,
    isBigram: false,
    ...fields,
  };
}

export function removedEvent(blockHashes: BigUint64Array, medium: string, groupIdx?: number): RemovedEvent {
  return { kind: 'removed', blockHashes, medium, groupIdx };
}
