import { describe, expect, it } from 'vitest';
import { Handy, NOTHING } from './handy.js';

describe('maxBlocks of the reference index', () => {
  it('takes the block that was named longest ago from every slot and every owner', () => {
    const x = new Handy({ maxBlocks: 3 });
    const [a, b] = x.slots(2) as [number, number];
    const bounded = x.boundedSlot(9);
    for (const slot of [a, b, bounded]) x.store(slot, [1, 2]);
    const { session } = x.own(0, [1, 2]);
    expect(x.store(a, [10, 11])).toEqual({ ...NOTHING, applied: 2, evicted: 1 });
    expect([a, b, bounded].map((slot) => x.resident(slot))).toEqual([[1, 10, 11], [1], [1]]);
    expect([a, b, bounded].map((slot) => x.figures(slot).evictedByBound)).toEqual([1, 1, 1]);
    expect([a, b, bounded].map((slot) => x.figures(slot).degraded)).toEqual([1, 1, 0]);
    expect(x.index.stats()).toMatchObject({ blocks: 3, evictedByBound: 1, evictedByCapacity: 0 });
    expect(x.index.endSession(session)).toBe(1);
  });

  it('counts any call that names a block, but only where it is resident for a refresh', () => {
    const x = new Handy({ maxBlocks: 3 });
    const [a, b] = x.slots(2) as [number, number];
    x.store(a, [1]);
    x.store(a, [2]);
    x.store(b, [3]);
    x.own(0, [1]);
    x.refresh(b, [2, 3]);
    x.store(a, [4]);
    expect(x.index.contains(2n)).toBe(false);
    x.store(a, [5]);
    expect(x.index.contains(1n)).toBe(false);
    expect([x.resident(a), x.resident(b)]).toEqual([[4, 5], [3]]);
  });

  it('rejects what a call brings rather than what is pinned on any slot', () => {
    const x = new Handy({ maxBlocks: 3 });
    const [a, b] = x.slots(2) as [number, number];
    x.store(a, [1, 2]);
    x.pin(a, [1, 2]);
    expect(x.store(b, [1, 5, 6])).toEqual({ ...NOTHING, applied: 2, rejected: 1, firstBad: 2 });
    expect(x.resident(b)).toEqual([1, 5]);
    expect(x.figures(b)).toMatchObject({ evictedByBound: 0, degraded: 1 });
    expect(x.index.stats()).toMatchObject({ blocks: 3, evictedByBound: 0, rejected: 1 });
    expect(x.store(b, [7])).toEqual({ ...NOTHING, applied: 1, evicted: 1 });
    expect(x.figures(b).evictedByBound).toBe(1);
  });

  it('rejects what a session would newly own when everything else is pinned', () => {
    const x = new Handy({ maxBlocks: 2 });
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2]);
    x.pin(a, [1, 2]);
    const { session, ...told } = x.own(0, [1, 2, 3, 4]);
    expect(told).toEqual({ ...NOTHING, applied: 2, rejected: 2, firstBad: 2, ended: 0 });
    expect(x.index.endSession(session)).toBe(2);
    expect(x.own(0, [7])).toMatchObject({ session, applied: 0, rejected: 1, firstBad: 0 });
    expect(Array.from(x.index.sessionNumbers())).toEqual([session]);
    expect(x.index.endSession(session)).toBe(0);
  });

  it('takes a newly owned block from the slots that held it before', () => {
    const x = new Handy({ maxBlocks: 2, evictedHistory: 9 });
    const [a, b] = x.slots(2) as [number, number];
    x.store(b, [9]);
    x.pin(b, [9]);
    x.store(a, [2], 1);
    expect(x.own(0, [1, 2])).toMatchObject({ applied: 1, rejected: 1, firstBad: 1, evicted: 0 });
    expect(x.resident(a)).toEqual([]);
    expect(x.evictedBy(a, 2)).toBe('bound');
    expect(x.figures(a)).toMatchObject({ evictedByBound: 1, degraded: 1 });
    expect(x.index.stats()).toMatchObject({ rejected: 1, evictedByBound: 0 });
  });

  it('ends sessions beyond maxSessions first', () => {
    const x = new Handy({ maxBlocks: 2, maxSessions: 1 });
    x.own(0, [1, 2]);
    expect(x.own(0, [3, 4])).toMatchObject({ applied: 2, ended: 1, evicted: 0, rejected: 0 });
  });

  it('lets a session own blocks behind one that was taken', () => {
    const x = new Handy({ maxBlocks: 3 });
    const [a] = x.slots(1) as [number];
    const { session } = x.own(0, [1, 2, 3]);
    x.store(a, [2, 3], 1);
    x.store(a, [9]);
    expect(x.index.contains(1n)).toBe(false);
    x.clear(a);
    x.store(a, [1, 2, 3]);
    expect(x.exclusive(session, [1, 2, 3])).toEqual([2]);
    const y = new Handy({ maxBlocks: 3 });
    expect(y.index.restore(x.index.snapshot())).toBe('');
    expect(y.index.validate()).toBe('');
    expect(y.exclusive(session, [1, 2, 3])).toEqual([2]);
  });

  it('rejects once what the capacity has rejected and other slots lose too', () => {
    const x = new Handy({ maxBlocks: 2 });
    const [a] = x.slots(1) as [number];
    const bounded = x.boundedSlot(1);
    x.store(a, [2], 1);
    const told = { ...NOTHING, applied: 1, rejected: 2, firstBad: 1 };
    expect(x.store(bounded, [1, 2, 3])).toEqual(told);
    expect(x.store(a, [9])).toMatchObject({ applied: 1, evicted: 1 });
    expect([x.resident(a), x.resident(bounded)]).toEqual([[9], [1]]);

    const y = new Handy({ maxBlocks: 2 });
    const [b] = y.slots(1) as [number];
    const narrow = y.boundedSlot(2);
    y.store(b, [3], 2);
    expect(y.store(narrow, [1, 2, 3])).toEqual({
      ...NOTHING,
      applied: 2,
      rejected: 1,
      firstBad: 2,
      evicted: 1,
    });
    expect([y.resident(b), y.resident(narrow)]).toEqual([[], [1, 2]]);
    expect(y.figures(b)).toMatchObject({ evictedByBound: 1, degraded: 1 });
    expect(y.index.stats()).toMatchObject({ rejected: 1, evictedByBound: 1, evictedByCapacity: 0 });
  });

  it('marks a slot no longer degraded once it is cleared or reported in full', () => {
    const x = new Handy({ maxBlocks: 2 });
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2, 3]);
    expect(x.figures(a).degraded).toBe(1);
    x.clear(a);
    expect(x.figures(a).degraded).toBe(0);
    x.store(a, [1, 2, 3]);
    expect(x.replace(a, [[[1, 2]]])).toEqual(NOTHING);
    expect(x.figures(a).degraded).toBe(0);
    expect(x.replace(a, [[[1, 2, 3]]])).toEqual({ ...NOTHING, rejected: 1 });
    expect(x.figures(a).degraded).toBe(1);
  });

  it('has an emptied index use no more than a fresh one', () => {
    const x = new Handy({ maxBlocks: 5, evictedHistory: 5 });
    const [a] = x.slots(1) as [number];
    const bounded = x.boundedSlot(2);
    x.store(a, [1, 2, 3]);
    x.store(bounded, [1, 9, 10, 11]);
    x.pin(bounded, [1]);
    x.own(0, [1, 2, 30, 31]);
    expect(x.index.stats().usedBytes).toBeGreaterThan(0);
    x.index.removeSlot(a, 1);
    x.index.removeSlot(bounded, 1);
    x.index.endSession(1);
    expect(x.index.stats()).toMatchObject({ blocks: 0, runs: 0, usedBytes: 0 });
  });
});

