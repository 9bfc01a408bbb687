import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Dialect,
  encodeBatch,
  encodeTensorRtJson,
  FakeEngine,
  type FakeEngineOptions,
  traceTokens,
} from '../../../src/events/fake/index.js';
import {
  BlockHasher,
  decodeEventBatch,
  decodeTensorRtEvents,
  type KvEvent,
  type StoredEvent,
  type TraceRow,
} from '../../../src/index.js';
import { stored } from '../build.js';
import { Follower, readRows, sorted } from './support.js';

const range = (length: number, from = 0) => Uint32Array.from({ length }, (_, i) => from + i);

/** `+2@4` two blocks stored behind the fourth one, `-1` one removed; in the second tier with a `c`. */
function told(batches: readonly (readonly KvEvent[])[]): string[] {
  return batches.map((events) =>
    events
      .map((event) => {
        if (event.kind === 'cleared') return 'clear';
        const tier = event.medium === 'CPU' ? 'c' : '';
        return `${event.kind === 'stored' ? '+' : '-'}${event.blockHashes.length}${tier}`;
      })
      .join(' '),
  );
}

describe('a request', () => {
  const options: FakeEngineOptions = { blockSize: 4, capacity: 10, maxBatchedTokens: 8 };

  it('stores full blocks, a batch a step, and decoded ones by themselves', () => {
    const engine = new FakeEngine(options);
    const { cachedTokens, batches } = engine.serve({ tokens: range(18), output: range(8, 100) });
    expect(cachedTokens).toBe(0);
    // 18 + 7 tokens are inputs: 4 blocks of the prompt, 2 that are full while decoding.
    expect(told(batches)).toEqual(['+2', '+2', '+1', '+1']);
    const stores = batches.flat() as StoredEvent[];
    expect(stores.map(({ tokens }) => [...tokens!])).toEqual([
      [...range(8)],
      [...range(8, 8)],
      [16, 17, 100, 101],
      [...range(4, 102)],
    ]);
    expect(stores.map(({ parentHash }) => parentHash)).toEqual([
      undefined,
      ...stores.slice(0, -1).map(({ blockHashes }) => blockHashes.at(-1)),
    ]);
    expect(engine.seqHashes().length).toBe(6);
  });

  it('may share batches while decoding', () => {
    const engine = new FakeEngine({ ...options, decodedBlocksPerBatch: 2 });
    expect(told(engine.serve({ tokens: range(3), output: range(14) }).batches)).toEqual(['+1 +1', '+1 +1']);
  });

  it('finds the leading blocks of the one before, its answer too', () => {
    const engine = new FakeEngine(options);
    engine.serve({ tokens: range(6), output: range(7, 6) });
    const { cachedTokens, batches } = engine.serve({ tokens: range(17) });
    expect(cachedTokens).toBe(12);
    expect(told(batches)).toEqual(['+1']);
    expect(engine.serve({ tokens: range(17) })).toEqual({ cachedTokens: 16, batches: [] });
  });

  it('evicts what was used longest ago, the tail of a prompt first, before it stores', () => {
    const engine = new FakeEngine(options);
    const [first, second, third] = [range(20), range(20, 100), range(12, 200)];
    engine.serve({ tokens: first });
    engine.serve({ tokens: second });
    engine.serve({ tokens: first });
    expect(told(engine.serve({ tokens: third }).batches)).toEqual(['-1 -1 +2', '-1 +1']);
    expect(engine.serve({ tokens: second }).cachedTokens).toBe(8);
    expect(engine.blocks().length).toBe(10);
  });

  it('that is longer than the cache keeps its head, and no block of it evicts another one', () => {
    const engine = new FakeEngine(options);
    engine.serve({ tokens: range(40, 1000) });
    const { batches } = engine.serve({ tokens: range(100), output: range(9) });
    expect(told(batches).slice(-1)).toEqual(['-1 -1 +2']);
    expect(batches.flat().filter(({ kind }) => kind === 'removed')).toHaveLength(10);
    expect(engine.serve({ tokens: range(100) }).cachedTokens).toBe(40);
  });

  it('under another LoRA adapter or salt is another one', () => {
    const engine = new FakeEngine({ ...options, namespace: { model: 'm' } });
    const tokens = range(8);
    engine.serve({ tokens });
    engine.serve({ tokens, loraName: 'x' });
    const { cachedTokens, batches } = engine.serve({ tokens, cacheSalt: 'x' });
    expect(cachedTokens).toBe(0);
    expect(batches).toMatchObject([[{ kind: 'stored', cacheSalt: 'x' }]]);
    const namespaces = [{ model: 'm' }, { model: 'm', lora: 'x' }, { model: 'm', salt: 'x' }];
    expect(sorted(engine.seqHashes())).toEqual(
      sorted(
        namespaces.flatMap((namespace) => [
          ...new BlockHasher({ blockSize: 4, namespace }).seqHashes(tokens),
        ]),
      ),
    );
  });

  it('with pairs has blocks only where the token behind them is there', () => {
    const engine = new FakeEngine({ ...options, isBigram: true });
    expect(told(engine.serve({ tokens: range(8) }).batches)).toEqual(['+1']);
    const { cachedTokens, batches } = engine.serve({ tokens: range(9) });
    expect(cachedTokens).toBe(4);
    expect(batches).toMatchObject([[{ isBigram: true, tokens: range(5, 4) }]]);
    expect(engine.serve({ tokens: Uint32Array.of(0, 1, 2, 3, 9) }).cachedTokens).toBe(0);
    expect([engine.blocks().length, engine.seqHashes().length]).toEqual([3, 2]);
  });

  it('leaves the cache unchanged where it is refused', () => {
    const engine = new FakeEngine(options);
    engine.serve({ tokens: range(8) });
    const before = engine.blocks();
    expect(() => engine.serve({ tokens: [-1] })).toThrow(RangeError);
    expect(() => engine.serve({ tokens: range(20), loraName: '' })).toThrow(RangeError);
    expect(() => engine.serve(undefined as never)).toThrow(TypeError);
    expect(engine.blocks()).toEqual(before);
  });
});

