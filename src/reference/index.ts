import type { Seam } from '../native/seam.js';
import { createReferenceApcCounter } from './apc-counter.js';
import { createReferenceBloomPath } from './bloom.js';
import { createReferenceIndex } from './core-index.js';
import { readEvents } from './event-batch.js';
import { createReferenceHasher } from './hash.js';
import { createReferenceFrameReader } from './sketch-frame.js';
import { scanTraceRow } from './trace-row.js';

/** The whole seam in TypeScript and WebAssembly: oracle of the property tests and backend of last resort. */
export async function createReferenceSeam(): Promise<Seam> {
  const hasher = await createReferenceHasher();
  return {
    name: 'wasm',
    isa: 'wasm',
    ...hasher,
    scanTraceRow,
    bloomPaths: [createReferenceBloomPath(hasher)],
    readFrame: createReferenceFrameReader(hasher),
    readEvents,
    createIndex: (options) => createReferenceIndex(options, hasher),
    createApcCounter: (capacities) => createReferenceApcCounter(capacities, hasher),
  };
}
