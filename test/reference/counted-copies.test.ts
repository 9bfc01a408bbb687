import { describe, expect, it } from 'vitest';
import { Handy, NOTHING } from './handy.js';

describe('a slot that counts references', () => {
  it('holds a block until its last copy is removed', () => {
    const x = new Handy();
    const slot = x.countingSlot();
    expect(x.store(slot, [1, 2])).toMatchObject({ applied: 2, duplicate: 0 });
    expect(x.store(slot, [1, 2])).toMatchObject({ applied: 0, duplicate: 2 });
    expect(x.index.stats().duplicates).toBe(2);
    expect(x.remove(slot, [1])).toEqual({ ...NOTHING, applied: 1 });
    expect(x.overlap([1, 2])).toEqual([2]);
    expect(x.remove(slot, [1])).toEqual({ ...NOTHING, applied: 1 });
    expect(x.resident(slot)).toEqual([2]);
    expect(x.remove(slot, [1])).toEqual({ ...NOTHING, unknown: 1, firstBad: 0 });
  });

  it('loses a copy for each time that one call names a block', () => {
    const x = new Handy();
    const slot = x.countingSlot();
    x.store(slot, [1]);
    x.store(slot, [1]);
    expect(x.remove(slot, [1, 1, 1])).toEqual({ ...NOTHING, applied: 2, unknown: 1, firstBad: 2 });
    expect(x.index.stats()).toMatchObject({ blocks: 0, usedBytes: 0 });
    x.store(slot, [1]);
    expect(x.remove(slot, [1])).toMatchObject({ applied: 1 });
    expect(x.resident(slot)).toEqual([]);
  });
});
