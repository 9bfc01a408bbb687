/** Behaviours of KV-aware routers that break in the field, each with its right answer: the state of the index. */
import { expect, test } from 'vitest';
import { type IndexStats, KvIndex, type Tier } from '../../src/index.js';
import { byName, codeOf, hashes, range, tokensFrom } from '../kv-index/support.js';

test('a block is only a hit behind its own prefix', () => {
  const index = new KvIndex({ blockSize: 4 });
  const [x, y] = [tokensFrom(100, 4), tokensFrom(200, 4)];
  const p1 = index.addWorker('p1');
  const p2 = index.addWorker('p2');
  index.store(p1, index.lookupTokens(x).seqHashes);
  index.store(p2, index.lookupTokens(y).seqHashes);
  const { overlap } = index.lookupTokens([...y, ...x]);
  expect(byName(index, overlap)).toEqual({ p1: 0, p2: 1 });
});

test('removing from one worker leaves the copies of others, and no count falls below zero', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  const b = index.addWorker('b');
  index.store(a, hashes(1, 2));
  index.store(b, hashes(1, 2));
  index.remove(a, hashes(1, 2));
  expect(index.remove(a, hashes(1, 2))).toMatchObject({ applied: 0, unknown: 2 });
  expect(byName(index, index.overlap(hashes(1, 2)))).toEqual({ a: 0, b: 2 });
  expect(index.residentBlocks(a)).toBe(0);
  expect(index.stats()).toMatchObject({ blocks: 2, unknownRemoves: 2 });
});

test('clearing a worker empties that worker and nobody else', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  const rank = index.addWorker('a', { dpRank: 1 });
  const b = index.addWorker('b');
  for (const worker of [a, rank, b]) index.store(worker, hashes(1, 2, 3));
  index.own('s', hashes(1, 2, 3));
  expect(index.clear(a)).toBe(3);
  expect([...index.overlap(hashes(1, 2, 3))]).toEqual([0, 3, 3]);
  expect([...index.exclusiveOverlap('s', hashes(1, 2, 3))]).toEqual([0, 3, 3]);
  expect(index.clear(a)).toBe(0);
});

const MEMORY = [
  'blocks',
  'runs',
  'runHolders',
  'slots',
  'sessions',
  'usedBytes',

  'orphans',
] as const;
const memory = (stats: IndexStats) => Object.fromEntries(MEMORY.map((figure) => [figure, stats[figure]]));

test('churn of short workers that branch at many offsets returns to the baseline', () => {
  const index = new KvIndex();
  const baseline = memory(index.stats());
  for (let round = 0; round < 3; round++) {
    const trunk = range(1, 200);
    index.store(index.addWorker('trunk'), trunk);
    for (let i = 0; i < 100; i++) {
      const worker = index.addWorker(`w${i}`);
      const branch = BigUint64Array.of(...trunk.subarray(0, i * 2), ...range(10_000 * (i + 1), 20));
      index.store(worker, branch);
      index.own(`s${i}`, branch);
      if (i % 2 === 0) index.clear(worker);
    }
    expect(index.validate()).toBe('');
    for (let i = 0; i < 100; i++) {
      index.endSession(`s${i}`);
      index.removeWorker(`w${i}`);
    }
    index.removeWorker('trunk');
    expect(index.validate()).toBe('');
    expect(memory(index.stats())).toEqual(baseline);
  }
  index.compact();
  const { reservedBytes } = new KvIndex().stats();
  expect(index.stats().reservedBytes).toBeLessThanOrEqual(2 * reservedBytes);
});

test('memory of sessions is bounded by maxSessions after every call', () => {
  const index = new KvIndex({ maxSessions: 10 });
  for (let i = 0; i < 200; i++) {
    index.own(`s${i}`, range(i * 100, 7));
    expect(index.stats().sessions).toBeLessThanOrEqual(10);
    expect(index.stats().blocks).toBeLessThanOrEqual(70);
  }
});

