import { expect, test } from 'vitest';
import { EventFeed, KvIndex } from '../../../src/index.js';
import { pack } from '../build.js';
import { batch, CLEARED, feedOf, hits, prompt, remove, store } from './support.js';

test('blocks count once they are stored, and no longer once they are removed', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const tokens = prompt(1, 3);
  expect(engine.apply(batch(store([11, 12, 13], tokens)))).toMatchObject({
    events: 1,
    stored: 3,
    orphaned: 0,
    timestampMs: 1500,
    bad: [],
  });
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3 });
  expect(engine.apply(batch(remove([13])))).toMatchObject({ removed: 1, unknown: 0 });
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 2 });
  expect(index.validate()).toBe('');
});

test('a block in the middle is removed and comes back: what is behind it was there all the time', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const tokens = prompt(1, 3);
  engine.apply(batch(store([11, 12, 13], tokens)));
  engine.apply(batch(remove([12])));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
  engine.apply(batch(store([12], tokens.slice(4, 8), { parent_block_hash: 11 })));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3 });
});

test('a chain goes on behind the block that its parent names, in one message or a later one', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const tokens = prompt(1, 4);
  engine.apply(
    batch(store([11, 12], tokens.slice(0, 8)), store([13], tokens.slice(8, 12), { parent_block_hash: 12 })),
  );
  engine.apply(batch(store([14], tokens.slice(12), { parent_block_hash: 13 })));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 4 });
});

test('behind an unknown parent blocks are orphans: counted, and never a hit until they are told with their path', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const tokens = prompt(1, 3);
  const late = store([12, 13], tokens.slice(4), { parent_block_hash: 11 });
  expect(engine.apply(batch(late))).toMatchObject({ stored: 2, orphaned: 2 });
  expect(hits(index, tokens)).toEqual({});
  expect(hits(index, tokens.slice(4))).toEqual({});
  expect(index.stats()).toMatchObject({ blocks: 2, orphans: 1 });
  engine.apply(batch(store([11], tokens.slice(0, 4))));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
  engine.apply(batch(late));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3 });
  expect(index.stats()).toMatchObject({ blocks: 3, orphans: 0 });
});

test('a block told again is the same block', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const tokens = prompt(1, 2);
  engine.apply(batch(store([11, 12], tokens)));
  expect(engine.apply(batch(store([11, 12], tokens)))).toMatchObject({ stored: 0, duplicate: 2 });
  engine.apply(batch(remove([11, 12])));
  expect(index.stats().blocks).toBe(0);
  expect(engine.apply(batch(remove([11, 12])))).toMatchObject({ removed: 0, unknown: 2 });
});

test('where an engine tells of each copy, the first removal takes none away', () => {
  const { index, feed } = feedOf({ referenceCounts: true });
  const engine = feed.follow('w0');
  const tokens = prompt(1, 1);
  engine.apply(batch(store([11], tokens), store([11], tokens), remove([11])));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
  engine.apply(batch(remove([11])));
  expect(hits(index, tokens)).toEqual({});
});

test('two hashes of an engine that mean one block: it stays until both are gone', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const tokens = prompt(1, 1);
  // EAGLE: the engine tells blocks apart by the token behind them, too.
  const pairs = (next: number) => tokens.map((token, i) => [token, tokens[i + 1] ?? next]);
  engine.apply(batch(store([11], pairs(70)), store([12], pairs(71))));
  engine.apply(batch(remove([11])));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
  engine.apply(batch(remove([12])));
  expect(hits(index, tokens)).toEqual({});
});

test('hashes are u64 up to the last bit: signed, large, binary', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const one = prompt(1, 1);
  const two = prompt(50, 1);
  engine.apply(batch(store([1], one), store([2n ** 32n + 1n], two), store([-1n], prompt(90, 1))));
  const digest = new Uint8Array(32).fill(255);
  engine.apply(batch(remove([digest]))); // its last 8 bytes are 2^64 − 1
  expect(index.stats().blocks).toBe(2);
  engine.apply(batch(remove([1])));
  expect(hits(index, one)).toEqual({});
  expect(hits(index, two)).toEqual({ 'w0 0 gpu': 1 });
});

