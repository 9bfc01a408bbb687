import { describe, expect, it } from 'vitest';
import {
  type CoreIndex,
  type CoreIndexOptions,
  RESULT_LENGTH,
  SLOT_FIGURES_LENGTH,
} from '../../src/native/seam.js';
import { reference, tested } from './backends.js';
import { encode, possible, possibleWithKnownStamps } from './crafted-content.js';
import { IMPOSSIBLE_BOUNDS } from './impossible-bounds.js';
import { IMPOSSIBLE } from './impossible-content.js';

const UNBOUNDED: CoreIndexOptions = { maxSessions: 0, maxBlocks: 0, evictedHistory: 0 };

describe.each([
  ['reference', reference],
  [`tested (${tested.name})`, tested],
] as const)('restore of a crafted snapshot, %s backend', (_, seam) => {
  const restored = (content = possible(), options = UNBOUNDED) => {
    const index = seam.createIndex(options);
    expect(index.restore(encode(content))).toBe('');
    expect(index.validate()).toBe('');
    return index;
  };

  it.each([
    ['without known stamps', possible()],
    ['with known stamps', possibleWithKnownStamps()],
  ])('takes a possible one %s', (_what, content) => {
    const index = restored(content);
    expect([0, 1, 2, 3, 4].map((slot) => index.incarnation(slot))).toEqual([2, 0, 5, 3, 2]);
    expect(index.stats()).toMatchObject({ blocks: 6, slots: 4, sessions: 1, orphans: 1 });
    expect(index.stats()).toMatchObject({ duplicates: 1, unknownRemoves: 2, rejected: 3 });
    expect(index.stats()).toMatchObject({ evictedByCapacity: 4, evictedByBound: 5, expired: 6 });
    expect(figures(index, 0)).toEqual([0, 0, 0, 3, 5, 0, 0, 0, 0, 0]);
    expect(figures(index, 3)).toEqual([1, 4, 50, 3, 6.5, 0, 7, 8, 9, 0]);
    expect(figures(index, 4)).toEqual([2, 0, 0, 3, 3, 0, 0, 0, 0, 1]);
    expect(Array.from(index.enumerate(2, true))).toEqual([10n, 11n, 12n, 20n, 21n]);
    const out = new Uint32Array(5);
    index.exclusiveOverlap(5, BigUint64Array.of(10n, 11n, 20n, 21n), 0, 1, out);
    expect(Array.from(out)).toEqual([1, 0, 3, 3, 2]);
    index.close();
  });

  it('evicts and expires by the stamps and times of the file', () => {
    const index = restored();
    const evict = (capacity: number) =>
      index.setCapacity(3, 3, capacity, 50, new Float64Array(RESULT_LENGTH));
    expect(evict(2)).toBe(0);
    expect(Array.from(index.enumerate(3, true))).toEqual([10n, 11n]);
    expect(evict(1)).toBe(0);
    expect(Array.from(index.enumerate(3, true))).toEqual([10n]);
    expect(index.expire(56)).toBe(0);
    expect(index.expire(56.5)).toBe(1);
    index.close();
  });

  it('takes away copies as the file counts them', () => {
    const index = restored();
    const remove = (...seq: bigint[]) => {
      const result = new Float64Array(RESULT_LENGTH);
      index.remove(4, 2, BigUint64Array.from(seq), result);
      return [result[0], result[2]];
    };
    expect(remove(10n, 10n)).toEqual([1, 1]);
    expect(remove(11n, 11n, 11n, 11n, 12n, 12n)).toEqual([5, 1]);
    expect(Array.from(index.enumerate(4, true))).toEqual([12n]);
    index.close();
  });

  it.each([
    ['with', 5, [10n, 11n, 12n, 20n, 21n]],
    ['with', 4, [10n, 11n, 12n, 21n]],
    ['with', 2, [10n, 21n]],
    ['with', 1, [21n]],
    // Without stamps the last chain counts as the oldest, and the end of a chain as older than its head.
    ['without', 5, [10n, 11n, 12n, 20n, 21n]],
    ['without', 4, [10n, 11n, 12n, 20n]],
    ['without', 2, [10n, 11n]],
  ] as const)('%s known stamps it keeps within maxBlocks %i', (stamps, maxBlocks, stay) => {
    const content = stamps === 'with' ? possibleWithKnownStamps() : possible();
    const index = restored(content, { ...UNBOUNDED, maxBlocks, evictedHistory: 100 });
    expect([10n, 11n, 12n, 20n, 21n, 30n].filter((hash) => index.contains(hash))).toEqual(stay);
    expect(index.stats()).toMatchObject({ blocks: maxBlocks, evictedByBound: 5 + 6 - maxBlocks });
    expect(index.evictedBy(0, 30n)).toBe(2);
    expect(figures(index, 0).slice(-3)).toEqual([3 - index.enumerate(0, true).length, 0, 1]);
    index.close();
  });

  it('lets a session own blocks without those before', () => {
    const content = possible();
    content.chains[0]!.owners[0]![1] = 1;
    const index = restored(content);
    const again = seam.createIndex(UNBOUNDED);
    expect(again.restore(index.snapshot())).toBe('');
    const out = new Uint32Array(5);
    again.exclusiveOverlap(5, BigUint64Array.of(10n, 11n, 20n, 21n), 0, 1, out);
    expect(Array.from(out)).toEqual([1, 0, 2, 2, 1]);
    index.close();
    again.close();
  });

  it('keeps the time of each stamp, also of stamps that follow each other', () => {
    const index = seam.createIndex(UNBOUNDED);
    const result = new Float64Array(RESULT_LENGTH);
    index.setCapacity(index.addSlot(), 1, 10, 10, result);
    index.store(0, 1, BigUint64Array.of(1n, 2n, 3n), undefined, 0, result);
    index.refresh(0, 1, BigUint64Array.of(2n, 3n), 5, result);
    index.refresh(0, 1, BigUint64Array.of(1n), 100, result);
    const again = seam.createIndex(UNBOUNDED);
    expect(again.restore(index.snapshot())).toBe('');
    expect(again.expire(14)).toBe(0);
    expect(again.expire(15)).toBe(2);
    expect(Array.from(again.enumerate(0, true))).toEqual([1n]);
    index.close();
    again.close();
  });

  it('gives the free sessions of the file next, the smallest first', () => {
    const index = seam.createIndex(UNBOUNDED);
    index.own(0, BigUint64Array.of(1n), 0, new Float64Array(RESULT_LENGTH));
    expect(index.restore(encode(possible()))).toBe('');
    const own = (hash: bigint) => index.own(0, BigUint64Array.of(hash), 8, new Float64Array(RESULT_LENGTH));
    expect([100n, 101n, 102n].map(own)).toEqual([1, 2, 3]);
    index.endSession(2);
    expect([103n, 104n, 105n, 106n].map(own)).toEqual([2, 4, 6, 7]);
    expect(index.validate()).toBe('');
    index.close();
  });

  it.each([...IMPOSSIBLE, ...IMPOSSIBLE_BOUNDS])('names section %s for %s', (section, _what, spoil) => {
    const content = possible();
    spoil(content);
    const bytes = encode(content);
    for (const maxBlocks of [0, 3]) {
      const index = filled(seam.createIndex({ ...UNBOUNDED, maxBlocks }));
      expect(index.restore(bytes)).toBe(section);
      expect(index.validate()).toBe('');
      expect(Array.from(index.enumerate(0, true))).toEqual([1n, 2n]);
      expect(index.incarnation(0)).toBe(1);
      index.close();
    }
  });
});

function filled(index: CoreIndex): CoreIndex {
  index.addSlot();
  index.store(0, 1, BigUint64Array.of(1n, 2n), undefined, 0, new Float64Array(RESULT_LENGTH));
  return index;
}

function figures(index: CoreIndex, slot: number): number[] {
  const out = new Float64Array(SLOT_FIGURES_LENGTH);
  index.slotFigures(slot, out);
  return Array.from(out);
}
