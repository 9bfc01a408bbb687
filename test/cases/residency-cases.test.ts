/** Behaviours of KV-aware routers that break in the field, each with its right answer: bounds, copies, full reports. */
import { expect, test } from 'vitest';
import { type IndexStats, KvIndex } from '../../src/index.js';
import { Random } from '../../src/random.js';
import { hashes, range } from '../kv-index/support.js';

/** 0 … n − 1. */
const below = (random: Random, n: number) => Math.floor(random.uniform() * n);

test('a capacity of three keeps the head of a prompt of five blocks', () => {
  const index = new KvIndex();
  const a = index.addWorker('a', { capacity: 3 });
  const prompt = range(1, 5);
  expect(index.store(a, prompt)).toMatchObject({ applied: 3, rejected: 2, firstBad: 3, evicted: 0 });
  expect([...index.overlap(prompt)]).toEqual([3]);
  expect(index.residentBlocks(a)).toBe(3);
  expect(index.store(a, prompt)).toMatchObject({ applied: 0, duplicate: 3, rejected: 2, evicted: 0 });
  expect([...index.overlap(prompt)]).toEqual([3]);
});

test('eviction takes blocks, tails first, and not whole prompts', () => {
  const index = new KvIndex();
  const a = index.addWorker('a', { capacity: 100 });
  index.store(a, range(1, 99));
  expect(index.store(a, range(500, 3))).toMatchObject({ applied: 3, evicted: 2 });
  expect([...index.overlap(range(1, 99))]).toEqual([97]);
});

test('a pinned path survives any pressure', () => {
  const index = new KvIndex({ maxBlocks: 40 });
  const a = index.addWorker('a', { capacity: 20, ttlMs: 10 });
  const b = index.addWorker('b');
  const path = range(1, 12);
  index.store(a, path, { nowMs: 0 });
  expect(index.pin(a, path)).toMatchObject({ applied: 12 });
  const random = new Random(5);
  for (let i = 1; i <= 300; i++) {
    const prompt = range(1000 * i, 1 + below(random, 60));
    index.store(i % 2 ? a : b, prompt, { nowMs: i });
    index.own(`s${i % 7}`, prompt);
    index.expire(i);
    expect(index.overlap(path)[a.slot]).toBe(12);
    expect(index.residentBlocks(a)).toBeLessThanOrEqual(20);
    expect(index.stats().blocks).toBeLessThanOrEqual(40);
  }
  expect(index.validate()).toBe('');
  index.unpin(a, path);
  expect(index.expire(1000)).toBeGreaterThanOrEqual(12);
  expect(index.overlap(path)[a.slot]).toBe(0);
});

test('where everything is pinned, new blocks are rejected and counted, and the bounds hold', () => {
  const index = new KvIndex({ maxBlocks: 6 });
  const a = index.addWorker('a', { capacity: 4 });
  const b = index.addWorker('b');
  index.store(a, range(1, 4));
  index.store(b, range(11, 2));
  index.pin(a, range(1, 4));
  index.pin(b, range(11, 2));
  expect(index.store(a, range(50, 3))).toMatchObject({ applied: 0, rejected: 3, firstBad: 0, evicted: 0 });
  expect(index.store(b, range(60, 2))).toMatchObject({ applied: 0, rejected: 2, firstBad: 0, evicted: 0 });
  expect(index.own('s', range(70, 5))).toMatchObject({ applied: 0, rejected: 5, firstBad: 0, evicted: 0 });
  expect(index.replace(b, [{ seq: range(11, 3) }])).toMatchObject({ applied: 0, rejected: 1, evicted: 0 });
  expect(index.stats()).toMatchObject({ blocks: 6, rejected: 11, evictedByCapacity: 0, evictedByBound: 0 });
  expect(index.enumerate(a)).toEqual(range(1, 4));
  expect(index.enumerate(b)).toEqual(range(11, 2));
});

test('maxBlocks bounds fifty workers and their sessions as a whole, after every call', () => {
  const index = new KvIndex({ maxBlocks: 500, maxSessions: 30 });
  const workers = Array.from({ length: 50 }, (_, i) =>
    index.addWorker(`w${i}`, i % 3 === 0 ? { capacity: 40 } : { referenceCounts: i % 3 === 1 }),
  );
  const random = new Random(3);
  const boilerplate = range(1, 20);
  for (let i = 0; i < 1000; i++) {
    const worker = workers[below(random, 50)]!;
    const session = below(random, 60);
    const prompt = BigUint64Array.of(...boilerplate, ...range(1000 * (session + 1), 1 + below(random, 40)));
    index.store(worker, prompt, { nowMs: i });
    index.own(`s${session}`, prompt, { nowMs: i });
    expect(index.stats().blocks).toBeLessThanOrEqual(500);
  }
  const { evictedByBound, workers: each } = index.stats();
  expect(evictedByBound).toBeGreaterThan(0);
  expect(each.some(({ degraded }) => degraded)).toBe(true);
  expect(each.filter(({ mode }) => mode === 'bounded').some(({ degraded }) => degraded)).toBe(false);
  // Named by every call: nobody loses the boilerplate that is shared.
  expect([...index.overlap(boilerplate)].every((blocks) => blocks === 0 || blocks === 20)).toBe(true);
  expect(index.validate()).toBe('');
});

