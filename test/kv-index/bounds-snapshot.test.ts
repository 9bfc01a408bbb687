import { expect, test } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { codeOf, countsOf, hashes, range, statsOf } from './support.js';

/** Workers of every mode, used, in an index of these options. */
function used(options: ConstructorParameters<typeof KvIndex>[0] = {}): KvIndex {
  const index = new KvIndex(options);
  const bounded = index.addWorker('bounded', { capacity: 5, ttlMs: 100 });
  index.store(bounded, hashes(1, 2, 3), { nowMs: 10 });
  index.store(bounded, hashes(7, 8), { nowMs: 20 });
  index.refresh(bounded, hashes(1), { nowMs: 30 });
  index.store(bounded, hashes(9), { nowMs: 40 });
  const counted = index.addWorker('counted', { referenceCounts: true });
  for (let i = 0; i < 2; i++) index.store(counted, hashes(1, 2), { nowMs: 50 });
  index.own('s', hashes(1, 2, 3), { nowMs: 60 });
  return index;
}

test('modes, capacities, ttls, counts of copies, recency and counters are saved', () => {
  const saved = used();
  const index = new KvIndex();
  index.restore(saved.snapshot());
  expect(countsOf(index)).toEqual(countsOf(saved));
  expect(index.validate()).toBe('');
  const again = [saved, index].map((each) => {
    const bounded = each.addWorker('bounded');
    const counted = each.addWorker('counted');
    const steps = [
      each.remove(counted, hashes(1)),
      each.residentBlocks(counted),
      each.store(bounded, hashes(20, 21), { nowMs: 70 }),
      each.enumerate(bounded),
      each.expire(120),
      each.enumerate(bounded),
      each.expire(140),
      each.enumerate(bounded),
    ];
    return [...steps, countsOf(each)];
  });
  expect(again[1]).toEqual(again[0]);
});

test('a restored worker keeps its mode, and options that contradict it are refused', () => {
  const index = new KvIndex();
  index.restore(used().snapshot());
  expect(codeOf(() => index.addWorker('bounded', { referenceCounts: true }))).toBe('ERR_KVIDX_CAPACITY');
  expect(codeOf(() => index.addWorker('counted', { capacity: 3 }))).toBe('ERR_KVIDX_CAPACITY');
  expect(index.residentBlocks(index.addWorker('bounded', { capacity: 2 }))).toBe(2);
  expect(index.addWorker('counted', { referenceCounts: true }).name).toBe('counted');
});

test('pins are not saved', () => {
  const saved = used();
  saved.pin(saved.addWorker('bounded'), hashes(1, 7));
  expect(saved.snapshot()).toEqual(used().snapshot());
  const index = new KvIndex();
  index.restore(saved.snapshot());
  expect(statsOf(index, index.addWorker('bounded')).pinnedBlocks).toBe(0);
});

test('nor are remembered evictions, and a restore forgets those of before', () => {
  const index = used({ evictedHistory: 10 });
  const evicted = index.explain({ seqHashes: hashes(1, 2, 3) }).workers[0]!;
  expect(evicted).toMatchObject({ overlapBlocks: 2, evictedAt: 2, evictedBy: 'capacity' });
  index.restore(index.snapshot());
  expect(index.explain({ seqHashes: hashes(1, 2, 3) }).workers[0]).toMatchObject({
    overlapBlocks: 2,
    evictedAt: undefined,
  });
});

test('maxBlocks is that of the restoring index, the blocks named longest ago going', () => {
  const saved = new KvIndex({ maxBlocks: 100 });
  const a = saved.addWorker('a');
  saved.store(a, range(1, 6));
  saved.store(a, range(50, 2));
  saved.own('s', range(1, 2));
  const index = new KvIndex({ maxBlocks: 5 });
  index.restore(saved.snapshot());
  const restored = index.addWorker('a');
  expect(index.enumerate(restored)).toEqual(hashes(1, 2, 3, 50, 51));
  expect(statsOf(index, restored)).toMatchObject({ degraded: true, evictedByBound: 3 });
  expect(index.stats()).toMatchObject({ blocks: 5, evictedByBound: 3 });
  expect(index.validate()).toBe('');
});

test('a file without a bound is restored into an index with one, and the other way round', () => {
  const saved = used();
  const index = new KvIndex({ maxBlocks: 3 });
  index.restore(saved.snapshot());
  expect(index.stats().blocks).toBe(3);
  expect(index.validate()).toBe('');
  index.store(index.addWorker('new'), range(200, 9));
  expect(index.stats().blocks).toBe(3);
  const unbounded = new KvIndex();
  unbounded.restore(index.snapshot());
  expect(unbounded.stats().blocks).toBe(3);
  unbounded.store(unbounded.addWorker('more'), range(300, 9));
  expect(unbounded.stats().blocks).toBe(12);
  expect(unbounded.validate()).toBe('');
});

test('whichever byte of it is damaged, nothing is restored', () => {
  const bytes = used({ maxBlocks: 50 }).snapshot();
  const target = new KvIndex({ maxBlocks: 50 });
  target.store(target.addWorker('mine'), hashes(5, 6));
  const before = target.snapshot();
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at]! ^= 0x41;
    expect(codeOf(() => target.restore(damaged))).toBe('ERR_KVIDX_BAD_SNAPSHOT');
  }
  expect(target.snapshot()).toEqual(before);
});
