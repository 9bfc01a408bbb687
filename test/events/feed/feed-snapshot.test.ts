import { expect, test } from 'vitest';
import { EventFeed, KvIndex } from '../../../src/index.js';
import { decodeSections, encodeSections } from '../../../src/kv-index/section-file.js';
import { BLOCK_SIZE, batch, feedOf, hits, prompt, remove, store } from './support.js';

const tokens = prompt(1, 3);

const FORMAT = {
  magic: 'kvidxfd1',
  sections: ['settings', 'engines', 'names', 'index'] as const,
  bad: (section: string, problem: string) => new Error(`${section}: ${problem}`),
};

/** What a feed knows beside the index. */
function known(feed: EventFeed) {
  const { settings, engines, names } = decodeSections(FORMAT, feed.snapshot());
  return { settings, engines, names };
}

function fed() {
  const { index, feed } = feedOf();
  const sink = feed.sink('w0', 0);
  const payload = batch(
    store([11, 12, 13], tokens, { group_idx: 1, kv_cache_spec_kind: 'full_attention' }),
    store([11], [], { block_size: 0, medium: 'CPU', group_idx: 1 }),
  );
  sink.apply({ payload, sequence: 4, check: 77n, receivedMs: 1000 });
  sink.degraded('late-start');
  index.own('s', new BigUint64Array([1n]));
  feed.follow('silent');
  return { index, feed };
}

function restored(bytes: Uint8Array) {
  const { index, feed } = feedOf();
  feed.restore(bytes);
  return { index, feed };
}

test('a restored feed goes on where the saved one stood: blocks, hashes, tiers, groups, position', () => {
  const { feed: saved } = fed();
  const { index, feed } = restored(saved.snapshot());
  expect(hits(index, tokens)).toEqual({ 'w0 0 gpu': 3, 'w0 0 cpu': 1 });
  const sink = feed.sink('w0', 0);
  expect(sink.position).toEqual({ sequence: 4, check: 77n, degraded: 'late-start' });
  expect(feed.stats()[0]).toMatchObject({ names: 3, degraded: 'late-start' });
  const engine = feed.follow('w0');
  expect(engine.apply(batch(remove([12], { group_idx: 1 })))).toMatchObject({ removed: 1 });
  expect(
    engine.apply(batch(store([14], prompt(13, 1), { parent_block_hash: 13, group_idx: 1 }))),
  ).toMatchObject({
    orphaned: 1, // its path has a gap
  });
  expect(hits(index, prompt(1, 4))).toEqual({ 'w0 0 gpu': 1, 'w0 0 cpu': 1 });
  expect(index.stats().sessions).toBe(1);
  expect(known(restored(feed.snapshot()).feed)).toEqual(known(feed));
});

test('who followed before the restore must follow anew', () => {
  const { feed } = fed();
  const engine = feed.follow('w0');
  feed.restore(feed.snapshot());
  expect(() => engine.apply(batch())).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_UNKNOWN_WORKER' }));
  expect(feed.follow('w0').apply(batch(remove([11], { group_idx: 1 })))).toMatchObject({ removed: 1 });
});

test('who followed an index that was restored alone must follow anew, and starts empty', () => {
  const { index, feed } = fed();
  const engine = feed.follow('w0');
  index.restore(index.snapshot());
  expect(() => engine.apply(batch())).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_UNKNOWN_WORKER' }));
  feed.follow('w0').apply(batch());
  expect(hits(index, tokens)).toEqual({});
});

function changed(
  section: 'settings' | 'engines' | 'names' | 'index',
  change: (payload: Uint8Array) => Uint8Array,
) {
  const right = decodeSections(FORMAT, fed().feed.snapshot());
  return encodeSections(FORMAT, { ...right, [section]: change(right[section]) });
}

const text = (change: (json: string) => string) => (payload: Uint8Array) =>
  new TextEncoder().encode(change(new TextDecoder().decode(payload)));

test.each([
  ['magic', () => new Uint8Array(8)],
  ['settings', () => fed().feed.snapshot().slice(0, 20)],
  [
    'settings',
    () =>
      changed(
        'settings',
        text((json) => json.replace('false', 'true')),
      ),
  ],
  [
    'engines',
    () =>
      changed(
        'engines',
        text(() => 'null'),
      ),
  ],
  [
    'engines',
    () =>
      changed(
        'engines',
        text((json) => json.replace('"gpu"', '"hbm"')),
      ),
  ],
  [
    'engines',
    () =>
      changed(
        'engines',
        text((json) => json.replace('late-start', 'tired')),
      ),
  ],
  [
    'engines',
    () =>
      changed(
        'engines',
        text((json) => json.replace('"dpRank":0', '"dpRank":-1')),
      ),
  ],
  [
    'engines',
    () =>
      changed(
        'engines',
        text((json) => json.replace('"77"', '"-77"')),
      ),
  ],
  [
    'names',
    () =>
      changed(
        'engines',
        text((json) => json.replace('"names":3', '"names":9')),
      ),
  ],
  [
    'names',
    () =>
      changed(
        'engines',
        text((json) => json.replace('"names":3', '"names":2')),
      ),
  ],
  [
    'names',
    () =>
      changed(
        'engines',
        text((json) => json.replace(',"cpu"', '')),
      ),
  ],
  ['names', () => changed('names', (payload) => payload.map((byte, i) => (i < 8 ? 255 : byte)))],
  ['names', () => changed('names', (payload) => payload.fill(0, 48))],
  ['index', () => changed('index', (payload) => payload.slice(0, -1))],
])('a snapshot that is wrong in %s is refused, and nothing changes', (section, make) => {
  const { index, feed } = feedOf();
  feed.follow('w1').apply(batch(store([1], prompt(1, 1))));
  const before = known(feed);
  expect(() => feed.restore(make())).toThrow(
    expect.objectContaining({
      code: 'ERR_KVIDX_BAD_SNAPSHOT',
      message: expect.stringContaining(`"${section}"`),
    }),
  );
  expect(known(feed)).toEqual(before);
  expect(feed.follow('w1').apply(batch(remove([1])))).toMatchObject({ removed: 1 });
  expect(index.stats().blocks).toBe(0);
});

test('an index that has a worker otherwise than the feed does is refused, and the one of before stands', () => {
  const other = new KvIndex({ blockSize: BLOCK_SIZE });
  other.store(other.addWorker('w0'), new BigUint64Array([5n]));
  const bytes = changed('index', () => other.snapshot());
  const { index, feed } = feedOf();
  index.store(index.addWorker('x'), new BigUint64Array([6n]));
  expect(() => feed.restore(bytes)).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_BAD_SNAPSHOT' }));
  expect(index.contains(6n)).toBe(true);
  expect(index.contains(5n)).toBe(false);
});

test('a feed of another namespace does not take it', () => {
  const bytes = fed().feed.snapshot();
  const feed = new EventFeed(new KvIndex({ blockSize: BLOCK_SIZE }), { namespace: { model: 'm' } });
  expect(() => feed.restore(bytes)).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_BAD_SNAPSHOT' }));
});
