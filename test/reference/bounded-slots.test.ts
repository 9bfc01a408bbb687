import { describe, expect, it } from 'vitest';
import { STATUS } from '../../src/native/seam.js';
import { Handy, hashes, NOTHING } from './handy.js';

describe('a bounded slot of the reference index', () => {
  it('keeps the head of a chain that is longer than its capacity', () => {
    const x = new Handy();
    const slot = x.boundedSlot(3);
    const told = { ...NOTHING, applied: 3, rejected: 2, firstBad: 3 };
    expect(x.store(slot, [1, 2, 3, 4, 5])).toEqual(told);
    expect(x.resident(slot)).toEqual([1, 2, 3]);
    expect(x.index.stats()).toMatchObject({ blocks: 3, rejected: 2, evictedByCapacity: 0 });
    expect(x.store(slot, [1, 2, 3, 4])).toEqual({ ...NOTHING, duplicate: 3, rejected: 1, firstBad: 3 });
  });

  it('evicts what was named longest ago first, of one call the later position first', () => {
    const x = new Handy();
    const slot = x.boundedSlot(5);
    x.store(slot, [1, 2, 3]);
    x.store(slot, [10, 11]);
    expect(x.store(slot, [20])).toEqual({ ...NOTHING, applied: 1, evicted: 1 });
    expect(x.resident(slot)).toEqual([1, 2, 10, 11, 20]);
    expect(x.store(slot, [30, 31, 32])).toEqual({ ...NOTHING, applied: 3, evicted: 3 });
    expect(x.resident(slot)).toEqual([10, 20, 30, 31, 32]);
    expect(x.figures(slot)).toMatchObject({ residentBlocks: 5, evictedByCapacity: 4, evictedByBound: 0 });
    expect(x.index.stats()).toMatchObject({ blocks: 5, evictedByCapacity: 4, rejected: 0 });
  });

  it('leaves other slots their copies', () => {
    const x = new Handy();
    const slot = x.boundedSlot(1);
    const [plain] = x.slots(1) as [number];
    x.store(plain, [1, 2]);
    x.store(slot, [1]);
    x.store(slot, [9]);
    expect(x.resident(slot)).toEqual([9]);
    expect(x.overlap([1, 2])).toEqual([0, 2]);
    expect(x.figures(plain).degraded).toBe(0);
  });

  it('keeps longest what was refreshed last, where a hash counts at its first place', () => {
    const x = new Handy();
    const slot = x.boundedSlot(4);
    x.store(slot, [1, 2]);
    x.store(slot, [10, 11]);
    const told = { ...NOTHING, applied: 3, unknown: 1, firstBad: 2 };
    expect(x.refresh(slot, [2, 1, 99, 2], 7)).toEqual(told);
    x.store(slot, [20, 21]);
    expect(x.resident(slot)).toEqual([1, 2, 20, 21]);
    x.store(slot, [30]);
    expect(x.resident(slot)).toEqual([2, 20, 21, 30]);
    expect(x.figures(slot).lastStoreMs).toBe(0);
    expect(x.index.stats()).toMatchObject({ duplicates: 0, unknownRemoves: 0, rejected: 0 });
    expect(x.refresh(slot, [])).toEqual(NOTHING);
  });

  it('takes chains from the root alone', () => {
    const x = new Handy();
    const slot = x.boundedSlot(4);
    x.store(slot, [1]);
    for (const parent of [1n, null]) {
      for (const seq of [[2], []]) {
        const status = x.index.store(slot, 1, hashes(seq), parent, 9, x.result);
        expect(status).toBe(STATUS.parentOnBounded);
      }
    }
    expect(x.index.store(slot, 7, hashes([2]), 1n, 9, x.result)).toBe(STATUS.unknownWorker);
    expect(x.replaceStatus(slot, [[[1]], [[2], 1]])).toBe('parentOnBounded');
    expect(x.replaceStatus(slot, [[[1]], [[], 1]])).toBe('ok');
    expect(x.resident(slot)).toEqual([1]);
    expect(x.index.stats().rejected).toBe(0);
  });

  it('neither evicts nor expires a pinned block', () => {
    const x = new Handy();
    const slot = x.boundedSlot(3, 10);
    x.store(slot, [1, 2, 3]);
    expect(x.pin(slot, [3, 9, 3])).toEqual({ ...NOTHING, applied: 2, unknown: 1, firstBad: 1 });
    expect(x.figures(slot).pinnedBlocks).toBe(1);
    x.store(slot, [10, 11], undefined, 1);
    expect(x.resident(slot)).toEqual([3, 10, 11]);
    expect(x.index.expire(100)).toBe(2);
    expect(x.resident(slot)).toEqual([3]);
    expect(x.unpin(slot, [3, 3, 3])).toEqual({ ...NOTHING, applied: 2, unknown: 1, firstBad: 2 });
    expect(x.index.expire(100)).toBe(1);
  });

  it('rejects what is new when everything else is pinned, from its end', () => {
    const x = new Handy();
    const slot = x.boundedSlot(3);
    x.store(slot, [1, 2]);
    x.pin(slot, [1, 2]);
    const told = { ...NOTHING, applied: 1, duplicate: 1, rejected: 2, firstBad: 2 };
    expect(x.store(slot, [1, 10, 11, 12])).toEqual(told);
    expect(x.resident(slot)).toEqual([1, 2, 10]);
    x.pin(slot, [10]);
    expect(x.store(slot, [20, 21])).toEqual({ ...NOTHING, rejected: 2, firstBad: 0 });
    expect(x.index.contains(20n)).toBe(false);
    expect(x.index.stats()).toMatchObject({ rejected: 4, evictedByCapacity: 0 });
  });

  it('loses the pins of blocks that leave it', () => {
    const x = new Handy();
    const slot = x.boundedSlot(9);
    x.store(slot, [1, 2, 3]);
    x.pin(slot, [1, 2, 3, 3]);
    x.remove(slot, [3]);
    x.store(slot, [1, 2, 3]);
    expect(x.figures(slot).pinnedBlocks).toBe(2);
    expect(x.clear(slot)).toBe(3);
    x.store(slot, [1, 2]);
    expect(x.unpin(slot, [1, 2])).toEqual({ ...NOTHING, unknown: 2, firstBad: 0 });
  });

  it('evicts at once when its capacity is lowered, but not below its pins', () => {
    const x = new Handy();
    const slot = x.boundedSlot(9, 50);
    x.store(slot, [1, 2, 3, 4, 5]);
    x.pin(slot, [4, 5]);
    expect(x.setCapacity(slot, 1)).toEqual({ status: 'pinned', evicted: 0 });
    expect(x.figures(slot)).toMatchObject({ capacity: 9, ttlMs: 50, residentBlocks: 5 });
    expect(x.setCapacity(slot, 3, 7)).toEqual({ status: 'ok', evicted: 2 });
    expect(x.resident(slot)).toEqual([1, 4, 5]);
    expect(x.figures(slot)).toMatchObject({ capacity: 3, ttlMs: 7, evictedByCapacity: 2 });
    expect(x.setCapacity(slot, 2)).toEqual({ status: 'ok', evicted: 1 });
    expect(x.resident(slot)).toEqual([4, 5]);
  });

  it('becomes one only while it is empty and counts no references', () => {
    const x = new Handy();
    const [slot] = x.slots(1) as [number];
    x.store(slot, [1]);
    expect(x.setCapacity(slot, 5).status).toBe('notEmpty');
    expect(x.countReferences(slot)).toBe('notEmpty');
    x.clear(slot);
    expect(x.setCapacity(slot, 5).status).toBe('ok');
    expect(x.countReferences(slot)).toBe('otherMode');
    const counting = x.countingSlot();
    expect(x.countReferences(counting)).toBe('ok');
    expect(x.setCapacity(counting, 5).status).toBe('otherMode');
    expect(x.index.setCapacity(slot, 9, 5, 0, x.result)).toBe(STATUS.unknownWorker);
    expect(x.index.countReferences(slot, 9)).toBe(STATUS.unknownWorker);
  });

  it('stays bounded when it is cleared, and counts anew in a new life', () => {
    const x = new Handy();
    const slot = x.boundedSlot(1);
    x.store(slot, [1]);
    x.store(slot, [2]);
    x.clear(slot);
    expect(x.figures(slot)).toMatchObject({ mode: 1, capacity: 1, evictedByCapacity: 1 });
    x.index.removeSlot(slot, 1);
    expect(x.index.addSlot()).toBe(slot);
    expect(x.figures(slot)).toMatchObject({ mode: 0, capacity: 0, lastStoreMs: -1, evictedByCapacity: 0 });
    expect(x.index.stats().evictedByCapacity).toBe(1);
  });
});