test('a clear empties one rank of one worker', () => {
  const { index, feed } = feedOf();
  const tokens = prompt(1, 2);
  const payload = batch(store([11, 12], tokens));
  feed.follow('w0').apply(payload);
  feed.follow('w1').apply(pack([1.5, [store([11, 12], tokens)], 1]));
  feed.follow('w1').apply(payload);
  expect(feed.follow('w1').apply(batch(CLEARED))).toMatchObject({ cleared: 2 });
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 2, 'w1 1 gpu': 2 });
  expect(feed.follow('w1').apply(batch(remove([11])))).toMatchObject({ unknown: 1 });
});

test('ranks are workers of their own, each with its own hashes', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const [one, two] = [prompt(1, 1), prompt(50, 1)];
  engine.apply(pack([1, [store([11], one)], 0]));
  engine.apply(pack([1, [store([11], two)], 1]));
  engine.apply(pack([1, [remove([11])], 1]));
  expect(hits(index, one)).toEqual({ 'w0 0 gpu': 1 });
  expect(hits(index, two)).toEqual({});
  engine.apply(pack([1, [store([12], two)]]), { dpRank: 3 });
  expect(hits(index, two)).toEqual({ 'w0 3 gpu': 1 });
});

test('an engine of another block size is refused by a typed error, and explain tells it; all else is applied', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const tokens = prompt(1, 4);
  const payload = batch(store([11], tokens.slice(0, 4)), store([21, 22], tokens, { block_size: 8 }));
  const stored = expect.objectContaining({ stored: 1, otherBlockSizes: 1, events: 2 });
  expect(() => engine.apply(payload)).toThrow(
    expect.objectContaining({
      code: 'ERR_KVIDX_BLOCK_SIZE',
      blockSize: 8,
      applied: stored,
      message: expect.stringMatching(/blocks of 8 tokens, this index has blocks of 4/),
    }),
  );
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
  const { reason, message, workers } = index.explain({ tokens: prompt(50, 1) });
  expect(reason).toBe('block-size-mismatch');
  expect(message).toContain('"w0" stores blocks of 8 tokens');
  expect(workers[0]!.refusedBlockSize).toBe(8);
  expect(feed.stats()[0]).toMatchObject({ refusedBlockSize: 8, messages: 1, otherBlockSizes: 1 });
  engine.apply(batch(store([12], prompt(90, 1)))); // given the same block size
  expect(feed.stats()[0]!.refusedBlockSize).toBeUndefined();
});

test('good events of a message with bad ones are applied', () => {
  const { index, feed } = feedOf();
  const tokens = prompt(1, 2);
  const applied = feed
    .follow('w0')
    .apply(
      batch(
        store([new Uint8Array(5)], tokens.slice(0, 4)),
        store([11, 12], tokens),
        store([13, 14], tokens.slice(4)),
        { type: 'BlockUpdated' },
        remove([12]),
      ),
    );
  expect(applied).toMatchObject({ events: 5, stored: 2, removed: 1, unknownTags: 1 });
  expect(applied.bad.map(({ index }) => index)).toEqual([0, 2]);
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
});

test('what is no batch changes nothing', () => {
  const { index, feed } = feedOf({ maxRanks: 2 });
  const engine = feed.follow('w0');
  for (const payload of [
    new Uint8Array(0),
    pack('x'),
    pack([1]),
    batch(store([1], prompt(1, 1))).slice(0, -3),
  ]) {
    expect(() => engine.apply(payload)).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_BAD_EVENT' }));
  }
  engine.apply(pack([1, [], 0]));
  engine.apply(pack([1, [], 1]));
  for (const rank of [2, 70_000, 2 ** 31]) {
    expect(() => engine.apply(pack([1, [store([1], prompt(1, 1))], rank]))).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_BAD_EVENT' }),
    );
  }
  expect(() => engine.apply('x' as never)).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
  );
  expect(() => engine.apply(batch(), { dpRank: -1 })).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_OUT_OF_RANGE' }),
  );
  expect(index.stats().blocks).toBe(0);
});