test('a full report after double stores leaves exactly the reported chains', () => {
  for (const options of [{}, { referenceCounts: true }, { capacity: 100 }]) {
    const index = new KvIndex();
    const a = index.addWorker('a', options);
    for (let i = 0; i < 2; i++) {
      index.store(a, range(1, 10));
      index.store(a, BigUint64Array.of(...range(1, 5), ...range(50, 5)));
    }
    const chains = [{ seq: range(1, 7) }, { seq: hashes(1, 2, 90) }];
    expect(index.replace(a, chains)).toMatchObject({ applied: 1, duplicate: 0, unknown: 0, rejected: 0 });
    expect(index.enumerate(a)).toEqual(hashes(1, 2, 3, 4, 5, 6, 7, 90));
    expect(index.remove(a, hashes(90, 7, 6, 5, 4, 3, 2, 1))).toMatchObject({ applied: 8, unknown: 0 });
    expect(index.stats()).toMatchObject({ blocks: 0, unknownRemoves: 0 });
    expect(index.validate()).toBe('');
  }
});

test('with reference counts, removing the first of two copies does not evict the block', () => {
  const index = new KvIndex();
  const a = index.addWorker('a', { referenceCounts: true });
  const plain = index.addWorker('plain');
  for (const worker of [a, a, plain, plain]) index.store(worker, hashes(1, 2));
  for (const worker of [a, plain]) index.remove(worker, hashes(1, 2));
  expect([...index.overlap(hashes(1, 2))]).toEqual([2, 0]);
  expect(index.remove(a, hashes(1, 2))).toMatchObject({ applied: 2, unknown: 0 });
  expect([...index.overlap(hashes(1, 2))]).toEqual([0, 0]);
});

test('a full report is not a store and does not inflate counts', () => {
  const index = new KvIndex();
  const a = index.addWorker('a', { referenceCounts: true });
  for (let i = 0; i < 5; i++) index.replace(a, [{ seq: hashes(1, 2) }]);
  expect(index.stats().duplicates).toBe(0);
  expect(index.remove(a, hashes(1, 2))).toMatchObject({ applied: 2 });
  expect(index.residentBlocks(a)).toBe(0);
});

const MEMORY = ['blocks', 'runs', 'runHolders', 'slots', 'sessions', 'usedBytes', 'orphans'] as const;
const memory = (stats: IndexStats) => Object.fromEntries(MEMORY.map((figure) => [figure, stats[figure]]));

test.each([{}, { maxBlocks: 700 }])(
  'churn of bounded, counted and pinned workers returns to the baseline: %o',
  (options) => {
    const index = new KvIndex(options);
    const baseline = memory(index.stats());
    for (let round = 0; round < 3; round++) {
      const trunk = range(1, 100);
      for (let i = 0; i < 60; i++) {
        const mode = [{ capacity: 10 + i, ttlMs: 50 }, { referenceCounts: true }, {}][i % 3]!;
        const worker = index.addWorker(`w${i}`, mode);
        const branch = BigUint64Array.of(...trunk.subarray(0, i), ...range(10_000 * (i + 1), 20));
        for (let copy = 0; copy < 2; copy++) index.store(worker, branch, { nowMs: i });
        index.pin(worker, branch.subarray(0, i));
        index.own(`s${i}`, branch, { nowMs: i });
        if (i % 5 === 1) index.remove(worker, branch);
        if (i % 5 === 2) index.replace(worker, [{ seq: branch.subarray(0, 5) }], { nowMs: i });
        if (i % 5 === 3) index.clear(worker);
      }
      index.expire(80);
      expect(index.validate()).toBe('');
      for (let i = 0; i < 60; i++) {
        index.endSession(`s${i}`);
        index.removeWorker(`w${i}`);
      }
      expect(index.validate()).toBe('');
      expect(memory(index.stats())).toEqual(baseline);
    }
    index.compact();
    const { reservedBytes } = new KvIndex(options).stats();
    expect(index.stats().reservedBytes).toBeLessThanOrEqual(2 * reservedBytes);
  },
);

test('an emptied worker leaves nothing of its bounds behind: removal block by block, by report and by clear', () => {
  const empty = new KvIndex();
  empty.addWorker('a', { capacity: 30 });
  const baseline = memory(empty.stats());
  const index = new KvIndex();
  const a = index.addWorker('a', { capacity: 30 });
  for (const leave of [
    () => index.remove(a, index.enumerate(a)),
    () => index.replace(a, []),
    () => index.clear(a),
    () => index.setCapacity(a, 30) || index.expire(1e9) || index.clear(a),
  ]) {
    for (let i = 0; i < 20; i++) index.store(a, range(100 * i, 1 + (i % 9)));
    index.pin(a, index.enumerate(a).subarray(0, 9));
    leave();
    expect(memory(index.stats())).toEqual(baseline);
  }
});
