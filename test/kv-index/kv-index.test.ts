import { expect, test } from 'vitest';
import { BlockHasher, FAIR_UNIT, KvIndex, RejectedError } from '../../src/index.js';
import { byName, filled, hashes, range, tokensFrom } from './support.js';

const NOTHING = { applied: 0, duplicate: 0, unknown: 0, orphaned: 0, rejected: 0, firstBad: -1, evicted: 0 };

test('a live worker is answered by its present handle, each rank and tier is a slot of its own', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  expect(index.addWorker('a')).toBe(a);
  expect(index.addWorker('a', { dpRank: 0, tier: 'gpu' })).toBe(a);
  const others = [
    index.addWorker('a', { dpRank: 1 }),
    index.addWorker('a', { tier: 'cpu' }),
    index.addWorker('b'),
  ];
  expect(new Set([a, ...others].map(({ slot }) => slot)).size).toBe(4);
  expect(index.workers()).toEqual([a, ...others]);
  expect(index.slotCount).toBe(4);
});

test('names cannot imitate the key of another worker', () => {
  const index = new KvIndex();
  const a = index.addWorker('x', { dpRank: 1 });
  const b = index.addWorker('1 x');
  expect(a).not.toBe(b);
});

test('removing by name removes every rank and tier of it and nobody else', () => {
  const index = new KvIndex();
  const { a, b } = filled(index);
  index.addWorker('a', { dpRank: 3 });
  index.removeWorker('a');
  expect(index.workers()).toEqual([b]);
  expect(index.overlap(hashes(1, 2, 4))[b.slot]).toBe(3);
  expect(() => index.clear(a)).toThrow(/stale/);
});

test('feeding answers what it did', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  expect(index.store(a, hashes(1, 2, 3))).toEqual({ ...NOTHING, applied: 3 });
  expect(index.store(a, hashes(1, 2, 3, 4))).toEqual({ ...NOTHING, applied: 1, duplicate: 3 });
  expect(index.store(a, hashes(9), { parent: 'unknown' })).toEqual({ ...NOTHING, applied: 1, orphaned: 1 });
  expect(index.store(a, hashes(5, 7), { parent: 4n })).toEqual({ ...NOTHING, applied: 2 });
  expect(index.store(a, hashes(1, 3))).toEqual({ ...NOTHING, rejected: 2, firstBad: 1 });
  expect(index.remove(a, hashes(7, 8))).toEqual({ ...NOTHING, applied: 1, unknown: 1, firstBad: 1 });
  expect(index.own('s', hashes(1, 2))).toEqual({ ...NOTHING, applied: 2 });
  expect(index.own('s', hashes(1, 2, 3))).toEqual({ ...NOTHING, applied: 1, duplicate: 2 });
  expect(index.clear(a)).toBe(6);
});

test('empty arrays are legal everywhere', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  expect(index.store(a, hashes())).toEqual(NOTHING);
  expect(index.replace(a, [])).toEqual(NOTHING);
  expect(index.replace(a, [{ seq: hashes() }, { seq: hashes(), parent: 7n }])).toEqual(NOTHING);
  expect(index.refresh(a, hashes())).toEqual(NOTHING);
  expect(index.pin(a, hashes())).toEqual(NOTHING);
  expect(index.unpin(a, hashes())).toEqual(NOTHING);
  expect(index.remove(a, hashes())).toEqual(NOTHING);
  expect(index.own('s', hashes())).toEqual(NOTHING);
  expect(index.overlap(hashes())).toEqual(new Uint32Array(1));
  expect(index.exclusiveOverlap('s', hashes())).toEqual(new Uint32Array(1));
  expect(index.fairOverlap(hashes())).toEqual(new Float64Array(1));
  expect(index.lookupTokens([]).seqHashes).toEqual(hashes());
  expect(new KvIndex().overlap(hashes(1))).toEqual(new Uint32Array(0));
});

test('strict calls throw with the result that they would have answered', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2));
  const before = index.snapshot();
  for (const call of [
    () => index.store(a, hashes(2, 1), { strict: true }),
    () => index.own('s', hashes(2), { strict: true }),
    () => index.remove(a, hashes(5), { strict: true }),
  ]) {
    expect(call).toThrow(RejectedError);
    expect(call).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_REJECTED' }));
  }
  expect(index.overlap(hashes(1, 2))).toEqual(Uint32Array.of(2));
  expect(index.snapshot().length).toBe(before.length);
  expect(index.remove(a, hashes(2), { strict: true }).applied).toBe(1);
});

test('prefix mode stops at the first gap, set mode skips it', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1, 2, 3));
  index.remove(a, hashes(2));
  expect([...index.overlap(hashes(1, 2, 3))]).toEqual([1]);
  expect([...index.overlap(hashes(1, 2, 3), { mode: 'set' })]).toEqual([2]);
});

test('exclusive overlap counts blocks by their owners, fair overlap shares them', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, range(1, 5));
  index.own('s', range(1, 4));
  index.own('t', range(1, 2));
  const query = range(1, 5);
  expect([...index.exclusiveOverlap('s', query)]).toEqual([2]);
  expect([...index.exclusiveOverlap('t', query)]).toEqual([0]);
  expect([...index.exclusiveOverlap('nobody', query, { maxOwners: 2 })]).toEqual([4]);
  expect([...index.fairOverlap(query)]).toEqual([FAIR_UNIT * 4]);
  index.endSession('t');
  expect([...index.exclusiveOverlap('s', query)]).toEqual([4]);
});

