import { describe, expect, it } from 'vitest';
import { STATUS } from '../../src/native/seam.js';
import { Handy, NOTHING, type Told } from './handy.js';

describe('a full report to the reference index', () => {
  it('makes the residency of the slot exactly what it names', () => {
    const x = new Handy();
    const [a, b] = x.slots(2) as [number, number];
    x.store(a, [1, 2, 3]);
    x.store(b, [1, 2, 3]);
    const session = x.own(0, [1, 2, 3]).session;
    expect(x.replace(a, [[[1, 9]], [[], 7], [[20], null]], 5)).toEqual({
      ...NOTHING,
      applied: 2,
      orphaned: 1,
    });
    expect(x.resident(a)).toEqual([1, 9, 20]);
    expect(x.resident(b)).toEqual([1, 2, 3]);
    expect(x.index.endSession(session)).toBe(3);
    expect(x.figures(a).lastStoreMs).toBe(5);
    expect(x.index.stats()).toMatchObject({ duplicates: 0, unknownRemoves: 0, rejected: 0 });
    expect(x.replace(a, [], 6)).toEqual(NOTHING);
    expect(x.resident(a)).toEqual([]);
    expect(x.figures(a).lastStoreMs).toBe(6);
    expect(x.index.contains(9n)).toBe(false);
  });

  it('keeps the predecessor of a block that stays', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2, 3]);
    expect(x.replace(a, [[[3], null], [[1, 2]]])).toEqual(NOTHING);
    expect(x.store(a, [3], 7)).toMatchObject({ rejected: 1 });
    expect(x.store(a, [3], 2)).toMatchObject({ duplicate: 1 });
  });

  it('leaves out a chain that contradicts what is known, and says which', () => {
    const x = new Handy();
    const [a, b] = x.slots(2) as [number, number];
    x.store(a, [1, 2, 3]);
    x.store(b, [1, 2]);
    const chains: Told[] = [[[], null], [[1, 2]], [[9, 3], null], [[8, 8]]];
    expect(x.replace(a, chains, 4)).toEqual({ ...NOTHING, rejected: 4, firstBad: 2 });
    expect(x.resident(a)).toEqual([1, 2]);
    expect(x.index.stats().rejected).toBe(4);
    expect(x.replace(a, [[[2]]], 8)).toEqual({ ...NOTHING, rejected: 1, firstBad: 0 });
    expect(x.resident(a)).toEqual([]);
    expect(x.figures(a).lastStoreMs).toBe(8);
  });

  it('may name a block in two chains', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    expect(x.replace(a, [[[1, 2, 3]], [[1, 2, 4]], [[3], 2]])).toEqual({ ...NOTHING, applied: 4 });
    expect(x.resident(a)).toEqual([1, 2, 3, 4]);
  });

  it('tells of orphans chain by chain, with what the slot held before', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2]);
    expect(
      x.replace(a, [
        [[3], 2],
        [[6, 7], 5],
      ]),
    ).toEqual({ ...NOTHING, applied: 3, orphaned: 2 });
    expect(x.index.stats().orphans).toBe(2);
  });

  it('counts one copy of each block', () => {
    const x = new Handy();
    const slot = x.countingSlot();
    x.store(slot, [1, 2]);
    x.store(slot, [1, 2]);
    expect(x.replace(slot, [[[1]], [[1, 3]]])).toEqual({ ...NOTHING, applied: 1 });
    expect(x.remove(slot, [1, 3])).toMatchObject({ applied: 2 });
    expect(x.resident(slot)).toEqual([]);
  });

  it('leaves the pins of blocks that stay', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [1, 2]);
    x.pin(a, [1, 1, 2]);
    x.replace(a, [[[1]]]);
    x.replace(a, [[[1, 2]]]);
    expect(x.figures(a).pinnedBlocks).toBe(1);
    expect(x.unpin(a, [1, 1, 2])).toEqual({ ...NOTHING, applied: 2, unknown: 1, firstBad: 2 });
  });

  it('stamps chain after chain, and keeps within the capacity', () => {
    const x = new Handy();
    const slot = x.boundedSlot(3, 10);
    x.store(slot, [1, 2]);
    const told = { ...NOTHING, applied: 1, rejected: 1, evicted: 1 };
    expect(x.replace(slot, [[[1, 2]], [[10, 11]]], 20)).toEqual({ ...told, applied: 2, rejected: 0 });
    expect(x.resident(slot)).toEqual([1, 10, 11]);
    expect(x.replace(slot, [[[20, 21]], [[1]], [[10]]], 25)).toEqual({ ...told, evicted: 0 });
    expect(x.resident(slot)).toEqual([1, 10, 20]);
    expect(x.index.expire(30)).toBe(0);
    expect(x.index.expire(35)).toBe(3);
  });

  it('is refused as a whole to a life of a slot that is over', () => {
    const x = new Handy();
    const [a] = x.slots(1) as [number];
    x.store(a, [1]);
    const none = [
      new BigUint64Array(0),
      new Uint32Array(0),
      new Uint8Array(0),
      new BigUint64Array(0),
    ] as const;
    expect(x.index.replace(a, 2, ...none, 9, x.result)).toBe(STATUS.unknownWorker);
    expect(x.resident(a)).toEqual([1]);
    expect(x.figures(a).lastStoreMs).toBe(0);
  });
});