test('tracked blocks are stored minus removed, and a removed block stays removed', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  const chain = range(1, 60);
  let tracked = 0;
  for (let i = 0; i < 300; i++) {
    const from = (i * 17) % 50;
    const part = chain.subarray(from, from + 1 + (i % 9));
    if (i % 3 === 2) {
      tracked -= index.remove(a, part).applied;
      expect([...index.overlap(part, { mode: 'set' })]).toEqual([0]);
    } else {
      const parent = from === 0 ? undefined : chain[from - 1];
      tracked += index.store(a, part, { parent }).applied;
      expect([...index.overlap(part)]).toEqual([part.length]);
    }
    expect(index.residentBlocks(a)).toBe(tracked);
  }
  expect(index.enumerate(a).length).toBe(tracked);
});

test('removing a parent, then each descendant, ends where removing them in any order ends', () => {
  const baseline = memory(new KvIndex().stats());
  for (const order of [
    [1, 2, 3, 4],
    [4, 3, 2, 1],
    [2, 4, 1, 3],
  ]) {
    const index = new KvIndex();
    const a = index.addWorker('a');
    index.store(a, range(1, 4));
    for (const block of order) {
      expect(index.remove(a, hashes(block))).toMatchObject({ applied: 1, unknown: 0 });
    }
    index.removeWorker(a);
    expect(memory(index.stats())).toEqual(baseline);
  }
});

test('a hole in the middle of a chain cuts the overlap, and filling it brings the rest back', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2, 3));
  index.remove(a, hashes(2));
  expect([...index.overlap(hashes(1, 2, 3))]).toEqual([1]);
  index.store(a, hashes(2), { parent: 1n });
  expect([...index.overlap(hashes(1, 2, 3))]).toEqual([3]);
});

test('duplicate stores are counted and change nothing', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2));
  const before = memory(index.stats());
  expect(index.store(a, hashes(1, 2))).toMatchObject({ applied: 0, duplicate: 2 });
  expect(index.stats().duplicates).toBe(2);
  expect(memory(index.stats())).toEqual(before);
  index.remove(a, hashes(1, 2));
  expect(index.residentBlocks(a)).toBe(0);
});

test('blocks of an unknown parent are kept as orphans and never attached to the root', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  expect(index.store(a, hashes(5, 6), { parent: 4n })).toMatchObject({ applied: 2, orphaned: 2 });
  expect(index.store(a, hashes(8), { parent: 'unknown' })).toMatchObject({ applied: 1, orphaned: 1 });
  expect(index.stats().orphans).toBe(2);
  expect([...index.overlap(hashes(3, 4, 5, 6))]).toEqual([0]);
  expect(index.store(a, hashes(3, 4))).toMatchObject({ applied: 2, orphaned: 0 });
  expect([...index.overlap(hashes(3, 4, 5, 6))]).toEqual([4]);
  expect(index.stats().orphans).toBe(1);
});

test('within one call the parent of a block is the block before it', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2, 3));
  expect(index.store(a, hashes(3), { parent: 1n })).toMatchObject({ rejected: 1 });
  expect(index.store(a, hashes(3), { parent: 2n })).toMatchObject({ duplicate: 1, rejected: 0 });
  expect(index.store(a, hashes(2, 3), { parent: 1n })).toMatchObject({ duplicate: 2 });
});

test('a worker that went and came back starts empty, and calls of its former life are refused', () => {
  const index = new KvIndex();
  const former = index.addWorker('a');
  index.store(former, hashes(1, 2));
  index.removeWorker('a');
  const present = index.addWorker('a');
  expect(index.residentBlocks(present)).toBe(0);
  for (const late of [
    () => index.store(former, hashes(3)),
    () => index.remove(former, hashes(3)),
    () => index.clear(former),
    () => index.removeWorker(former),
  ]) {
    expect(codeOf(late)).toBe('ERR_KVIDX_UNKNOWN_WORKER');
  }
  expect(index.contains(3)).toBe(false);
  expect([...index.overlap(hashes(1, 2))]).toEqual([0]);
});