test('one call hashes a prompt and answers every overlap', () => {
  const namespace = { model: 'm' };
  const index = new KvIndex({ blockSize: 4, namespace });
  const a = index.addWorker('a');
  const tokens = tokensFrom(100, 19);
  const seq = new BlockHasher({ blockSize: 4, namespace }).seqHashes(tokens);
  index.store(a, seq.subarray(0, 3));
  index.own('s', seq.subarray(0, 2));

  const plain = index.lookupTokens(tokens);
  expect(plain.seqHashes).toEqual(seq);
  expect([...plain.overlap]).toEqual([3]);
  expect(plain.exclusive).toBeUndefined();
  expect(plain.fair).toBeUndefined();

  const full = index.lookupTokens([...tokens], { session: 's', fair: true });
  expect(full.exclusive).toEqual(index.exclusiveOverlap('s', seq));
  expect(full.fair).toEqual(index.fairOverlap(seq));
  expect([...index.lookupTokens(tokens, { namespace: {} }).overlap]).toEqual([0]);
  const extraKeys = new Map([[1, [7n]]]);
  expect([...index.lookupTokens(tokens, { extraKeys }).overlap]).toEqual([1]);
});

test('outputs given by the caller are filled and answered', () => {
  const index = new KvIndex();
  filled(index);
  const out = new Uint32Array(4).fill(9).subarray(1, 3);
  expect(index.overlap(hashes(1, 2, 3), { out })).toBe(out);
  expect([...out]).toEqual([3, 2]);
  expect(new Uint32Array(out.buffer)[3]).toBe(9);
  expect(index.exclusiveOverlap('s', hashes(1, 2, 3), { out })).toBe(out);
  expect([...out]).toEqual([1, 0]);
  const fair = new Float64Array(2).fill(9);
  expect(index.fairOverlap(hashes(9), { out: fair })).toBe(fair);
  expect([...fair]).toEqual([0, 0]);
});

test('subarrays are read at their offset', () => {
  const index = new KvIndex({ blockSize: 4 });
  const a = index.addWorker('a');
  const storage = hashes(99, 1, 2, 3, 99);
  index.store(a, storage.subarray(1, 4));
  expect([...index.overlap(storage.subarray(1, 3))]).toEqual([2]);
  expect(index.remove(a, storage.subarray(3, 5))).toMatchObject({ applied: 1, unknown: 1 });
  const tokens = tokensFrom(0, 20);
  expect(index.lookupTokens(tokens.subarray(4, 12)).seqHashes).toEqual(
    index.lookupTokens(tokensFrom(4, 8)).seqHashes,
  );
});

test('beyond maxSessions the least recently owning session ends', () => {
  const index = new KvIndex({ maxSessions: 2 });
  index.own('a', hashes(1));
  index.own('b', hashes(2));
  index.own('a', hashes(1));
  index.own('c', hashes(3));
  expect(index.stats().sessions).toBe(2);
  expect(index.contains(2)).toBe(false);
  expect(index.endSession('b')).toBe(0);
  expect(index.endSession('a')).toBe(1);
  expect(index.endSession('c')).toBe(1);
});

test('idle sessions end by name at the time given', () => {
  const index = new KvIndex({ sessionIdleMs: 100 });
  index.own('a', hashes(1), { nowMs: 1000 });
  index.own('b', hashes(2), { nowMs: 1050 });
  expect(index.endIdleSessions(1099)).toEqual([]);
  expect(index.endIdleSessions(1100)).toEqual(['a']);
  expect(index.endIdleSessions(1150)).toEqual(['b']);
  expect(index.stats().sessions).toBe(0);
  expect(index.own('a', hashes(1), { nowMs: 1200 }).applied).toBe(1);
});

test('a rejected own of a new session leaves no session behind', () => {
  const index = new KvIndex();
  index.own('s', hashes(1, 2));
  expect(index.own('t', hashes(2)).rejected).toBe(1);
  expect(index.stats().sessions).toBe(1);
  expect(index.endSession('t')).toBe(0);
});

test('enumerate, residentBlocks and stats tell the residency', () => {
  const index = new KvIndex();
  const { a, b } = filled(index);
  const idle = index.addWorker('idle');
  expect(index.enumerate(b)).toEqual(hashes(1, 2, 4, 70, 71));
  expect(index.residentBlocks(a)).toBe(3);
  expect(index.enumerate(idle)).toEqual(hashes());
  const stats = index.stats();
  expect(stats).toMatchObject({ blocks: 7, slots: 3, sessions: 2, orphans: 1 });
  const plain = {
    mode: 'plain',
    capacity: undefined,
    ttlMs: undefined,
    pinnedBlocks: 0,
    evictedByCapacity: 0,
    evictedByBound: 0,
    expired: 0,
    degraded: false,
  };
  expect(stats.workers).toEqual([
    { ...plain, worker: a, residentBlocks: 3, lastStoreMs: 10 },
    { ...plain, worker: b, residentBlocks: 5, lastStoreMs: 21 },
    { ...plain, worker: idle, residentBlocks: 0, lastStoreMs: undefined },
  ]);
  expect(byName(index, index.overlap(hashes(1, 2, 4)))).toEqual({ a: 2, b: 3, idle: 0 });
  expect(index.validate()).toBe('');
  expect(index.dump()).not.toBe('');
  index.compact();
  expect(index.overlap(hashes(1, 2, 4))[b.slot]).toBe(3);
});

test('a hash is a bigint of 64 bits, signed or not, or a safe integer', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(2n ** 64n - 1n, 0));
  expect(index.contains(-1n)).toBe(true);
  expect(index.contains(2n ** 64n - 1n)).toBe(true);
  expect(index.contains(-1)).toBe(true);
  expect(index.contains(0)).toBe(true);
  expect(index.contains(1)).toBe(false);
  expect(index.store(a, hashes(5), { parent: 0 }).orphaned).toBe(0);
});
