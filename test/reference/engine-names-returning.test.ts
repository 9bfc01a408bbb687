import { describe, expect, it } from 'vitest';
import { DEPARTED_NAMES, RESULT_LENGTH } from '../../src/native/seam.js';
import { reference, tested } from '../property/backends.js';
import { A, ABC, B, C, NamesWorld, X } from './names-world.js';
import { CLEARED, inTier, listOf, removed, stored } from './told-events.js';

const result = new Float64Array(RESULT_LENGTH);

describe.each([...new Set([reference, tested])].map((seam) => [seam.name, seam] as const))(
  'blocks and names that come back (%s)',
  (_, seam) => {
    /** The index loses blocks that the engine still holds. */
    const letGo = (w: NamesWorld, seqs: readonly bigint[], tier = 0) =>
      w.index.remove(w.slots[2 * tier]!, w.slots[2 * tier + 1]!, BigUint64Array.from(seqs), result);

    describe('a block that the index let go', () => {
      it.each([true, false])('is stored when it is told again, countsCopies %s', (countsCopies) => {
        const w = new NamesWorld(seam, { countsCopies });
        w.apply(stored([A, B, C], ABC), stored([A, B, C], ABC));
        const everyCopy = w.index.enumerate(w.slots[0]!, true);
        for (let copy = 0; copy < 2; copy++) letGo(w, [w.seqs(ABC)[1]!]);
        expect(w.apply(stored([A, B, C], ABC))).toEqual({ status: 'ok', stored: 1, duplicate: 2 });
        expect(w.held()).toEqual(Array.from(everyCopy));
        // The copies from before count no more.
        expect(listOf(w.names).find(({ name }) => name === B)!.copies[0]).toBe(1);
        expect(w.apply(removed([B]))).toEqual({ status: 'ok', removed: 1 });
        expect(w.held()).toHaveLength(2);
      });

      it('is stored when it is told again by name', () => {
        const w = new NamesWorld(seam, { countsCopies: true });
        w.apply(stored([A], [1, 1]), stored([A]), inTier(1, stored([A])));
        w.index.clear(w.slots[0]!, w.slots[1]!);
        expect(w.known()).toBe('A:2100');
        expect(w.apply(stored([A]))).toEqual({ status: 'ok', stored: 1 });
        expect(w.known()).toBe('A:1100');
        expect(w.held()).toEqual(w.seqs([1, 1]));
      });

      it('keeps its copies in other tiers', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]), inTier(1, stored([A])));
        letGo(w, w.seqs([1, 1]), 1);
        expect(w.apply(stored([A], [1, 1]))).toEqual({ status: 'ok', duplicate: 1 });
        expect(w.apply(inTier(1, stored([A], [1, 1])))).toEqual({ status: 'ok', stored: 1 });
        expect(w.known()).toBe('A:1100');
      });

      it('comes back after maxBlocks evicted it', () => {
        const w = new NamesWorld(seam, { tiers: 1, maxBlocks: 2 });
        w.apply(stored([A], [1, 1]));
        w.apply(stored([B, C], [8, 8, 9, 9]));
        expect(w.held()).not.toContain(w.seqs([1, 1])[0]);
        expect(w.apply(stored([A], [1, 1]))).toEqual({ status: 'ok', stored: 1, evicted: 1 });
        expect(w.held()).toContain(w.seqs([1, 1])[0]);
      });

      it('and that is refused now has no name', () => {
        const w = new NamesWorld(seam);
        const [, b] = w.seqs(ABC) as [bigint, bigint];
        w.apply(stored([A, B, C], ABC));
        w.index.clear(w.slots[0]!, w.slots[1]!);
        // The block is known behind another one.
        const elsewhere = w.index.addSlot();
        w.index.store(
          elsewhere,
          w.index.incarnation(elsewhere),
          BigUint64Array.of(5n, b),
          undefined,
          0,
          result,
        );
        expect(w.apply(stored([A, B, C], ABC))).toEqual({ status: 'ok', rejected: 3 });
        expect(w.names.size()).toBe(0);
      });

      it('is gone before a name that stood for it in an earlier place takes another', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B], [1, 1, 2, 2]));
        w.index.clear(w.slots[0]!, w.slots[1]!);
        expect(w.apply(stored([A, B, A], ABC))).toEqual({
          status: 'ok',
          stored: 3,
          unknown: 1,
          rejected: 1,
          removed: 1,
        });
        expect(w.known()).toBe('B:1000 A:1000');
      });
    });

    describe('a name that departed', () => {
      it('is what a store without tokens means', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B, C], ABC));
        const held = w.held();
        const offloaded = w.apply(removed([C, B, A]), inTier(1, stored([A, B, C, X])));
        expect(offloaded).toEqual({ status: 'ok', removed: 3, stored: 3, orphaned: 3, unresolved: 1 });
        expect(w.held(1)).toEqual(held);
        expect(w.known()).toBe('B:0100 C:0100 A:0100');
      });

      it('is what a parent means', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B], [1, 1, 2, 2]), removed([B]));
        w.apply(stored([C], [3, 3], B));
        expect(w.held()).toContain(w.seqs(ABC)[2]);
      });

      it('means what it meant last, and now what it means now', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]), removed([A]), stored([A], [2, 2]), removed([A]));
        w.apply(stored([A]));
        expect(w.held()).toEqual(w.seqs([2, 2]));
        w.apply(stored([A], [3, 3]), inTier(1, stored([A])));
        expect(w.held(1)).toEqual(w.seqs([3, 3]));
      });

      it('departs with its last copy alone, and only when that is removed', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]), inTier(1, stored([A])), removed([A]));
        w.names.load(w.names.entries());
        expect(w.apply(stored([A], [2, 2]))).toEqual({ status: 'ok', stored: 1, removed: 1 });
        w.apply(CLEARED);
        expect(w.apply(stored([A]))).toEqual({ status: 'ok', unresolved: 1 });
      });

      it('is neither an entry nor counted', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]), removed([A]));
        expect(w.names.size()).toBe(0);
        expect(listOf(w.names)).toEqual([]);
      });

      it.each(['cleared', 'loaded'] as const)('is forgotten when all names are %s', (how) => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]), removed([A]));
        if (how === 'cleared') w.apply(CLEARED);
        else w.names.load(w.names.entries());
        expect(w.apply(inTier(1, stored([A])))).toEqual({ status: 'ok', unresolved: 1 });
      });

      it(`is forgotten after ${DEPARTED_NAMES} others, and not before`, () => {
        const w = new NamesWorld(seam);
        const others = Array.from({ length: DEPARTED_NAMES }, (_, i) => BigInt(1000 + i));
        const ids = others.flatMap((name) => [Number(name), 0]);
        w.apply(stored([A, B, C], ABC));
        w.apply(stored(others, ids), removed([A, B]), removed(others.slice(0, -1)));
        expect(w.apply(inTier(1, stored([A, B])))).toMatchObject({ stored: 1, unresolved: 1 });
        const used = w.names.usedBytes();
        w.apply(stored(others.slice(0, -1), ids.slice(0, -2)), removed(others));
        expect(w.names.usedBytes()).toBeLessThanOrEqual(used);
        expect(w.apply(inTier(1, stored(others)))).toMatchObject({ stored: DEPARTED_NAMES });
      });
    });
  },
);