test('a worker that left and comes back starts empty, and messages of its former life are refused', () => {
  const { index, feed } = feedOf();
  const former = feed.follow('w0');
  const tokens = prompt(1, 2);
  former.apply(batch(store([11, 12], tokens)));
  expect(feed.unfollow('w0')).toBe(true);
  expect(feed.unfollow('w0')).toBe(false);
  expect(index.workers()).toEqual([]);
  const present = feed.follow('w0');
  for (const call of [() => former.apply(batch(store([11], tokens.slice(0, 4)))), () => former.clear()]) {
    expect(call).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_UNKNOWN_WORKER' }));
  }
  expect(present.apply(batch(remove([11])))).toMatchObject({ unknown: 1 });
  expect(hits(index, tokens)).toEqual({});
});

test('a worker that was removed from the index takes no events until it is followed anew, and stops nobody else', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([11], prompt(1, 1))));
  feed.follow('w1').apply(batch(store([11], prompt(1, 1))));
  index.removeWorker('w0');
  expect(() => engine.apply(batch(remove([11])))).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_UNKNOWN_WORKER' }),
  );
  expect(feed.stats().map(({ worker }) => worker)).toEqual(['w1']);
  feed.snapshot();
  expect(feed.follow('w0').apply(batch(remove([11])))).toMatchObject({ unknown: 1 });
  expect(hits(index, prompt(1, 1))).toEqual({ 'w1 0 gpu': 1 });
  index.close();
  for (const call of [() => feed.follow('w0'), () => feed.stats(), () => feed.snapshot()]) {
    expect(call).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_CLOSED' }));
  }
});

test('a worker with blocks of another origin is not taken over', () => {
  const { index, feed } = feedOf();
  index.store(index.addWorker('w0'), BigUint64Array.of(1n));
  const engine = feed.follow('w0');
  expect(() => engine.apply(batch())).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_CAPACITY' }));
  expect(() => new EventFeed({} as never)).toThrow(TypeError);
  expect(() => new EventFeed(new KvIndex(), { mediums: { HBM: 'hbm' as never } })).toThrow(RangeError);
});

test('stats tell what came, what of it was left out, and how late', () => {
  const { feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([11, 12], prompt(1, 2)), store([13], prompt(9, 1), { medium: 'TAPE' })), {
    nowMs: 1700,
  });
  engine.apply(batch(remove([11, 99])), { nowMs: 1800 });
  expect(feed.stats()).toEqual([
    expect.objectContaining({
      worker: 'w0',
      dpRank: 0,
      residentBlocks: { gpu: 1 },
      messages: 2,
      events: 3,
      stored: 2,
      removed: 1,
      unknown: 1,
      unknownMediums: 1,
      refusedMediums: ['TAPE'],
      names: 1,
      lastEventMs: 1800,
      lagMs: 300,
      degraded: undefined,
    }),
  ]);
});

test('explain tells the age of the last message and what is missing', () => {
  const { index, feed } = feedOf();
  const sink = feed.sink('w0', 0);
  expect(index.explain({ tokens: prompt(1, 1) }).reason).toBe('no-stores-yet');
  const payload = batch(store([11], prompt(1, 1)));
  sink.apply({ payload, sequence: 7, check: 1n, receivedMs: 1600 });
  sink.degraded('gap');
  const { message, workers } = index.explain({ tokens: prompt(5, 1) }, { nowMs: 2000 });
  expect(workers[0]).toMatchObject({ lastEventAgeMs: 400, eventsDegraded: 'gap' });
  expect(message).toContain('events of "w0" are missing (gap)');
  sink.degraded(undefined);
  expect(index.explain({ tokens: prompt(5, 1) }).message).not.toContain('missing');
});

