import { expect, test } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { codeOf, hashes, range, statsOf } from './support.js';

const NOTHING = { applied: 0, duplicate: 0, unknown: 0, orphaned: 0, rejected: 0, firstBad: -1, evicted: 0 };

test('a worker holds exactly what the report says, and nobody else notices', () => {
  const index = new KvIndex();
  const [a, b] = [index.addWorker('a'), index.addWorker('b')];
  for (const worker of [a, b]) index.store(worker, hashes(1, 2, 3, 4), { nowMs: 10 });
  index.own('s', hashes(1, 2, 3, 4));
  const report = [{ seq: hashes(1, 2) }, { seq: hashes(9), parent: 2n }, { seq: hashes(70), parent: 60 }];
  expect(index.replace(a, report, { nowMs: 20 })).toEqual({ ...NOTHING, applied: 2, orphaned: 1 });
  expect(index.enumerate(a)).toEqual(hashes(1, 2, 9, 70));
  expect(index.residentBlocks(b)).toBe(4);
  expect([...index.exclusiveOverlap('s', hashes(1, 2, 3, 4))]).toEqual([2, 4]);
  expect([...index.overlap(hashes(1, 2, 9))]).toEqual([3, 2]);
  expect(statsOf(index, a)).toMatchObject({ lastStoreMs: 20 });
  expect(index.validate()).toBe('');
});

test('it is neither a store nor a removal: no duplicates, no unknown removes', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2));
  for (let i = 0; i < 3; i++) expect(index.replace(a, [{ seq: hashes(1, 2) }])).toEqual(NOTHING);
  expect(index.replace(a, [])).toEqual(NOTHING);
  expect(index.stats()).toMatchObject({ blocks: 0, duplicates: 0, unknownRemoves: 0, rejected: 0 });
});

test('chains may share a prefix, come tail first, and begin anywhere', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  const report = [
    { seq: hashes(5, 6), parent: 2n },
    { seq: hashes(1, 2, 3) },
    { seq: hashes(1, 2, 4) },
    { seq: hashes(80, 81), parent: 'unknown' as const },
  ];
  expect(index.replace(a, report)).toEqual({ ...NOTHING, applied: 8, orphaned: 4 });
  expect([...index.overlap(hashes(1, 2, 5, 6))]).toEqual([4]);
  expect(index.stats().orphans).toBe(1);
});

test('a chain that contradicts is left out, and the others are taken', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2, 3));
  const report = [{ seq: hashes(1, 2) }, { seq: hashes(2, 3) }, { seq: hashes(7, 7) }, { seq: hashes(8) }];
  const taken = { ...NOTHING, applied: 1, rejected: 4, firstBad: 1 };
  expect(index.replace(a, report)).toEqual(taken);
  expect(index.enumerate(a)).toEqual(hashes(1, 2, 8));
  expect(index.stats().rejected).toBe(4);
  expect(() => index.replace(a, report, { strict: true })).toThrow(
    'replace: 4 blocks rejected: chains[1] contradicts a known predecessor or repeats a block; ' +
      'the rest of the report is taken',
  );
  expect(codeOf(() => index.replace(a, report, { strict: true }))).toBe('ERR_KVIDX_REJECTED');
});

test('blocks that stay keep their pins, on a bounded worker too', () => {
  const index = new KvIndex();
  const a = index.addWorker('a', { capacity: 4 });
  index.store(a, hashes(1, 2, 3));
  index.pin(a, hashes(1, 2, 3));
  expect(index.replace(a, [{ seq: hashes(1, 2) }])).toEqual(NOTHING);
  expect(statsOf(index, a)).toMatchObject({ residentBlocks: 2, pinnedBlocks: 2, evictedByCapacity: 0 });
  expect(index.replace(a, [{ seq: range(10, 4) }, { seq: hashes(1, 2) }])).toMatchObject({
    applied: 2,
    rejected: 2,
    firstBad: -1,
  });
  expect(index.enumerate(a)).toEqual(hashes(1, 2, 10, 11));
});

test('the report may hold many chains, and subarrays', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  const trunk = range(1, 2000);
  const chains = Array.from({ length: 2000 }, (_, i) => ({ seq: trunk.subarray(0, i + 1) }));
  expect(index.replace(a, chains)).toEqual({ ...NOTHING, applied: 2000 });
  expect([...index.overlap(trunk)]).toEqual([2000]);
});
