/** One bounded worker that is fed a real trace is an LRU cache of whole prompts, to the token. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backend, KvIndex, TraceReader } from '../../src/index.js';
import { seam } from '../../src/native/index.js';
import { realTrace } from '../trace/support.js';

const NAME = 'agentic-48';
const CAPACITIES = [1000, 5000, 10_000, 20_000, 50_000, 100_000, 150_000];
/** The reference backend takes some seconds for each: the smallest evicts most, the others come near the whole trace. */
const TESTED = backend().name === 'native' ? CAPACITIES : [1000, 50_000];

interface Request {
  readonly inputLength: number;
  readonly seqHashes: BigUint64Array;
}

const path = realTrace(NAME);
const suffix = path === undefined ? ` (skipped: there is no ../shared/traces/${NAME}.jsonl.gz)` : '';

describe.skipIf(path === undefined)(`${NAME} through one worker of a capacity${suffix}`, () => {
  const requests: Request[] = [];
  let expected: { block_size: number; lru_cached_tokens: Record<string, number> };

  beforeAll(async () => {
    const file = new URL('../../../shared/expected/apc.json', import.meta.url);
    expected = JSON.parse(readFileSync(file, 'utf8'))[NAME];
    for await (const { inputLength, hashIds } of new TraceReader(path!)) {
      const seqHashes = new BigUint64Array(hashIds.length);
      seam.chainHashes(hashIds, 0n, seqHashes);
      requests.push({ inputLength, seqHashes });
    }
  });

  afterAll(() => {
    requests.length = 0;
  });

  test('every expected capacity is among those that are tested', () => {
    expect(Object.keys(expected.lru_cached_tokens).map(Number)).toEqual(CAPACITIES);
  });

  test.each(TESTED)('%i blocks', (capacity) => {
    const index = new KvIndex();
    const worker = index.addWorker('w', { capacity });
    const hit = new Uint32Array(1);
    let cachedTokens = 0;
    for (const { inputLength, seqHashes } of requests) {
      index.overlap(seqHashes, { out: hit });
      cachedTokens += Math.min(hit[0]! * expected.block_size, inputLength);
      index.store(worker, seqHashes, { nowMs: 0 });
    }
    expect(cachedTokens).toBe(expected.lru_cached_tokens[capacity]);
    expect(index.residentBlocks(worker)).toBeLessThanOrEqual(capacity);
    index.close();
  });
});