describe('the ttl of a bounded slot', () => {
  it('ends exactly ttlMs after a block was last named', () => {
    const x = new Handy();
    const slot = x.boundedSlot(9, 10);
    const other = x.boundedSlot(9);
    x.store(slot, [1, 2, 3], undefined, 100);
    x.store(other, [1, 2, 3], undefined, 100);
    x.refresh(slot, [1], 105);
    expect(x.index.expire(109)).toBe(0);
    expect(x.overlap([1, 2, 3])).toEqual([3, 3]);
    expect(x.index.expire(110)).toBe(2);
    expect(x.resident(slot)).toEqual([1]);
    expect(x.index.expire(115)).toBe(1);
    expect(x.overlap([1, 2, 3])).toEqual([0, 3]);
    expect(x.figures(slot)).toMatchObject({ expired: 3, evictedByCapacity: 0 });
    expect(x.index.stats()).toMatchObject({ expired: 3, evictedByCapacity: 0, evictedByBound: 0 });
  });

  it('takes the time of the last naming also when the clock has gone back', () => {
    const x = new Handy();
    const slot = x.boundedSlot(9, 10);
    x.store(slot, [1], undefined, 100);
    x.store(slot, [2], undefined, 50);
    x.refresh(slot, [1], 60);
    expect(x.index.expire(60)).toBe(1);
    expect(x.resident(slot)).toEqual([1]);
    expect(x.index.expire(70)).toBe(1);
  });
});
