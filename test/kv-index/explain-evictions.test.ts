import { describe, expect, test } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { hashes, range, tokensFrom } from './support.js';

const HISTORY = { evictedHistory: 100 };

describe('a first block that was evicted', () => {
  test('by the capacity of its worker', () => {
    const index = new KvIndex(HISTORY);
    const a = index.addWorker('a', { capacity: 2 });
    index.addWorker('b');
    index.store(a, hashes(1, 2));
    index.store(a, hashes(5, 6));
    const answer = index.explain({ seqHashes: hashes(1, 2) });
    expect(answer).toMatchObject({
      reason: 'evicted',
      workers: [
        { reason: 'evicted', overlapBlocks: 0, evictedAt: 0, evictedBy: 'capacity' },
        { reason: 'no-stores-yet', evictedAt: undefined, evictedBy: undefined },
      ],
    });
    expect(answer.message).toBe(
      'On "a" the first block of the query was resident until evicted by capacity.',
    );
  });

  test('by maxBlocks, from all its workers', () => {
    const index = new KvIndex({ ...HISTORY, maxBlocks: 2 });
    const workers = ['a', 'b', 'c', 'd', 'e'].map((name) => index.addWorker(name));
    for (const worker of workers) index.store(worker, hashes(1));
    index.store(workers[4]!, hashes(5, 6));
    const answer = index.explain({ seqHashes: hashes(1) });
    expect(answer.reason).toBe('evicted');
    expect(answer.message).toMatch(
      /^On "a", "b", "c" and 2 more the first block of the query was resident until evicted by maxBlocks\. /,
    );
    expect(answer.workers.map(({ evictedBy, degraded }) => [evictedBy, degraded])).toEqual(
      workers.map(() => ['maxBlocks', true]),
    );
  });

  test('by the ttl of its worker', () => {
    const index = new KvIndex(HISTORY);
    const a = index.addWorker('a', { capacity: 5, ttlMs: 10 });
    index.store(a, hashes(1), { nowMs: 100 });
    index.expire(200);
    const answer = index.explain({ seqHashes: hashes(1) });
    expect(answer).toMatchObject({ reason: 'evicted', workers: [{ reason: 'evicted', evictedBy: 'ttl' }] });
    expect(answer.message).toContain('was resident until evicted by its ttl.');
  });

  test('and came back, or was never there', () => {
    const index = new KvIndex(HISTORY);
    const a = index.addWorker('a', { capacity: 2 });
    for (const block of [1, 5, 6]) index.store(a, hashes(block));
    index.store(a, hashes(1));
    expect(index.explain({ seqHashes: hashes(1) })).toMatchObject({
      reason: 'hit',
      workers: [{ reason: 'hit', evictedAt: undefined }],
    });
    index.remove(a, hashes(1));
    expect(index.explain({ seqHashes: hashes(1) }).reason).toBe('first-block-unknown');
    expect(index.explain({ seqHashes: hashes(9) }).reason).toBe('first-block-unknown');
  });

  test('from one worker while another holds it', () => {
    const index = new KvIndex(HISTORY);
    const a = index.addWorker('a', { capacity: 1 });
    const b = index.addWorker('b');
    index.store(b, hashes(1));
    for (const block of [1, 5]) index.store(a, hashes(block));
    expect(index.explain({ seqHashes: hashes(1) })).toMatchObject({
      reason: 'hit',
      workers: [
        { reason: 'evicted', evictedAt: 0, evictedBy: 'capacity' },
        { reason: 'hit', evictedAt: undefined },
      ],
    });
  });
});

test('a partial hit tells whether it ends where a block was evicted', () => {
  const index = new KvIndex(HISTORY);
  const a = index.addWorker('a', { capacity: 4 });
  index.store(a, range(1, 4));
  index.store(a, range(50, 2));
  const answer = index.explain({ seqHashes: range(1, 4) });
  expect(answer).toMatchObject({
    reason: 'hit',
    workers: [{ reason: 'hit', overlapBlocks: 2, evictedAt: 2, evictedBy: 'capacity' }],
  });
  expect(answer.message).toBe(
    '1 of 1 workers hold the first block; "a" holds 2 of 4 blocks; the next one was resident until evicted by capacity.',
  );
});

test('a whole hit, and an empty query, end nowhere', () => {
  const index = new KvIndex(HISTORY);
  index.store(index.addWorker('a', { capacity: 4 }), range(1, 4));
  expect(index.explain({ seqHashes: range(1, 4) }).workers).toMatchObject([{ evictedAt: undefined }]);
  expect(index.explain({ seqHashes: hashes() }).workers).toMatchObject([{ evictedAt: undefined }]);
});

test('only the latest evictions are remembered', () => {
  const index = new KvIndex({ evictedHistory: 2 });
  const a = index.addWorker('a', { capacity: 1 });
  for (const block of [1, 2, 3, 4]) index.store(a, hashes(block));
  const reasons = [1, 2, 3].map((block) => index.explain({ seqHashes: hashes(block) }).workers[0]?.reason);
  expect(reasons).toEqual(['first-block-unknown', 'evicted', 'evicted']);
});

test('without a history, an unknown block points to it where blocks were evicted', () => {
  const index = new KvIndex();
  const a = index.addWorker('a', { capacity: 2 });
  index.store(a, hashes(1));
  const message = (seqHashes: BigUint64Array) => index.explain({ seqHashes }).message;
  expect(message(hashes(9))).not.toContain('evicted');
  index.store(a, hashes(5, 6));
  const answer = index.explain({ seqHashes: hashes(1) });
  expect(answer).toMatchObject({ reason: 'first-block-unknown', workers: [{ evictedBy: undefined }] });
  expect(answer.message).toMatch(
    / Or it was evicted, as 1 block so far: the option evictedHistory would tell\.$/,
  );
  expect(message(hashes(5))).not.toContain('evictedHistory');
  index.clear(a);
  expect(message(hashes(1))).toMatch(/no blocks any more.*evictedHistory/);
  const remembering = new KvIndex(HISTORY);
  remembering.restore(index.snapshot());
  expect(remembering.explain({ seqHashes: hashes(1) }).message).not.toContain('evictedHistory');
});

test('degraded workers are named, whatever the answer', () => {
  const index = new KvIndex({ blockSize: 16, maxBlocks: 3 });
  const a = index.addWorker('a');
  index.store(a, range(1, 5));
  const note =
    'Degraded: maxBlocks took blocks from "a" or refused some there, which may hold more than is known here.';
  for (const query of [{ seqHashes: range(1, 5) }, { tokens: tokensFrom(1, 99) }]) {
    const answer = index.explain(query);
    expect(answer.workers).toMatchObject([{ degraded: true }]);
    expect(answer.message.endsWith(note)).toBe(true);
  }
  index.replace(a, [{ seq: range(1, 3) }]);
  expect(index.explain({ seqHashes: range(1, 5) })).toMatchObject({ workers: [{ degraded: false }] });
  expect(index.explain({ seqHashes: range(1, 5) }).message).not.toContain('Degraded');
});
