import { describe, expect, it } from 'vitest';
import { MODE, STATUS } from '../../src/native/seam.js';
import { Handy, hashes, NOTHING } from './handy.js';

describe('the reference index', () => {
  it('counts stores, duplicates and removals', () => {
    const x = new Handy();
    const [a, b] = x.slots(2) as [number, number];
    expect(x.store(a, [1, 2, 3], undefined, 7)).toEqual({ ...NOTHING, applied: 3 });
    expect(x.store(a, [2, 3, 4], 1)).toEqual({ ...NOTHING, applied: 1, duplicate: 2 });
    expect(x.store(b, [1, 2])).toEqual({ ...NOTHING, applied: 2 });
    expect(x.overlap([1, 2, 3, 4])).toEqual([4, 2]);
    expect(x.remove(a, [2, 9, 2])).toEqual({ ...NOTHING, applied: 1, unknown: 2, firstBad: 1 });
    expect(x.overlap([1, 2, 3, 4])).toEqual([1, 2]);
    expect(x.overlap([1, 2, 3, 4, 4], MODE.set)).toEqual([4, 2]);
    expect(x.store(a, [2], 1)).toEqual({ ...NOTHING, applied: 1 });
    expect(x.overlap([1, 2, 3, 4])).toEqual([4, 2]);
    expect(x.index.stats()).toMatchObject({ blocks: 4, duplicates: 2, unknownRemoves: 2, orphans: 0 });
    expect(Array.from(x.index.enumerate(a, true))).toEqual([1n, 2n, 3n, 4n]);
  });

  it('rejects a contradicting call as a whole and names the first bad block', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2, 3], undefined, 5);
    expect(x.store(a, [4, 3], 2, 6)).toEqual({ ...NOTHING, rejected: 2, firstBad: 1 });
    expect(x.store(a, [2], undefined, 6)).toEqual({ ...NOTHING, rejected: 1, firstBad: 0 });
    expect(x.store(a, [7, 8, 7], undefined, 6)).toEqual({ ...NOTHING, rejected: 3, firstBad: 2 });
    expect(x.store(a, [7, 8], 8, 6)).toEqual({ ...NOTHING, rejected: 2, firstBad: 0 });
    x.store(a, [20, 21], null, 5);
    expect(x.store(a, [20], 21, 6)).toEqual({ ...NOTHING, rejected: 1, firstBad: 0 });
    expect(x.figures(a).lastStoreMs).toBe(5);
    expect(x.index.stats().rejected).toBe(9);
    expect(x.index.contains(7n)).toBe(false);
  });

  it('sees a cycle that runs through a block known only as a predecessor', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [5], 4);
    expect(x.store(a, [3, 4], 5)).toEqual({ ...NOTHING, rejected: 2, firstBad: 0 });
    expect(x.store(a, [3, 4], 2)).toEqual({ ...NOTHING, applied: 2, orphaned: 2 });
  });

  it('keeps orphans until their path to the root is told', () => {
    const x = new Handy();
    const [a, b] = x.slots(2) as [number, number];
    expect(x.store(a, [3, 4], 2)).toMatchObject({ applied: 2, orphaned: 2 });
    expect(x.store(a, [9], null)).toMatchObject({ applied: 1, orphaned: 1 });
    expect(x.index.stats().orphans).toBe(2);
    expect(x.store(b, [1, 2])).toMatchObject({ applied: 2, orphaned: 0 });
    expect(x.index.stats().orphans).toBe(1);
    expect(x.store(b, [3], null)).toMatchObject({ applied: 1, orphaned: 0 });
    expect(x.store(a, [9])).toMatchObject({ duplicate: 1, orphaned: 0 });
    expect(x.index.stats().orphans).toBe(0);
  });

  it('forgets the predecessor of a block that nobody knows any more', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2]);
    x.remove(a, [2]);
    expect(x.store(a, [2], 7)).toMatchObject({ applied: 1, orphaned: 1 });
    expect(x.index.clear(a, x.index.incarnation(a))).toBe(2);
    expect(x.index.stats()).toMatchObject({ blocks: 0, runs: 0, usedBytes: 0 });
  });

  it('refuses a life of a slot that is over', () => {
    const x = new Handy();
    const [a, b, c] = x.slots(3) as [number, number, number];
    x.store(b, [1]);
    expect(x.index.removeSlot(b, 1)).toBe(true);
    expect(x.index.removeSlot(b, 1)).toBe(false);
    expect(x.index.slotCount()).toBe(3);
    expect(x.index.addSlot()).toBe(b);
    expect(x.index.incarnation(b)).toBe(2);
    expect(x.index.store(b, 1, hashes([1]), undefined, 0, x.result)).toBe(STATUS.unknownWorker);
    expect(x.index.clear(b, 1)).toBe(-1);
    expect(x.overlap([1])).toEqual([0, 0, 0]);
    x.index.removeSlot(c, 1);
    x.index.removeSlot(b, 2);
    expect(x.index.slotCount()).toBe(1);
    expect(Array.from(x.index.slotNumbers())).toEqual([a]);
    expect(x.index.addSlot()).toBe(b);
    expect(x.index.incarnation(b)).toBe(3);
  });

  it('counts exclusive and fair overlap from exact ownership', () => {
    const x = new Handy();
    const [a, b] = x.slots(2) as [number, number];
    x.store(a, [1, 2, 3, 4]);
    x.store(b, [1, 2, 3]);
    expect(x.own(0, [1, 2, 3, 4])).toMatchObject({ session: 1, applied: 4 });
    expect(x.own(0, [1, 2])).toMatchObject({ session: 2, applied: 2 });
    expect(x.own(2, [1, 2, 9])).toMatchObject({ session: 2, applied: 1, duplicate: 2 });
    expect(x.exclusive(1, [1, 2, 3, 4])).toEqual([2, 1]);
    expect(x.exclusive(2, [1, 2, 3, 4])).toEqual([0, 0]);
    expect(x.exclusive(2, [1, 2, 3, 4], 2)).toEqual([4, 3]);
    expect(x.exclusive(0, [5, 3, 4], 1, MODE.set)).toEqual([0, 0]);
    expect(x.exclusive(1, [5, 3, 4], 1, MODE.set)).toEqual([2, 1]);
    expect(x.fair([1, 2, 3])).toEqual([2 ** 21, 2 ** 21]);
    expect(x.index.endSession(1)).toBe(4);
    expect(x.exclusive(2, [1, 2, 3, 4])).toEqual([2, 2]);
    expect(x.index.endSession(1)).toBe(0);
    expect(x.own(0, [1, 3])).toMatchObject({ session: 0, rejected: 2, firstBad: 1 });
    expect(x.own(0, [1])).toMatchObject({ session: 1 });
  });

  it('ends the least recently owning session beyond maxSessions, and idle ones', () => {
    const x = new Handy({ maxSessions: 2 });
    x.own(0, [1], 10);
    x.own(0, [2], 20);
    x.own(1, [1], 30);
    expect(x.own(0, [3], 40)).toMatchObject({ session: 3, ended: 2 });
    expect(Array.from(x.index.sessionNumbers())).toEqual([1, 3]);
    expect(x.own(0, [4], 50)).toMatchObject({ session: 2, ended: 1 });
    expect(Array.from(x.index.endIdleSessions(40))).toEqual([3]);
    expect(Array.from(x.index.endIdleSessions(50))).toEqual([2]);
    expect(x.index.stats()).toMatchObject({ blocks: 0, sessions: 0, usedBytes: 0, ownershipBytes: 0 });
  });

  it('restores a snapshot with every handle of before stale', () => {
    const x = new Handy();
    const [a, b, c] = x.slots(3) as [number, number, number];
    x.store(a, [1, 2, 3, 4], undefined, 7);
    x.remove(a, [2]);
    x.store(c, [3, 8], 2, 9);
    x.store(c, [30], null);
    x.own(0, [1, 2, 5]);
    x.own(0, [1]);
    x.index.removeSlot(b, 1);
    const bytes = x.index.snapshot();
    const y = new Handy();
    y.slots(1);
    expect(y.index.restore(bytes)).toBe('');
    expect(y.index.validate()).toBe('');
    expect(y.index.dump().split('\n').sort()).toEqual(x.index.dump().split('\n').sort());
    expect(y.index.stats()).toEqual(x.index.stats());
    expect([y.index.incarnation(a), y.index.incarnation(c), y.figures(a).lastStoreMs]).toEqual([2, 2, 7]);
    expect(y.index.addSlot()).toBe(b);
    expect(y.index.incarnation(b)).toBe(3);
  });

  it('names the section in which a snapshot is damaged and keeps its state', () => {
    const x = new Handy();
    const [a] = x.slots(2) as [number, number];
    x.store(a, [1, 2, 3]);
    x.own(0, [1, 2]);
    const bytes = x.index.snapshot();
    const seen = new Set<string>();
    for (let i = 0; i < bytes.length; i++) {
      const damaged = bytes.slice();
      damaged[i]! ^= 0x10;
      const section = x.index.restore(damaged);
      expect(['header', 'slots', 'sessions', 'chains', 'counters', 'end']).toContain(section);
      seen.add(section);
      expect(x.index.restore(bytes.subarray(0, i))).not.toBe('');
    }
    expect(x.index.restore(Uint8Array.of(...bytes, 0))).toBe('end');
    expect(seen.size).toBe(6);
    expect(x.overlap([1, 2, 3])).toEqual([3, 0]);
    expect(x.index.incarnation(a)).toBe(1);
  });
});
