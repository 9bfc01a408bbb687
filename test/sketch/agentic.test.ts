/** Sketches of workers against what they hold, over whole traces. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { BlockHasher } from '../../src/hash/block-hasher.js';
import { KvIndex } from '../../src/kv-index/index.js';
import { backend } from '../../src/native/index.js';
import { BloomFilter } from '../../src/sketch/bloom-filter.js';
import { encodeFrame } from '../../src/sketch/frame.js';
import { TraceReader } from '../../src/trace/trace-reader.js';
import { realTrace } from '../trace/support.js';

const WORKERS = 8;
const TARGET_FPP = 0.01;
const TIMEOUT_MS = 600_000;

interface Replay {
  readonly requests: number;
  /** Request × worker pairs where the sketch says less than is there. */
  readonly tooShort: number;
  /** Blocks that the sketch says more than are there, a pair. */
  readonly meanInflation: number;
  /** Of whole frames at the end. */
  readonly bytesPerBlock: number;
}

/**
 * Round-robin in the order of the rows: each request is compared on every worker, then stored on its own, without bounds, and
 * that worker's sketch is made anew.
 */
async function replay(path: string, most: number): Promise<Replay> {
  using index = new KvIndex();
  const hasher = new BlockHasher();
  const workers = Array.from({ length: WORKERS }, (_, i) => index.addWorker(`w${i}`));
  const filters = workers.map(() => new BloomFilter(1));
  let requests = 0;
  let tooShort = 0;
  let inflation = 0;
  for await (const { hashIds } of new TraceReader(path)) {
    if (requests === most) break;
    const seqHashes = hasher.chainHashes(hashIds);
    const overlaps = index.overlap(seqHashes);
    for (const [i, { slot }] of workers.entries()) {
      const more = filters[i]!.leadingBlocks(seqHashes) - overlaps[slot]!;
      if (more < 0) tooShort += 1;
      inflation += more;
    }
    const chosen = requests % WORKERS;
    index.store(workers[chosen]!, seqHashes, { nowMs: 0 });
    filters[chosen] = BloomFilter.of(index.enumerate(workers[chosen]!), TARGET_FPP);
    requests += 1;
  }
  let blocks = 0;
  let bytes = 0;
  for (const [i, worker] of workers.entries()) {
    const keys = index.residentBlocks(worker);
    const head = { worker: worker.name, session: undefined, epoch: 1, sequence: 1, timestampMs: 0, keys };
    const filter = filters[i]!;
    blocks += keys;
    bytes += encodeFrame({
      kind: 'full',
      ...head,
      targetFpp: TARGET_FPP,
      blockSize: index.blockSize,
      filter,
    }).length;
  }
  return {
    requests,
    tooShort,
    meanInflation: inflation / (requests * WORKERS),
    bytesPerBlock: bytes / blocks,
  };
}

/** Making a sketch anew for each request takes the reference backend minutes over the whole trace. */
const FIRST_ROWS_ON_REFERENCE = 400;

const traces = [
  {
    name: 'agentic-mini',
    path: fileURLToPath(new URL('../../examples/agentic-mini.jsonl.gz', import.meta.url)),
    rows: 694,
  },
  { name: 'agentic-48', path: realTrace('agentic-48'), rows: 3719 },
];

describe.each(traces)('sketches of the workers that serve $name', ({ name, path, rows }) => {
  if (path === undefined) {
    test.skip(`keep to their bounds (skipped: there is no ../shared/traces/${name}.jsonl.gz)`);
    return;
  }
  const most = backend().name === 'wasm' ? FIRST_ROWS_ON_REFERENCE : rows;

  test('never say less than is there, and little more in little room', { timeout: TIMEOUT_MS }, async () => {
    const { requests, tooShort, meanInflation, bytesPerBlock } = await replay(path, most);
    expect(requests).toBe(most);
    expect(tooShort).toBe(0);
    expect(meanInflation).toBeGreaterThan(0);
    expect(meanInflation).toBeLessThanOrEqual(0.016);
    expect(bytesPerBlock).toBeLessThanOrEqual(1.5);
  });
});