describe('an engine', () => {
  it('has the same names under the same seed only', () => {
    const namesUnder = (seed: number) => {
      const engine = new FakeEngine({ capacity: 10, seed });
      engine.serve({ tokens: range(64) });
      return sorted(engine.blocks());
    };
    expect(namesUnder(1)).toEqual(namesUnder(1));
    expect(new Set([...namesUnder(1), ...namesUnder(2)]).size).toBe(8);
  });

  it('is empty after a reset', () => {
    const engine = new FakeEngine({ capacity: 2, offloadCapacity: 2 });
    engine.serve({ tokens: range(64) });
    engine.serve({ tokens: range(64, 100) });
    expect(told([engine.reset()])).toEqual(['clear']);
    expect([engine.blocks().length, engine.blocks('CPU').length]).toEqual([0, 0]);
    expect(engine.serve({ tokens: range(64) }).cachedTokens).toBe(0);
  });

  it('evicts in the same order, whatever it was asked about before', () => {
    const play = (ask: boolean) => {
      const engine = new FakeEngine({ blockSize: 4, capacity: 2, offloadCapacity: 2 });
      return [range(8), range(4, 100), range(4, 200), range(8), range(4, 300)].map((tokens) => {
        const served = engine.serve({ tokens });
        if (ask) engine.cachedTokens({ tokens: range(8) });
        return served;
      });
    };
    expect(play(true)).toEqual(play(false));
  });

  it('offloads before it evicts, and loads from there with tokens', () => {
    const engine = new FakeEngine({ blockSize: 4, capacity: 2, offloadCapacity: 3 });
    engine.serve({ tokens: range(8) });
    expect(told(engine.serve({ tokens: range(8, 100) }).batches)).toEqual(['+2c -1 -1 +2']);
    const { cachedTokens, batches } = engine.serve({ tokens: range(8) });
    expect(cachedTokens).toBe(8);
    // One of the three places was left: the tail of the second prompt goes in there, the head takes the place of the oldest.
    expect(told(batches)).toEqual(['-1c +2c -1 -1 +2']);
    expect(batches[0]!.at(-1)).toMatchObject({ medium: 'GPU', tokens: range(8), blockSize: 4 });
  });

  it('calls its second tier as it is told to', () => {
    const engine = new FakeEngine({
      blockSize: 4,
      capacity: 2,
      offloadCapacity: 3,
      offloadMedium: 'CPU_PINNED',
    });
    engine.serve({ tokens: range(8) });
    const { batches } = engine.serve({ tokens: range(4, 100) });
    const names = engine.blocks('CPU_PINNED');
    expect(names.length).toBe(1);
    expect(batches[0]![0]).toEqual(stored({ blockHashes: names, medium: 'CPU_PINNED' }));
    expect(() => engine.blocks('CPU')).toThrow(RangeError);
  });

  it('tells what it has cached of a prompt, in either tier, and nothing changes by that', () => {
    const engine = new FakeEngine({ blockSize: 4, capacity: 3, offloadCapacity: 4 });
    const [first, second] = [range(12), range(12, 100)];
    expect(engine.cachedTokens({ tokens: first })).toBe(0);
    engine.serve({ tokens: first, output: range(5, 12) });
    engine.serve({ tokens: second });
    const before = [engine.blocks(), engine.blocks('CPU')];
    // The blocks of the first prompt are in the second tier; that of its answer never had a place.
    expect(engine.cachedTokens({ tokens: range(17) })).toBe(12);
    expect(engine.cachedTokens({ tokens: range(11) })).toBe(8);
    expect(engine.cachedTokens({ tokens: [...second, 7] })).toBe(12);
    expect(engine.cachedTokens({ tokens: second, cacheSalt: 'x' })).toBe(0);
    expect(() => engine.cachedTokens({ tokens: [-1] })).toThrow(RangeError);
    expect(() => engine.cachedTokens(undefined as never)).toThrow(TypeError);
    expect([engine.blocks(), engine.blocks('CPU')]).toEqual(before);
  });

  it.each([{}, { capacity: 0 }, { capacity: 1, blockSize: 0 }, { capacity: 1, seed: -1 }, { capacity: 1.5 }])(
    'refuses %j',
    (options) => {
      expect(() => new FakeEngine(options as never)).toThrow(
        expect.objectContaining({
          code: expect.stringMatching(/^ERR_KVIDX_(INVALID_ARG_TYPE|OUT_OF_RANGE)$/),
        }),
      );
    },
  );
});