describe('a snapshot restored under another maxBlocks', () => {
  it('keeps what was named last', () => {
    const x = new Handy({ maxBlocks: 9 });
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2, 3]);
    x.store(a, [10]);
    x.refresh(a, [1]);
    const y = new Handy({ maxBlocks: 2, evictedHistory: 9 });
    const [b] = y.slots(1) as [number];
    y.store(b, [50]);
    expect(y.index.restore(x.index.snapshot())).toBe('');
    expect(y.index.validate()).toBe('');
    expect(y.resident(a)).toEqual([1, 10]);
    expect(y.figures(a)).toMatchObject({ evictedByBound: 2, degraded: 1 });
    expect(y.index.stats()).toMatchObject({ blocks: 2, evictedByBound: 2 });
    expect([y.evictedBy(a, 2), y.evictedBy(a, 3), y.evictedBy(a, 50)]).toEqual(['bound', 'bound', 'none']);
  });

  it('without stamps goes by the order of its chains', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2, 3]);
    x.store(a, [10, 11]);
    const y = new Handy({ maxBlocks: 3 });
    expect(y.index.restore(x.index.snapshot())).toBe('');
    expect(y.resident(a)).toEqual([1, 2, 3]);
    y.store(a, [20]);
    expect(y.resident(a)).toEqual([1, 2, 20]);
  });
});
