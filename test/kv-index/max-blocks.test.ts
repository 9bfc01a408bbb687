import { expect, test } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { codeOf, hashes, range, statsOf } from './support.js';

test('the block named longest ago, by whomever, leaves every worker and every session', () => {
  const index = new KvIndex({ maxBlocks: 4 });
  const [a, b] = [index.addWorker('a'), index.addWorker('b')];
  index.store(a, hashes(1, 2));
  index.store(b, hashes(1, 2));
  index.own('s', hashes(1, 2));
  index.store(a, hashes(5, 6));
  expect(index.stats()).toMatchObject({ blocks: 4, evictedByBound: 0 });
  expect(index.store(b, hashes(8))).toMatchObject({ applied: 1, rejected: 0, evicted: 1 });
  expect(index.contains(2)).toBe(false);
  expect(index.enumerate(a)).toEqual(hashes(1, 5, 6));
  expect(index.enumerate(b)).toEqual(hashes(1, 8));
  expect(index.endSession('s')).toBe(1);
  expect(index.stats()).toMatchObject({ evictedByBound: 1, evictedByCapacity: 0, rejected: 0 });
  expect(index.validate()).toBe('');
});

test('the worker that others named is told that it is degraded, until a full report or clear', () => {
  const index = new KvIndex({ maxBlocks: 3 });
  const plain = index.addWorker('plain');
  const counted = index.addWorker('counted', { referenceCounts: true });
  const bounded = index.addWorker('bounded', { capacity: 9 });
  for (const worker of [plain, counted, bounded]) index.store(worker, hashes(1));
  index.store(bounded, hashes(5, 6, 7));
  expect(index.stats().workers.map(({ degraded, evictedByBound }) => [degraded, evictedByBound])).toEqual([
    [true, 1],
    [true, 1],
    [false, 1],
  ]);
  expect(index.stats().evictedByBound).toBe(1);
  index.clear(plain);
  index.replace(counted, []);
  expect(index.stats().workers.map(({ degraded, evictedByBound }) => [degraded, evictedByBound])).toEqual([
    [false, 1],
    [false, 1],
    [false, 1],
  ]);
});

test('a prompt that is longer keeps its head, and the worker is degraded', () => {
  const index = new KvIndex({ maxBlocks: 3 });
  const a = index.addWorker('a');
  expect(index.store(a, range(1, 5))).toMatchObject({ applied: 3, rejected: 2, firstBad: 3, evicted: 0 });
  expect(index.enumerate(a)).toEqual(range(1, 3));
  expect(statsOf(index, a)).toMatchObject({ degraded: true, evictedByBound: 0 });
  expect(index.stats()).toMatchObject({ rejected: 2, evictedByBound: 0 });
});

test('ownership counts like residency', () => {
  const index = new KvIndex({ maxBlocks: 4 });
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2));
  expect(index.own('s', range(10, 6))).toMatchObject({ applied: 4, rejected: 2, firstBad: 4, evicted: 2 });
  expect(index.residentBlocks(a)).toBe(0);
  expect(index.stats()).toMatchObject({ blocks: 4, sessions: 1 });
  index.store(a, range(20, 4));
  expect(index.stats()).toMatchObject({ blocks: 4, sessions: 1 });
  expect(index.endSession('s')).toBe(0);
});

test('a refresh keeps blocks from it, on workers without a capacity too', () => {
  const index = new KvIndex({ maxBlocks: 3 });
  const a = index.addWorker('a');
  for (const block of [1, 2, 3]) index.store(a, hashes(block));
  index.refresh(a, hashes(1));
  index.store(a, hashes(4));
  expect(index.enumerate(a)).toEqual(hashes(1, 3, 4));
});

test('a capacity is kept to first', () => {
  const index = new KvIndex({ maxBlocks: 4 });
  const a = index.addWorker('a');
  const b = index.addWorker('b', { capacity: 2 });
  index.store(a, hashes(1, 2));
  index.store(b, hashes(5, 6));
  expect(index.store(b, hashes(7, 8))).toMatchObject({ applied: 2, evicted: 2 });
  expect(index.enumerate(a)).toEqual(hashes(1, 2));
  expect(statsOf(index, b)).toMatchObject({ evictedByCapacity: 2, evictedByBound: 0 });
});

test('strict calls throw for want of room, and what fits is taken', () => {
  const index = new KvIndex({ maxBlocks: 3 });
  const a = index.addWorker('a');
  const store = () => index.store(a, range(1, 5), { strict: true });
  expect(codeOf(store)).toBe('ERR_KVIDX_REJECTED');
  expect(store).toThrow(
    "store: 2 blocks rejected, first seqHashes[3]: no room within the worker's capacity or maxBlocks; " +
      'the others are taken',
  );
  expect(index.residentBlocks(a)).toBe(3);
  expect(() => index.own('s', range(1, 4), { strict: true })).toThrow(
    'own: 1 block rejected, first seqHashes[3]: no room within maxBlocks; the others are taken',
  );
  expect(() => index.replace(a, [{ seq: range(1, 4) }], { strict: true })).toThrow(
    "replace: 1 block rejected: no room within the worker's capacity or maxBlocks; the rest of the report is taken",
  );
});

test('a strict call that nothing was taken of tells want of room from contradiction', () => {
  const index = new KvIndex({ maxBlocks: 3 });
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2, 3));
  const other = () => index.store(a, hashes(3, 2), { strict: true });
  expect(other).toThrow('store: 2 blocks rejected: seqHashes[0] contradicts a known predecessor or repeats');
  expect(() => index.own('s', hashes(1, 3), { strict: true })).toThrow(/: seqHashes\[1\] contradicts/);
  index.pin(a, hashes(1, 2, 3));
  expect(() => index.store(a, hashes(8), { strict: true })).toThrow(/: pinned blocks leave no room within/);
  expect(() => index.own('s', hashes(8), { strict: true })).toThrow(
    /: pinned blocks leave no room within max/,
  );
  expect(() => index.store(a, hashes(1, 1), { strict: true })).toThrow(/: seqHashes\[1\] contradicts/);
});
