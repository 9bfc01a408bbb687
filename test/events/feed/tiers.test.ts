import { expect, test } from 'vitest';
import { pack } from '../build.js';
import { batch, CLEARED, feedOf, hits, prompt, remove, store } from './support.js';

const tokens = prompt(1, 3);
/** As vLLM's offloading connector tells it. */
const offloaded = (hashes: readonly unknown[], medium = 'CPU') =>
  store(hashes, [], { block_size: 0, medium });

test('a block that is offloaded by hash alone is the same block in another tier, and outlives the first', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([11, 12, 13], tokens)));
  const digest = new Uint8Array(32);
  digest[31] = 12;
  expect(engine.apply(batch(offloaded([11, digest])))).toMatchObject({ stored: 2, unresolved: 0 });
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3, 'w0 0 cpu': 2 });
  engine.apply(batch(remove([11, 12, 13])));
  expect(hits(index, tokens)).toEqual({ 'w0 0 cpu': 2 });
  engine.apply(batch(remove([11], { medium: 'CPU' })));
  expect(hits(index, tokens)).toEqual({});
  expect(engine.apply(batch(offloaded([12], 'DISK')))).toMatchObject({ stored: 1 });
  expect(index.explain({ tokens }).reason).toBe('head-missing');
});

test('a hash that nobody knows cannot be resolved, and is counted', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  expect(engine.apply(batch(offloaded([99])))).toMatchObject({ stored: 0, unresolved: 1 });
  engine.apply(batch(store([11], tokens.slice(0, 4)), CLEARED));
  expect(engine.apply(batch(offloaded([11])))).toMatchObject({ unresolved: 1 });
  expect(index.stats().blocks).toBe(0);
});

test('a block may be offloaded after it left the GPU: its hash is remembered for a while', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([11, 12, 13], tokens)));
  expect(engine.apply(batch(remove([11, 12, 13]), offloaded([11, 12])))).toMatchObject({
    removed: 3,
    stored: 2,
  });
  expect(hits(index, tokens)).toEqual({ 'w0 0 cpu': 2 });
});

test('a medium that is not known is refused, never taken for the GPU', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const payload = batch(store([11], tokens.slice(0, 4), { medium: 'HBM3' }), remove([11], { medium: 'gpu' }));
  expect(engine.apply(payload)).toMatchObject({ unknownMediums: 2, stored: 0, unknown: 0 });
  expect(index.stats().blocks).toBe(0);
  const named = feedOf({ mediums: { HBM3: 'gpu' } });
  named.feed.follow('w0').apply(payload);
  expect(hits(named.index, tokens)).toEqual({ 'w0 0 gpu': 1 });
});

test.each([
  ['CPU', 'cpu'],
  ['cpu', 'cpu'],
  ['CPU_PINNED', 'cpu'],
  ['STORAGE', 'disk'],
  ['DISK', 'disk'],
  ['EXTERNAL', 'external'],
])('%s is tier %s', (medium, tier) => {
  const { index, feed } = feedOf();
  feed.follow('w0').apply(batch(store([11, 12, 13], tokens, { medium })));
  expect(hits(index, tokens)).toEqual({ [`w0 0 ${tier}`]: 3 });
});

test('groups of layers other than the main attention are left out, by what stores told of them', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const main = { group_idx: 1, kv_cache_spec_kind: 'full_attention' };
  const sliding = { group_idx: 0, kv_cache_spec_kind: 'sliding_window', kv_cache_spec_sliding_window: 128 };
  expect(
    engine.apply(
      batch(store([11, 12, 13], tokens, main), store([11, 12], prompt(50, 4), { ...sliding, block_size: 8 })),
    ),
  ).toMatchObject({ stored: 3, otherGroups: 1 });
  expect(engine.apply(batch(remove([11, 12], { group_idx: 0 })))).toMatchObject({
    removed: 0,
    otherGroups: 1,
  });
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3 });
  expect(engine.apply(batch(remove([13], { group_idx: 1 })))).toMatchObject({ removed: 1 });
});

test('of groups that no store told of, the first counts', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([11, 12], tokens.slice(0, 8)), remove([12], { group_idx: 2 })));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 2 });
  engine.apply(batch(remove([12], { group_idx: 0 })));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
});

test('once the main group is known, others that no store told of are left out, the first one too', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([11, 12, 13], tokens, { group_idx: 1, kv_cache_spec_kind: 'mla_attention' })));
  expect(engine.apply(batch(remove([11], { group_idx: 0 })))).toMatchObject({ removed: 0, otherGroups: 1 });
  expect(engine.apply(batch(remove([13])))).toMatchObject({ removed: 1 });
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 2 });
});

test('an engine that begins anew may have its main attention in another group', () => {
  const { index, feed } = feedOf();
  const sink = feed.sink('w0', 0);
  const apply = (payload: Uint8Array) => sink.apply({ payload, sequence: 0, check: 0n, receivedMs: 1 });
  const full = (group_idx: number) => ({ group_idx, kv_cache_spec_kind: 'full_attention' });
  apply(batch(store([11, 12, 13], tokens, full(1))));
  sink.restarted();
  apply(batch(store([11, 12, 13], tokens, full(0))));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3 });
});

test('of several groups with full attention the first that stores stands for all', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const full = (group_idx: number) => ({ group_idx, kv_cache_spec_kind: 'full_attention' });
  engine.apply(batch(store([11, 12, 13], tokens, full(0)), store([11, 12, 13], tokens, full(1))));
  engine.apply(batch(remove([12], { group_idx: 1 })));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3 });
  engine.apply(
    batch(
      remove([12], { group_idx: 0 }),
      store([12], tokens.slice(4, 8), { parent_block_hash: 11, ...full(1) }),
    ),
  );
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
});

