import { expect, it } from 'vitest';
import { backend, type Dialect, EventFeed, encodeBatch, FakeEngine, KvIndex } from '../../../src/index.js';
import { Random } from '../../../src/random.js';
import { hex, pack } from '../build.js';
import { batch, hits, prompt, store } from './support.js';

const INPUTS = backend().name === 'native' ? 200_000 : 10_000;
const BLOCK_SIZE = 4;
const MOST_MEMORY = 300 * 2 ** 20;

const seed = Date.now() % 1_000_000;
const random = new Random(seed);
const below = (n: number) => Math.floor(random.uniform() * n);
const pick = <T>(values: readonly T[]): T => values[below(values.length)]!;

/** What engines send, small. */
function goodPayloads(): Uint8Array[] {
  const dialects: Dialect[] = [
    'vllm-first',
    'vllm-extra-keys',
    'vllm-map',
    'vllm-mixed',
    'sglang-salted',
    'tensorrt',
  ];
  return dialects.flatMap((dialect) => {
    const engine = new FakeEngine({ blockSize: BLOCK_SIZE, capacity: 8, offloadCapacity: 4 });
    return Array.from({ length: 6 }, (_, i) => {
      const tokens = Uint32Array.from(prompt(100 * i, 3));
      const { batches } = engine.serve({ tokens, ...(i % 2 === 1 && { loraName: 'x', cacheSalt: 's' }) });
      return encodeBatch(dialect, { timestampMs: 1000 * i, dpRank: 0, events: batches.flat() });
    });
  });
}

const GOOD = goodPayloads();
/** Headers of 2^31 items or bytes, and the start of deep nesting. */
const BOMBS = ['dd80000000', 'df80000000', 'db80000000', 'c680000000', 'c98000000001', '91'.repeat(2000)];

function garbage(): Uint8Array {
  const good = pick(GOOD);
  switch (below(5)) {
    case 0:
      return Uint8Array.from({ length: below(120) }, () => below(256));
    case 1:
      return good.slice(0, below(good.length));
    case 2: {
      const at = below(good.length);
      return Buffer.concat([good.subarray(0, at), hex(pick(BOMBS)), good.subarray(at)]);
    }
    case 3:
      return batch(
        store([new Uint8Array(5), 7], prompt(below(50), 2)),
        store([below(9)], prompt(below(9), 1)),
      );
    default: {
      const bytes = good.slice();
      for (let i = 1 + below(4); i > 0; i--) bytes[below(bytes.length)] = below(256);
      return bytes;
    }
  }
}

it(`${INPUTS} messages of garbage (seed ${seed}): typed errors, sound state, bounded memory, good events kept`, () => {
  const index = new KvIndex({ blockSize: BLOCK_SIZE, maxBlocks: 2000 });
  const feed = new EventFeed(index, { maxRanks: 4 });
  const engine = feed.follow('w0');
  const start = process.memoryUsage.rss();
  const kept = prompt(5000, 1);
  for (let i = 0; i < INPUTS; i++) {
    try {
      engine.apply(garbage(), { nowMs: i });
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== 'ERR_KVIDX_BAD_EVENT' && code !== 'ERR_KVIDX_BLOCK_SIZE') throw error;
    }
    if (i % 1000 > 0) continue;
    expect(index.validate()).toBe('');
    const mixed = pack([
      1,
      [store([new Uint8Array(5)], kept), store([900 + i], kept), ['BlockStored', 5]],
      0,
    ]);
    expect(engine.apply(mixed).bad.map(({ index: place }) => place)).toEqual([0, 2]);
    expect(hits(index, kept)['w0 0 gpu']).toBe(1);
  }
  const names = feed.stats().reduce((sum, rank) => sum + rank.names, 0);
  expect(index.stats().blocks).toBeLessThanOrEqual(2000);
  expect(names).toBeLessThan(50_000);
  expect(process.memoryUsage.rss() - start).toBeLessThan(MOST_MEMORY);
}, 300_000);
