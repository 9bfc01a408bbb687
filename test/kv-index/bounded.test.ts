import { afterEach, describe, expect, test, vi } from 'vitest';
import { KvIndex, type WorkerHandle } from '../../src/index.js';
import { seam } from '../../src/native/index.js';
import { STATUS } from '../../src/native/seam.js';
import { codeOf, countsOf, hashes, range, statsOf } from './support.js';

const CAPACITY = 'ERR_KVIDX_CAPACITY';

/** An index with one worker of this capacity. */
function bounded(capacity: number, ttlMs = 0): { index: KvIndex; a: WorkerHandle } {
  const index = new KvIndex();
  return { index, a: index.addWorker('a', { capacity, ttlMs }) };
}

describe('a worker with a capacity', () => {
  test('holds the blocks that were named last', () => {
    const { index, a } = bounded(4);
    index.store(a, hashes(1, 2));
    index.store(a, hashes(5, 6));
    expect(index.store(a, hashes(1, 2, 3))).toMatchObject({ applied: 1, duplicate: 2, evicted: 1 });
    expect(index.enumerate(a)).toEqual(hashes(1, 2, 3, 5));
    expect(statsOf(index, a)).toMatchObject({ mode: 'bounded', capacity: 4, evictedByCapacity: 1 });
    expect(index.stats()).toMatchObject({ evictedByCapacity: 1, evictedByBound: 0, expired: 0, rejected: 0 });
  });

  test('keeps the head of a prompt that is longer', () => {
    const { index, a } = bounded(3);
    expect(index.store(a, range(1, 5))).toMatchObject({ applied: 3, rejected: 2, firstBad: 3, evicted: 0 });
    expect([...index.overlap(range(1, 5))]).toEqual([3]);
    expect(index.stats()).toMatchObject({ rejected: 2, evictedByCapacity: 0 });
  });

  test('does not take a query for a use', () => {
    const { index, a } = bounded(2);
    index.store(a, hashes(1));
    index.store(a, hashes(5));
    index.overlap(hashes(1));
    index.explain({ seqHashes: hashes(1) });
    index.store(a, hashes(7));
    expect(index.enumerate(a)).toEqual(hashes(5, 7));
  });

  test('takes prompts from their first block on alone, and says so', () => {
    const { index, a } = bounded(4);
    index.store(a, hashes(1));
    const before = index.snapshot();
    for (const parent of [1n, 1, 'unknown'] as const) {
      for (const seq of [hashes(2), hashes()]) {
        const store = () => index.store(a, seq, { parent });
        expect(codeOf(store)).toBe('ERR_KVIDX_OUT_OF_RANGE');
        expect(store).toThrow(RangeError);
        expect(store).toThrow(/^parent must be omitted for "a": .*from their first block on/);
      }
    }
    const report = [{ seq: hashes(), parent: 4n }, { seq: hashes(1) }, { seq: hashes(2), parent: 1n }];
    expect(() => index.replace(a, report)).toThrow(/^chains\[2\]\.parent must be omitted for "a"/);
    expect(codeOf(() => index.replace(a, report))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(index.snapshot()).toEqual(before);
    expect(index.replace(a, report.slice(0, 2))).toMatchObject({ applied: 0, rejected: 0 });
  });

  test('loses nobody else its blocks', () => {
    const { index, a } = bounded(2);
    const b = index.addWorker('b');
    const cpu = index.addWorker('a', { tier: 'cpu', capacity: 5 });
    for (const worker of [a, b, cpu]) index.store(worker, range(1, 4));
    expect([a, b, cpu].map((worker) => index.residentBlocks(worker))).toEqual([2, 4, 4]);
    index.own('s', range(1, 4));
    expect([...index.exclusiveOverlap('s', range(1, 4))]).toEqual([2, 4, 4]);
  });

  test('goes on bounded after clear, and ends with its life', () => {
    const { index, a } = bounded(2);
    index.store(a, range(1, 2));
    index.store(a, range(5, 2));
    index.clear(a);
    expect(statsOf(index, a)).toMatchObject({ capacity: 2, residentBlocks: 0, evictedByCapacity: 2 });
    expect(index.store(a, range(1, 3))).toMatchObject({ applied: 2, rejected: 1 });
    index.removeWorker(a);
    const again = index.addWorker('a');
    expect(statsOf(index, again)).toMatchObject({ mode: 'plain', capacity: undefined, evictedByCapacity: 0 });
    expect(index.store(again, range(1, 3))).toMatchObject({ applied: 3 });
  });
});

describe('refresh', () => {
  test('keeps what is used from eviction, head first', () => {
    const { index, a } = bounded(4);
    index.store(a, hashes(1, 2));
    index.store(a, hashes(5, 6));
    expect(index.refresh(a, hashes(1, 2))).toMatchObject({ applied: 2, unknown: 0, firstBad: -1 });
    index.store(a, hashes(8, 9));
    expect(index.enumerate(a)).toEqual(hashes(1, 2, 8, 9));
    index.store(a, hashes(11));
    expect(index.enumerate(a)).toEqual(hashes(1, 8, 9, 11));
  });

  test('adds nothing, and counts what is not resident here', () => {
    const { index, a } = bounded(4);
    const b = index.addWorker('b');
    index.store(b, hashes(1, 2));
    index.store(a, hashes(1), { nowMs: 5 });
    const before = countsOf(index);
    expect(index.refresh(a, hashes(1, 2, 3), { nowMs: 9 })).toEqual({
      ...{ applied: 1, duplicate: 0, unknown: 2, orphaned: 0, rejected: 0, firstBad: 1, evicted: 0 },
    });
    expect(countsOf(index)).toEqual(before);
    expect(index.residentBlocks(a)).toBe(1);
  });

  test('throws when strict, after refreshing the rest', () => {
    const { index, a } = bounded(2);
    index.store(a, hashes(1));
    index.store(a, hashes(5));
    expect(() => index.refresh(a, hashes(1, 2), { strict: true })).toThrow(
      'refresh: 1 block not resident on this worker, first seqHashes[1]; the others are refreshed',
    );
    index.store(a, hashes(7));
    expect(index.enumerate(a)).toEqual(hashes(1, 7));
  });

  test('is legal on workers without a capacity', () => {
    const index = new KvIndex();
    const a = index.addWorker('a');
    index.store(a, hashes(1, 2));
    expect(index.refresh(a, hashes(1, 2))).toMatchObject({ applied: 2 });
  });
});

describe('a ttl', () => {
  test('counts from the last time a block was named, and takes effect with expire', () => {
    const { index, a } = bounded(10, 100);
    index.store(a, hashes(1, 2), { nowMs: 1000 });
    index.store(a, hashes(5), { nowMs: 1050 });
    index.refresh(a, hashes(1), { nowMs: 1060 });
    expect([...index.overlap(hashes(1, 2))]).toEqual([2]);
    expect(index.expire(1099)).toBe(0);
    expect(index.expire(1100)).toBe(1);
    expect(index.enumerate(a)).toEqual(hashes(1, 5));
    expect(index.expire(1150)).toBe(1);
    expect(index.expire(1160)).toBe(1);
    expect(index.residentBlocks(a)).toBe(0);
    expect(index.stats().expired).toBe(3);
    expect(statsOf(index, a)).toMatchObject({ ttlMs: 100, expired: 3, evictedByCapacity: 0 });
  });

  test('is that of its worker alone', () => {
    const { index, a } = bounded(10, 100);
    const others = [
      index.addWorker('longer', { capacity: 10, ttlMs: 1000 }),
      index.addWorker('none', { capacity: 10 }),
      index.addWorker('plain'),
    ];
    for (const worker of [a, ...others]) index.store(worker, hashes(1), { nowMs: 0 });
    expect(index.expire(500)).toBe(1);
    expect([...index.overlap(hashes(1))]).toEqual([0, 1, 1, 1]);
    expect(index.expire(1e9)).toBe(1);
    expect([...index.overlap(hashes(1))]).toEqual([0, 0, 1, 1]);
  });

  test('is the present by default', () => {
    const { index, a } = bounded(10, 60_000);
    index.store(a, hashes(1));
    index.store(a, hashes(5), { nowMs: Date.now() - 120_000 });
    expect(index.expire()).toBe(1);
    expect(index.enumerate(a)).toEqual(hashes(1));
  });
});

describe('setCapacity', () => {
  test('evicts at once when it is lowered, and gives room when it is raised', () => {
    const { index, a } = bounded(5);
    index.store(a, hashes(1, 2, 3));
    index.store(a, hashes(7, 8));
    expect(index.setCapacity(a, 3)).toBe(2);
    expect(index.enumerate(a)).toEqual(hashes(1, 7, 8));
    expect(statsOf(index, a)).toMatchObject({ capacity: 3, evictedByCapacity: 2 });
    expect(index.setCapacity(a, 6)).toBe(0);
    expect(index.store(a, range(20, 3))).toMatchObject({ applied: 3, evicted: 0 });
  });

  test('bounds an empty worker', () => {
    const index = new KvIndex();
    const a = index.addWorker('a');
    index.store(a, hashes(1));
    index.clear(a);
    expect(index.setCapacity(a, 2, { ttlMs: 7 })).toBe(0);
    expect(statsOf(index, a)).toMatchObject({ mode: 'bounded', capacity: 2, ttlMs: 7 });
  });

  test('leaves the ttl as it is unless one is given', () => {
    const { index, a } = bounded(5, 50);
    index.setCapacity(a, 4);
    expect(statsOf(index, a)).toMatchObject({ capacity: 4, ttlMs: 50 });
    index.setCapacity(a, 4, { ttlMs: 60 });
    expect(statsOf(index, a)).toMatchObject({ capacity: 4, ttlMs: 60 });
    index.setCapacity(a, 4, { ttlMs: 0 });
    expect(statsOf(index, a)).toMatchObject({ capacity: 4, ttlMs: undefined });
  });

  test('is refused, changing nothing and saying what to do', () => {
    const index = new KvIndex();
    const plain = index.addWorker('plain');
    const counted = index.addWorker('counted', { referenceCounts: true });
    const pinned = index.addWorker('pinned', { capacity: 5, ttlMs: 9 });
    for (const worker of [plain, pinned]) index.store(worker, range(1, 3));
    index.pin(pinned, range(1, 3));
    const before = index.snapshot();
    for (const [worker, advice] of [
      [plain, /"plain" \(rank 0, gpu\) holds blocks .*: clear it/],
      [counted, /"counted" .*: remove it/],
      [pinned, /"pinned" .* has 3 blocks pinned, more than 2: unpin/],
    ] as const) {
      const call = () => index.setCapacity(worker, 2, { ttlMs: 1 });
      expect(codeOf(call)).toBe(CAPACITY);
      expect(call).toThrow(advice);
    }
    expect(index.snapshot()).toEqual(before);
    expect(index.setCapacity(pinned, 3)).toBe(0);
  });
});

describe('addWorker of a live worker', () => {
  test('keeps what is omitted, and applies what is given', () => {
    const { index, a } = bounded(5, 50);
    index.store(a, range(1, 5));
    expect(index.addWorker('a')).toBe(a);
    expect(index.addWorker('a', { referenceCounts: false })).toBe(a);
    expect(statsOf(index, a)).toMatchObject({ capacity: 5, ttlMs: 50, residentBlocks: 5 });
    expect(index.addWorker('a', { capacity: 3 })).toBe(a);
    expect(statsOf(index, a)).toMatchObject({ capacity: 3, ttlMs: 50, evictedByCapacity: 2 });
    expect(index.addWorker('a', { capacity: 4, ttlMs: 0 })).toBe(a);
    expect(statsOf(index, a)).toMatchObject({ capacity: 4, ttlMs: undefined });
  });

  test('gives an empty plain worker a mode', () => {
    const index = new KvIndex();
    const [a, b] = [index.addWorker('a'), index.addWorker('b')];
    expect(index.addWorker('a', { capacity: 3 })).toBe(a);
    expect(index.addWorker('b', { referenceCounts: true })).toBe(b);
    expect(index.addWorker('b', { referenceCounts: true })).toBe(b);
    expect(index.stats().workers.map(({ mode }) => mode)).toEqual(['bounded', 'counted']);
  });

  test('is refused where the options contradict its mode, changing nothing', () => {
    const { index } = bounded(5);
    index.addWorker('counted', { referenceCounts: true });
    index.store(index.addWorker('plain'), hashes(1));
    const before = index.snapshot();
    for (const [name, options, advice] of [
      ['a', { referenceCounts: true }, /has a capacity and counts no references: remove it/],
      ['counted', { capacity: 5 }, /counts references and takes no capacity: remove it/],
      ['counted', { capacity: 5, referenceCounts: false }, /counts references and takes no capacity/],
      ['counted', { referenceCounts: false }, /counts references: remove it/],
      ['plain', { capacity: 5 }, /holds blocks without a capacity: clear it/],
      ['plain', { referenceCounts: true }, /holds blocks without reference counts: clear it/],
    ] as const) {
      expect(codeOf(() => index.addWorker(name, options))).toBe(CAPACITY);
      expect(() => index.addWorker(name, options)).toThrow(advice);
    }
    expect(index.snapshot()).toEqual(before);
  });
});

describe('addWorker of a new worker', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('leaves nothing behind when its mode cannot be set', () => {
    const { createIndex } = seam;
    vi.spyOn(seam, 'createIndex').mockImplementation((options) => {
      const core = createIndex(options);
      vi.spyOn(core, 'setCapacity').mockReturnValue(STATUS.notEmpty);
      vi.spyOn(core, 'countReferences').mockReturnValue(STATUS.notEmpty);
      return core;
    });
    const index = new KvIndex();
    const kept = index.addWorker('kept');
    for (const options of [{ capacity: 5 }, { referenceCounts: true }]) {
      expect(codeOf(() => index.addWorker('a', options))).toBe(CAPACITY);
      expect(index.workers()).toEqual([kept]);
      expect(index.slotCount).toBe(1);
      expect(index.stats().slots).toBe(1);
    }
    const a = index.addWorker('a');
    expect(index.store(a, hashes(1))).toMatchObject({ applied: 1 });
  });
});
