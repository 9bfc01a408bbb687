// A worker's side: it keeps what its engine holds in an index, and publishes a sketch of it.
import { KvIndex, redisTransport, residentOf, SketchPublisher } from 'kvidx';
import { answerCalls } from './child.js';

const [name, url] = process.argv.slice(2) as [string, string];
const index = new KvIndex({ blockSize: 24 });
// Here an LRU cache stands for the engine; with a real one, its KV events feed the index.
const cache = index.addWorker(name, { capacity: 30_000 });

const transport = await redisTransport({ url });
const publisher = new SketchPublisher({
  transport,
  worker: name,
  resident: residentOf(index, cache),
  everyMs: 50,
});

const methods = {
  /** Prefills and decodes a prompt: answers how many of its tokens were in the cache. */
  serve(seqHashes: BigUint64Array): number {
    const cachedBlocks = index.overlap(seqHashes)[cache.slot]!;
    index.store(cache, seqHashes);
    return cachedBlocks * index.blockSize;
  },
  publish: () => publisher.publish(),
  start: () => publisher.start(),
  blocks: () => index.residentBlocks(cache),
};
export type WorkerMethods = typeof methods;
answerCalls(methods);
