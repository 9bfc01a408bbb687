import { describe, expect, test } from 'vitest';
import { KvIndex, RejectedError, type WorkerHandle } from '../../src/index.js';
import { codeOf, countsOf, hashes, range, statsOf } from './support.js';

function bounded(capacity: number, ttlMs = 0): { index: KvIndex; a: WorkerHandle } {
  const index = new KvIndex();
  return { index, a: index.addWorker('a', { capacity, ttlMs }) };
}

test('pinned blocks stay under any pressure', () => {
  const { index, a } = bounded(4);
  index.store(a, hashes(1, 2, 3));
  expect(index.pin(a, hashes(1, 2, 3))).toMatchObject({ applied: 3, unknown: 0 });
  for (let i = 0; i < 50; i++) {
    index.store(a, range(100 + 10 * i, 6));
    expect([...index.overlap(hashes(1, 2, 3))]).toEqual([3]);
    expect(index.residentBlocks(a)).toBe(4);
  }
  index.unpin(a, hashes(1, 2, 3));
  index.store(a, range(900, 4));
  expect([...index.overlap(hashes(1, 2, 3))]).toEqual([0]);
});

test('where pins leave no room, new blocks are rejected and the bound holds', () => {
  const { index, a } = bounded(3);
  index.store(a, hashes(1, 2, 3));
  index.pin(a, hashes(1, 2, 3));
  expect(index.store(a, hashes(7, 8))).toMatchObject({ applied: 0, rejected: 2, firstBad: 0, evicted: 0 });
  expect(index.stats()).toMatchObject({ rejected: 2, blocks: 3 });
  index.unpin(a, hashes(3));
  expect(index.store(a, hashes(7, 8))).toMatchObject({ applied: 1, rejected: 1, firstBad: 1, evicted: 1 });
  expect(index.enumerate(a)).toEqual(hashes(1, 2, 7));
});

test('pins are counted for each block of each worker', () => {
  const { index, a } = bounded(2);
  const b = index.addWorker('b', { capacity: 1 });
  for (const worker of [a, b]) index.store(worker, hashes(1));
  index.pin(a, hashes(1));
  index.pin(a, hashes(1, 1));
  expect(statsOf(index, a)).toMatchObject({ pinnedBlocks: 1 });
  expect(statsOf(index, b)).toMatchObject({ pinnedBlocks: 0 });
  index.store(b, hashes(5));
  expect([...index.overlap(hashes(1))]).toEqual([1, 0]);
  expect(index.unpin(a, hashes(1, 1))).toMatchObject({ applied: 2 });
  index.store(a, range(10, 2));
  expect([...index.overlap(hashes(1))]).toEqual([1, 0]);
  expect(index.unpin(a, hashes(1, 1))).toMatchObject({ applied: 1, unknown: 1, firstBad: 1 });
  expect(statsOf(index, a)).toMatchObject({ pinnedBlocks: 0 });
});

test('only resident blocks are pinned, only pinned ones unpinned; the rest is counted', () => {
  const { index, a } = bounded(5);
  index.store(a, hashes(1, 2));
  index.own('s', hashes(1, 2, 3));
  const before = countsOf(index);
  expect(index.pin(a, hashes(1, 3, 9))).toEqual({
    ...{ applied: 1, duplicate: 0, unknown: 2, orphaned: 0, rejected: 0, firstBad: 1, evicted: 0 },
  });
  expect(index.unpin(a, hashes(2, 1))).toMatchObject({ applied: 1, unknown: 1, firstBad: 0 });
  expect(countsOf(index)).toEqual(before);
});

test('strict pins throw, and what could be pinned is', () => {
  const { index, a } = bounded(5);
  index.store(a, hashes(1));
  const message = (call: () => unknown) => {
    expect(call).toThrow(RejectedError);
    expect(codeOf(call)).toBe('ERR_KVIDX_REJECTED');
    return expect(call);
  };
  message(() => index.pin(a, hashes(1, 2, 3), { strict: true })).toThrow(
    'pin: 2 blocks not resident on this worker, first seqHashes[1]; the others are pinned',
  );
  expect(index.unpin(a, hashes(1, 1, 1), { strict: true })).toMatchObject({ applied: 3 });
  message(() => index.unpin(a, hashes(1), { strict: true })).toThrow(
    'unpin: 1 block not pinned on this worker, first seqHashes[0]; the others are unpinned',
  );
  expect(index.pin(a, hashes(1), { strict: true })).toMatchObject({ applied: 1 });
});

test('pinned blocks do not expire, and are not used by being pinned', () => {
  const { index, a } = bounded(2, 100);
  index.store(a, hashes(1), { nowMs: 0 });
  index.pin(a, hashes(1));
  expect(index.expire(1e6)).toBe(0);
  index.unpin(a, hashes(1));
  index.store(a, hashes(5), { nowMs: 1e6 });
  expect(index.expire(1e6)).toBe(1);
  expect(index.enumerate(a)).toEqual(hashes(5));
});

describe('a block that leaves the worker loses its pins', () => {
  const leaves: Record<string, (index: KvIndex, a: WorkerHandle) => WorkerHandle> = {
    remove: (index, a) => {
      index.remove(a, hashes(1, 2));
      return a;
    },
    clear: (index, a) => {
      index.clear(a);
      return a;
    },
    'a full report': (index, a) => {
      index.replace(a, []);
      return a;
    },
    'the end of the worker': (index, a) => {
      index.removeWorker(a);
      return index.addWorker('a', { capacity: 2 });
    },
    'a restore': (index) => {
      index.restore(index.snapshot());
      const a = index.addWorker('a');
      index.clear(a);
      return a;
    },
  };
  test.each(Object.entries(leaves))('%s', (_, leave) => {
    const { index, a } = bounded(2);
    index.store(a, hashes(1, 2));
    index.pin(a, hashes(1, 2));
    const worker = leave(index, a);
    expect(statsOf(index, worker)).toMatchObject({ pinnedBlocks: 0, residentBlocks: 0 });
    index.store(worker, hashes(1, 2));
    expect(index.unpin(worker, hashes(1, 2))).toMatchObject({ unknown: 2 });
    expect(index.store(worker, hashes(7, 8))).toMatchObject({ applied: 2, evicted: 2 });
    expect(index.validate()).toBe('');
  });
});

test('pins work on workers of every mode', () => {
  const index = new KvIndex({ maxBlocks: 2 });
  const plain = index.addWorker('plain');
  const counted = index.addWorker('counted', { referenceCounts: true });
  index.store(plain, hashes(1));
  index.store(counted, hashes(2));
  expect(index.pin(plain, hashes(1))).toMatchObject({ applied: 1 });
  expect(index.pin(counted, hashes(2))).toMatchObject({ applied: 1 });
  expect(index.store(plain, hashes(3))).toMatchObject({ applied: 0, rejected: 1 });
  index.unpin(counted, hashes(2));
  expect(index.store(plain, hashes(3))).toMatchObject({ applied: 1, evicted: 1 });
  expect(index.enumerate(plain)).toEqual(hashes(1, 3));
});