test('a stream tells damage and clears, and a restart empties what it filled', () => {
  const errors: string[] = [];
  const { index, feed } = feedOf({
    onError: (error, worker, rank) => errors.push(`${worker} ${rank} ${error.message}`),
  });
  const sink = feed.sink('w0', 0);
  let sequence = 0;
  const apply = (payload: Uint8Array) =>
    sink.apply({ payload, sequence: sequence++, check: BigInt(sequence), receivedMs: 1 });
  const told = pack([1, [store([11], prompt(1, 1))], 5]); // a rank of the whole deployment
  expect(apply(told)).toEqual({ isDamaged: false, isCleared: false });
  expect(apply(new Uint8Array(3))).toEqual({ isDamaged: true, isCleared: false });
  expect(apply(batch(store([1], [1])))).toEqual({ isDamaged: true, isCleared: false });
  expect(apply(batch(CLEARED))).toEqual({ isDamaged: false, isCleared: true });
  for (const _ of [1, 2]) apply(batch(store([1], prompt(1, 2), { block_size: 8 }))); // told once
  expect(apply(batch(store([1], prompt(1, 2), { block_size: 8 })))).toEqual({
    isDamaged: false,
    isCleared: false,
  });
  expect(errors).toHaveLength(3);
  expect(errors[0]).toMatch(/^w0 0 /);
  expect(sink.position).toEqual({ sequence: 6, check: 7n, degraded: undefined });
  expect(index.stats().blocks).toBe(1);
  sink.restarted();
  expect(index.stats().blocks).toBe(0);
  expect(sink.position).toBeUndefined();
});

test('of two streams that tell of one rank, the more serious mark shows', () => {
  const { feed } = feedOf();
  const [one, two] = [feed.sink('w0', 0), feed.sink('w0', 1)];
  const message = { payload: batch(store([11], prompt(1, 1))), sequence: 0, check: 1n, receivedMs: 1 };
  one.apply(message);
  two.apply(message); // of rank 0, as it says
  two.degraded('replay-too-short');
  one.degraded('gap');
  one.degraded(undefined);
  expect(feed.stats().map(({ degraded }) => degraded)).toEqual(['replay-too-short', 'replay-too-short']);
});

test('events that arrive and are left out are told apart from those that do not arrive', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([1], prompt(1, 1), { medium: 'TAPE' })));
  const other = { group_idx: 3, kv_cache_spec_kind: 'mamba' };
  engine.apply(batch(store([1], prompt(1, 1), other)));
  const { reason, message } = index.explain({ tokens: prompt(1, 1) });
  expect(reason).toBe('no-stores-yet');
  expect(message).toContain('Events of "w0" arrive');
  expect(message).toContain('media without a tier: TAPE; 1 event of other layers');
});

test('among many salts the namespace of the feed is not forgotten', () => {
  const { index, feed } = feedOf({ namespace: { model: 'm' } });
  const engine = feed.follow('w0');
  engine.apply(batch(store([1], prompt(1, 1))));
  for (let i = 0; i < 200; i++) engine.apply(batch(store([100 + i], prompt(5, 1), { cache_salt: `s${i}` })));
  expect(index.explain({ tokens: prompt(1, 1) }).reason).toBe('namespace-differs');
});

test('memory that a large message took is given back', () => {
  const { feed } = feedOf();
  const engine = feed.follow('w0');
  const large = (events: number) => pack([1.5, Array.from({ length: events }, () => ['Later']), 0]);
  engine.apply(large(200_000));
  const before = process.memoryUsage().arrayBuffers;
  expect(engine.apply(large(400_000))).toMatchObject({
    unknownTags: 400_000,
  });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 2 ** 20);
});
