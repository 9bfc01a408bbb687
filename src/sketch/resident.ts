import type { KvIndex, WorkerHandle } from '../kv-index/index.js';
import type { ResidentBlocks } from './types.js';

/** The blocks that a worker of the index holds, as they are whenever a frame is built. Throws ERR_KVIDX_CLOSED. */
export function residentOf(index: KvIndex, worker: WorkerHandle): ResidentBlocks {
  return { blockSize: index.blockSize, hashes: () => index.enumerate(worker, { sorted: false }) };
}