test("Mooncake's aliases: whichever list is filled, and never the root for a block that is none of the first", () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const event = (fields: object) => ({ event_type: 'stored', block_size: 4, medium: 'cpu', ...fields });
  engine.apply(
    batch(event({ block_hashes: [], seq_hashes: [11], token_ids: tokens.slice(0, 4), base_block_idx: 0 })),
  );
  expect(hits(index, tokens)).toEqual({ 'w0 0 cpu': 1 });
  const { bad } = engine.apply(
    batch(event({ seq_hashes: [12], token_ids: tokens.slice(4, 8), base_block_idx: 1 })),
  );
  expect(bad[0]!.problem).toMatch(/base_block_idx is 1, and no parent_hash/);
  engine.apply(
    batch(event({ seq_hashes: [12], token_ids: tokens.slice(4, 8), base_block_idx: 1, parent_hash: 11 })),
  );
  expect(hits(index, tokens)).toEqual({ 'w0 0 cpu': 2 });
});

test('a clear empties all tiers of the rank', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  engine.apply(batch(store([11, 12, 13], tokens), offloaded([11])));
  expect(engine.apply(batch(CLEARED))).toMatchObject({ cleared: 4 });
  expect(index.stats().blocks).toBe(0);
});

test('blocks of TensorRT-LLM: the largest window, full blocks, moves between tiers', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  let id = 0;
  const event = (data: object, window_size = 4096) => ({
    event_id: id++,
    data,
    window_size,
    attention_dp_rank: 2,
  });
  const block = (block_hash: string, ids: readonly number[]) => ({
    type: 'stored_block',
    block_hash,
    tokens: ids.map((token_id) => ({ type: 'unique_token', token_id, token_extra_id: 0 })),
    cache_level: 0,
    priority: 35,
  });
  const json = (...events: object[]) => JSON.stringify(events);
  const stored = {
    type: 'stored',
    parent_hash: null,
    blocks: [
      block('18446744073709551615', tokens.slice(0, 4)),
      block('12', tokens.slice(4, 8)),
      block('13', [9, 10]),
    ],
  };
  const applied = engine.applyTensorRt(
    json(
      event({ type: 'stored', parent_hash: null, blocks: [block('5', [1, 2])] }, 128),
      event(stored),
      event(stored, 128),
    ),
  );
  expect(applied).toMatchObject({ stored: 2, otherGroups: 1, partialBlocks: 2, bad: [] });
  expect(hits(index, tokens)).toEqual({ 'w0 2 gpu': 2 });
  engine.applyTensorRt(
    json(
      event({
        type: 'updated',
        block_hash: '12',
        cache_level: { type: 'event_diff', new_value: 1, old_value: 0 },
        priority: null,
      }),
    ),
  );
  expect(hits(index, tokens)).toEqual({ 'w0 2 gpu': 1 });
  const [cpu] = index.workers().filter(({ tier }) => tier === 'cpu');
  expect(index.residentBlocks(cpu!)).toBe(1);
  expect(
    engine.applyTensorRt(json(event({ type: 'removed', block_hashes: ['18446744073709551615', '12'] }))),
  ).toMatchObject({
    removed: 2,
  });
  expect(index.stats().blocks).toBe(0);
});

test('blocks of TensorRT-LLM of another size are refused with their size, whatever rank they are of', () => {
  const { index, feed } = feedOf();
  const block = (block_hash: number, from: number) => ({
    block_hash,
    tokens: Array.from({ length: 8 }, (_, i) => ({ token_id: from + i })),
    cache_level: 0,
  });
  const data = { type: 'stored', parent_hash: null, blocks: [block(1, 0), block(2, 8)] };
  expect(() => feed.follow('w0').applyTensorRt([{ event_id: 0, data, attention_dp_rank: 3 }])).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_BLOCK_SIZE', blockSize: 8 }),
  );
  expect(index.workers().map(({ dpRank }) => dpRank)).toEqual([3]);
});

test('ids of TensorRT-LLM that jump mark the rank, an id told twice is one, lower ones are a new life', () => {
  const { index, feed } = feedOf();
  const engine = feed.follow('w0');
  const stored = (event_id: number, block_hash: number, window_size = 4096) => ({
    event_id,
    window_size,
    data: {
      type: 'stored',
      parent_hash: null,
      blocks: [{ block_hash, tokens: tokens.slice(0, 4).map((token_id) => ({ token_id })), cache_level: 0 }],
    },
  });
  const degraded = () => feed.stats()[0]!.degraded;
  engine.applyTensorRt([stored(0, 1)]);
  expect(engine.applyTensorRt([stored(0, 1)])).toMatchObject({ stored: 0, duplicate: 0 });
  expect(degraded()).toBeUndefined();
  engine.applyTensorRt([stored(5, 2)]);
  expect(degraded()).toBe('replay-too-short');
  const { feed: restored } = feedOf();
  restored.restore(feed.snapshot());
  expect(restored.stats()[0]!.degraded).toBe('replay-too-short');
  expect(restored.follow('w0').applyTensorRt([stored(6, 3, 128)])).toMatchObject({
    otherGroups: 1,
    stored: 0,
  });
  expect(engine.applyTensorRt([stored(0, 9, 2048)])).toMatchObject({ cleared: 1, stored: 1 });
  expect(degraded()).toBeUndefined();
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 1 });
  expect(feed.stats()[0]!.names).toBe(1);
});

test('a worker of a router may be followed: its tiers count for it', () => {
  const { index, feed } = feedOf();
  index.addWorker('w0');
  feed.follow('w0').apply(pack([1, [store([11, 12, 13], tokens)], null]));
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3 });
});