describe('300 requests of a trace, followed by their messages', () => {
  const GPU = 3000;
  const CPU = 7000;
  let rows: TraceRow[];

  beforeAll(async () => {
    rows = await readRows('examples/agentic-mini.jsonl.gz', 300);
  });

  it.each<[Dialect, number, number]>([
    ['vllm-first', 0, 16],
    ['vllm-map', CPU, 24],
    ['vllm-mixed', CPU, 24],
    ['sglang-7', CPU, 32],
    ['tensorrt', CPU, 32],
  ])('%s, with %d blocks offloaded, block size %d', (dialect, offloadCapacity, blockSize) => {
    const engine = new FakeEngine({ blockSize, capacity: GPU, offloadCapacity, decodedBlocksPerBatch: 4 });
    const follower = new Follower(blockSize, { GPU, CPU: offloadCapacity });
    let hits = 0;
    for (const request of traceTokens(rows, 64)) {
      const expected = engine.cachedTokens(request);
      const { cachedTokens, batches } = engine.serve(request);
      expect(cachedTokens).toBe(expected);
      if (cachedTokens > 0) hits++;
      for (const events of batches) {
        follower.apply(decodeEventBatch(encodeBatch(dialect, { timestampMs: 0, events })).events);
      }
      expect(follower.hasExactly('GPU', engine.blocks())).toBe(true);
      expect(follower.hasExactly('CPU', engine.blocks('CPU'))).toBe(true);
    }
    expect(follower.seqHashes('GPU')).toEqual(sorted(engine.seqHashes()));
    expect(follower.seqHashes('CPU')).toEqual(sorted(engine.seqHashes('CPU')));
    expect(engine.blocks().length).toBe(GPU);
    expect(hits).toBeGreaterThan(offloadCapacity > 0 ? 100 : 20);
  });

  it("TensorRT-LLM's JSON", () => {
    const engine = new FakeEngine({ capacity: GPU });
    const names = new Set<bigint>();
    let eventId = 0;
    for (const request of traceTokens(rows.slice(0, 50), 64)) {
      for (const batch of engine.serve(request).batches) {
        const { events } = decodeTensorRtEvents(encodeTensorRtJson(batch, eventId));
        eventId += batch.length;
        for (const event of events.flatMap((item) => item.events)) {
          if (event.kind === 'stored') for (const name of event.blockHashes) names.add(name);
          else if (event.kind === 'removed') for (const name of event.blockHashes) names.delete(name);
        }
      }
      const held = engine.blocks();
      expect([names.size, held.every((name) => names.has(name))]).toEqual([held.length, true]);
    }
    expect(eventId).toBeGreaterThan(GPU);
  });
});
