import { expect, test } from 'vitest';
import { KvIndex, type WorkerHandle } from '../../src/index.js';
import { hashes, statsOf } from './support.js';

function counted(): { index: KvIndex; a: WorkerHandle } {
  const index = new KvIndex();
  return { index, a: index.addWorker('a', { referenceCounts: true }) };
}

test('a block stored twice takes two removes to go', () => {
  const { index, a } = counted();
  expect(index.store(a, hashes(1, 2))).toMatchObject({ applied: 2, duplicate: 0 });
  expect(index.store(a, hashes(1, 2, 3))).toMatchObject({ applied: 1, duplicate: 2 });
  expect(index.residentBlocks(a)).toBe(3);
  expect(index.remove(a, hashes(1, 2))).toMatchObject({ applied: 2, unknown: 0 });
  expect([...index.overlap(hashes(1, 2, 3))]).toEqual([3]);
  expect(index.remove(a, hashes(1, 2, 1))).toMatchObject({ applied: 2, unknown: 1, firstBad: 2 });
  expect(index.enumerate(a)).toEqual(hashes(3));
  expect(statsOf(index, a)).toMatchObject({ mode: 'counted', residentBlocks: 1 });
  expect(index.stats()).toMatchObject({ duplicates: 2, unknownRemoves: 1 });
});

test('one remove may take several copies', () => {
  const { index, a } = counted();
  for (let i = 0; i < 3; i++) index.store(a, hashes(1));
  expect(index.remove(a, hashes(1, 1))).toMatchObject({ applied: 2 });
  expect(index.residentBlocks(a)).toBe(1);
  expect(index.remove(a, hashes(1, 1))).toMatchObject({ applied: 1, unknown: 1 });
});

test('a rejected store adds no copies', () => {
  const { index, a } = counted();
  index.store(a, hashes(1, 2));
  expect(index.store(a, hashes(2, 1))).toMatchObject({ rejected: 2 });
  index.remove(a, hashes(1, 2));
  expect(index.residentBlocks(a)).toBe(0);
});

test('a full report leaves one copy of each block', () => {
  const { index, a } = counted();
  for (let i = 0; i < 3; i++) index.store(a, hashes(1, 2, 3));
  index.replace(a, [{ seq: hashes(1, 2) }, { seq: hashes(1, 2, 4) }]);
  expect(index.remove(a, hashes(1))).toMatchObject({ applied: 1 });
  expect(index.enumerate(a)).toEqual(hashes(2, 4));
});

test('clear takes every copy, and workers count for themselves', () => {
  const { index, a } = counted();
  const plain = index.addWorker('b');
  for (const worker of [a, a, plain, plain]) index.store(worker, hashes(1, 2));
  expect(index.clear(a)).toBe(2);
  expect(index.store(a, hashes(1))).toMatchObject({ applied: 1 });
  index.remove(a, hashes(1));
  index.remove(plain, hashes(1));
  expect([...index.overlap(hashes(1, 2), { mode: 'set' })]).toEqual([0, 1]);
});

test('a counted worker takes chains behind any parent', () => {
  const { index, a } = counted();
  expect(index.store(a, hashes(5), { parent: 4n })).toMatchObject({ applied: 1, orphaned: 1 });
  expect(index.store(a, hashes(5), { parent: 'unknown' })).toMatchObject({ duplicate: 1 });
  expect(index.remove(a, hashes(5))).toMatchObject({ applied: 1 });
  expect(index.residentBlocks(a)).toBe(1);
});