test('a snapshot restores to an equal index that goes on', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2, 3));
  index.store(a, hashes(9), { parent: 8n });
  index.own('s', hashes(1, 2));
  const restored = new KvIndex();
  restored.restore(index.snapshot());
  const b = restored.addWorker('a');
  expect(restored.enumerate(b)).toEqual(index.enumerate(a));
  for (const query of [hashes(1, 2, 3), hashes(8, 9)]) {
    expect(restored.overlap(query)).toEqual(index.overlap(query));
    expect(restored.exclusiveOverlap('s', query)).toEqual(index.exclusiveOverlap('s', query));
  }
  for (const [each, worker] of [
    [index, a],
    [restored, b],
  ] as const) {
    each.store(worker, hashes(7, 8), { parent: 3n });
    each.remove(worker, hashes(1));
    each.own('t', hashes(1));
  }
  const query = hashes(1, 2, 3, 7, 8, 9);
  expect(restored.overlap(query, { mode: 'set' })).toEqual(index.overlap(query, { mode: 'set' }));
  expect(restored.stats().blocks).toBe(index.stats().blocks);
});

test('tiers are independent, and an unknown tier is refused, never taken for gpu', () => {
  const index = new KvIndex();
  const gpu = index.addWorker('a', { tier: 'gpu' });
  const cpu = index.addWorker('a', { tier: 'cpu' });
  for (const worker of [gpu, cpu]) index.store(worker, hashes(1, 2));
  index.remove(gpu, hashes(1, 2));
  const overlap = index.overlap(hashes(1, 2));
  expect([overlap[gpu.slot], overlap[cpu.slot]]).toEqual([0, 2]);
  for (const tier of ['GPU', 'cpu_pinned', 'nvme', '']) {
    expect(codeOf(() => index.addWorker('a', { tier: tier as Tier }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  }
  expect(index.workers()).toEqual([gpu, cpu]);
});

test('hits count from the head, for each worker by itself', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  const b = index.addWorker('b');
  index.store(a, hashes(1, 2, 3));
  index.store(b, hashes(3), { parent: 2n });
  expect(byName(index, index.overlap(hashes(1, 2, 3)))).toEqual({ a: 3, b: 0 });
});

test('a lookup returns every holder', () => {
  const index = new KvIndex();
  const workers = Array.from({ length: 70 }, (_, i) => index.addWorker(`w${i}`));
  for (const worker of workers) index.store(worker, hashes(1));
  expect([...index.overlap(hashes(1, 2))]).toEqual(workers.map(() => 1));
});

test('an index that serves nothing says why', () => {
  const index = new KvIndex({ blockSize: 16 });
  const tokens = tokensFrom(1, 64);
  const reason = () => index.explain({ tokens }).reason;
  expect(reason()).toBe('no-workers');
  const a = index.addWorker('a');
  expect(reason()).toBe('no-stores-yet');
  index.store(a, new KvIndex({ blockSize: 32 }).lookupTokens(tokens).seqHashes, { nowMs: 100 });
  expect(reason()).toBe('block-size-mismatch');
  index.clear(a);
  index.store(a, index.lookupTokens(tokens, { namespace: { model: 'm' } }).seqHashes, { nowMs: 200 });
  expect(reason()).toBe('namespace-differs');
  expect(index.explain({ tokens: tokens.subarray(0, 15) }).reason).toBe('prompt-shorter-than-one-block');
  expect(index.explain({ tokens: tokensFrom(500, 64) }, { nowMs: 900 })).toMatchObject({
    reason: 'first-block-unknown',
    workers: [{ worker: a, residentBlocks: 4, lastStoreAgeMs: 700, overlapBlocks: 0 }],
  });
});
