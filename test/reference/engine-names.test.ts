import { describe, expect, it } from 'vitest';
import { PLACE } from '../../src/native/event-memory.js';
import { ORPHAN_SEED, RESULT_LENGTH } from '../../src/native/seam.js';
import { reference, tested } from '../property/backends.js';
import { A, ABC, B, BLOCK_SIZE, C, D, NamesWorld, ROOT, X } from './names-world.js';
import { CLEARED, inTier, listOf, removed, stored, toldMemory } from './told-events.js';

const sorted = (hashes: readonly bigint[]) => Array.from(BigUint64Array.from(hashes).sort());

describe.each([...new Set([reference, tested])].map((seam) => [seam.name, seam] as const))(
  'names of an engine (%s)',
  (_, seam) => {
    describe('a store', () => {
      it('hashes token ids from the root and keeps each name', () => {
        const w = new NamesWorld(seam);
        expect(w.apply(stored([A, B, C], ABC))).toEqual({ status: 'ok', stored: 3 });
        expect(w.held()).toEqual(sorted(w.seqs(ABC)));
        expect(listOf(w.names).map(({ name }) => name)).toEqual([B, C, A]);
        expect(listOf(w.names)[2]).toEqual({ name: A, seq: w.seqs(ABC)[0], copies: [1, 0, 0, 0] });
        expect(w.names.size()).toBe(3);
        expect(w.index.stats().orphans).toBe(0);
      });

      it('goes on behind its parent', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]));
        expect(w.apply(stored([B, C], [2, 2, 3, 3], A))).toEqual({ status: 'ok', stored: 2 });
        expect(w.held()).toEqual(sorted(w.seqs(ABC)));
      });

      it('finds within one call what it stored before', () => {
        const w = new NamesWorld(seam);
        expect(w.apply(stored([A], [1, 1]), stored([B], [2, 2], A), removed([A]))).toEqual({
          status: 'ok',
          stored: 2,
          removed: 1,
        });
        expect(w.held()).toEqual([w.seqs(ABC)[1]]);
      });

      it('behind an unknown parent is an orphan whose hashes start from the name', () => {
        const w = new NamesWorld(seam);
        expect(w.apply(stored([B, C], [2, 2, 3, 3], X))).toEqual({ status: 'ok', stored: 2, orphaned: 2 });
        const start = seam.xxh64(new Uint8Array(BigUint64Array.of(X).buffer), ORPHAN_SEED);
        expect(w.held()).toEqual(sorted(w.seqs([2, 2, 3, 3], start)));
        expect(w.index.stats().orphans).toBe(1);
      });

      it('takes extra keys where it is alone', () => {
        const w = new NamesWorld(seam);
        const extra = { blocks: Uint32Array.of(1), keys: BigUint64Array.of(5n) };
        w.applyWith(extra, stored([A, B, C], ABC));
        expect(w.held()).toEqual(sorted(w.seqs(ABC, ROOT, extra)));
        expect(() => w.applyWith(extra, CLEARED, CLEARED)).toThrow(RangeError);
      });

      it('told again is a duplicate and one copy', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B, C], ABC));
        expect(w.apply(stored([A, B, C], ABC))).toEqual({ status: 'ok', duplicate: 3 });
        expect(w.index.stats().duplicates).toBe(0);
        expect(w.apply(removed([A]))).toEqual({ status: 'ok', removed: 1 });
        expect(w.known()).toBe('B:1000 C:1000');
      });

      it('told again is a copy more where copies count', () => {
        const w = new NamesWorld(seam, { countsCopies: true });
        w.apply(stored([A, B, C], ABC));
        expect(w.apply(stored([A, B, C], ABC))).toEqual({ status: 'ok', duplicate: 3 });
        expect(w.known()).toBe('B:2000 C:2000 A:2000');
        expect(w.apply(removed([A]))).toEqual({ status: 'ok', removed: 1 });
        expect(w.held()).toHaveLength(3);
        w.apply(removed([A]));
        expect(w.held()).toHaveLength(2);
      });

      it('gives the index only what the tier has not, in the gaps', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B, C, D], [...ABC, 4, 4]));
        w.apply(removed([A, C, D]));
        expect(w.apply(stored([A, B, C, D], [...ABC, 4, 4]))).toEqual({
          status: 'ok',
          stored: 3,
          duplicate: 1,
        });
        expect(w.held()).toEqual(sorted(w.seqs([...ABC, 4, 4])));
        expect(w.index.stats()).toMatchObject({ orphans: 0, duplicates: 0 });
      });

      it('of two names for one block makes two copies of it', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]));
        expect(w.apply(stored([B], [1, 1]))).toEqual({ status: 'ok', duplicate: 1 });
        w.apply(removed([A]));
        expect(w.held()).toEqual(w.seqs([1, 1]));
        w.apply(removed([B]));
        expect(w.held()).toEqual([]);
      });

      it('counts no copy beyond what a name can count, in the index neither', () => {
        const w = new NamesWorld(seam, { countsCopies: true });
        w.apply(stored([A], [1, 1]));
        w.names.load({
          names: BigUint64Array.of(A),
          seqs: BigUint64Array.from(w.seqs([1, 1])),
          copies: Uint16Array.of(0xfffe, 0, 0, 0),
        });
        expect(w.apply(stored([A], [1, 1]), stored([A], [1, 1]))).toEqual({ status: 'ok', duplicate: 2 });
        expect(listOf(w.names)[0]!.copies).toEqual([0xffff, 0, 0, 0]);
        expect(w.index.stats().duplicates).toBe(1);
      });
    });

    describe('a name', () => {
      it('that means another block now loses the former one in all tiers', () => {
        const w = new NamesWorld(seam, { countsCopies: true });
        w.apply(stored([A], [1, 1]), stored([A], [1, 1]), inTier(1, stored([A], [1, 1])));
        expect(w.apply(stored([A], [8, 8]))).toEqual({ status: 'ok', stored: 1, removed: 3 });
        expect(w.held()).toEqual(w.seqs([8, 8]));
        expect(w.held(1)).toEqual([]);
        expect(w.known()).toBe('A:1000');
      });

      it('twice in an event stays where it stood first', () => {
        const w = new NamesWorld(seam);
        expect(w.apply(stored([A, B, A], ABC))).toEqual({ status: 'ok', stored: 3, rejected: 1, removed: 1 });
        expect(w.held()).toEqual(sorted(w.seqs(ABC).slice(0, 2)));
        expect(listOf(w.names).find(({ name }) => name === A)!.seq).toBe(w.seqs(ABC)[0]);
      });

      it('whose first place in the event was refused stands for the second', () => {
        const w = new NamesWorld(seam);
        const [a, b] = w.seqs([1, 1, 2, 2]) as [bigint, bigint];
        // A block of the event is known behind another one, so that the run in front of the gap is refused.
        const elsewhere = w.index.addSlot();
        const of = (...seq: bigint[]) => BigUint64Array.from(seq);
        const result = new Float64Array(RESULT_LENGTH);
        w.index.store(elsewhere, w.index.incarnation(elsewhere), of(5n, a), undefined, 0, result);
        w.index.store(w.slots[0]!, w.slots[1]!, of(b), null, 0, result);
        w.names.load({ names: of(B), seqs: of(b), copies: Uint16Array.of(1, 0, 0, 0) });
        expect(w.apply(stored([A, B, A], ABC))).toEqual({
          status: 'ok',
          stored: 1,
          duplicate: 1,
          orphaned: 1,
          rejected: 1,
        });
        expect(w.held()).toEqual(sorted(w.seqs(ABC).slice(1)));
        expect(listOf(w.names).find(({ name }) => name === A)!.seq).toBe(w.seqs(ABC)[2]);
      });

      it('of a refused store is not kept', () => {
        const w = new NamesWorld(seam);
        const [, b] = w.seqs(ABC) as [bigint, bigint];
        const elsewhere = w.index.addSlot();
        const result = new Float64Array(RESULT_LENGTH);
        const seq = BigUint64Array.of(5n, b);
        w.index.store(elsewhere, w.index.incarnation(elsewhere), seq, undefined, 0, result);
        expect(w.apply(stored([A, B, C], ABC))).toEqual({ status: 'ok', rejected: 3 });
        expect(w.names.size()).toBe(0);
      });

      it('goes with the last copy of its block in the last tier', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A], [1, 1]), inTier(1, stored([A], [1, 1])));
        expect(w.known()).toBe('A:1100');
        w.apply(removed([A]));
        expect(w.known()).toBe('A:0100');
        expect(w.held()).toEqual([]);
        w.apply(inTier(1, removed([A])));
        expect(w.names.size()).toBe(0);
        expect(w.index.stats().blocks).toBe(0);
      });
    });

    describe('a store without tokens', () => {
      it('brings blocks of known names to its tier', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B], [1, 1, 2, 2]));
        expect(w.apply(inTier(1, stored([B, X, A])))).toEqual({ status: 'ok', stored: 2, unresolved: 1 });
        expect(w.held(1)).toEqual(w.held(0));
        expect(w.known()).toBe('B:1100 A:1100');
        expect(w.apply(inTier(1, stored([A])))).toEqual({ status: 'ok', duplicate: 1 });
      });

      it('tells no predecessor: what the index knows stays, and what it let go is an orphan', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B], [1, 1, 2, 2]));
        expect(w.apply(inTier(1, stored([B])))).toEqual({ status: 'ok', stored: 1 });
        expect(w.index.stats()).toMatchObject({ orphans: 0, rejected: 0 });
        for (const tier of [0, 1]) w.index.clear(w.slots[2 * tier]!, w.slots[2 * tier + 1]!);
        expect(w.apply(removed([A, B]))).toEqual({ status: 'ok', unknown: 2 });
        expect(w.apply(stored([B]))).toEqual({ status: 'ok', stored: 1, orphaned: 1 });
      });
    });

    describe('a removal', () => {
      it('counts names that the tier has no copy of, and blocks that the index let go', () => {
        const w = new NamesWorld(seam);
        w.apply(stored([A, B], [1, 1, 2, 2]));
        expect(w.apply(inTier(1, removed([A])))).toEqual({ status: 'ok', unknown: 1 });
        expect(w.apply(removed([A, A, X]))).toEqual({ status: 'ok', removed: 1, unknown: 2 });
        w.index.clear(w.slots[0]!, w.slots[1]!);
        expect(w.apply(removed([B]))).toEqual({ status: 'ok', unknown: 1 });
        expect(w.names.size()).toBe(0);
      });
    });

    it('a clear empties all tiers, whichever it names', () => {
      const w = new NamesWorld(seam);
      w.apply(stored([A, B], [1, 1, 2, 2]), inTier(1, stored([A])));
      expect(w.apply(inTier(3, CLEARED))).toEqual({ status: 'ok', cleared: 3 });
      expect(w.names.size()).toBe(0);
      expect(w.index.stats().blocks).toBe(0);
    });

    it('events that are odd or have no tier are left out', () => {
      const w = new NamesWorld(seam);
      expect(w.apply({ ...stored([A], [1, 1]), kind: 'odd' }, inTier(-1, stored([A], [1, 1])))).toEqual({
        status: 'ok',
      });
      expect(w.names.size()).toBe(0);
    });

    it('applies the events from first to end alone', () => {
      const w = new NamesWorld(seam);
      const events = [stored([A], [1, 1]), stored([B], [2, 2]), stored([C], [3, 3])];
      const memory = toldMemory(events, { slots: w.slots, root: ROOT, blockSize: BLOCK_SIZE });
      memory.integers[PLACE.first] = 1;
      memory.integers[PLACE.end] = 2;
      w.names.apply(memory.bytes, undefined);
      expect(w.known()).toBe('B:1000');
    });

    it('names of blocks that the index let go are swept once they are many', () => {
      const maxBlocks = 100;
      const w = new NamesWorld(seam, { maxBlocks, tiers: 1 });
      const storeFrom = (from: number) => {
        const names = Array.from({ length: maxBlocks }, (_, i) => BigInt(from + i));
        return w.apply(
          stored(
            names,
            names.flatMap((name) => [Number(name), 0]),
          ),
        );
      };
      let from = 0;
      for (; from + maxBlocks <= 2 * maxBlocks + 4096; from += maxBlocks) storeFrom(from);
      expect(w.names.size()).toBe(from);
      expect(storeFrom(from)).toEqual({ status: 'ok', stored: maxBlocks, evicted: maxBlocks });
      expect(listOf(w.names).map(({ name }) => Number(name))).toEqual(
        Array.from({ length: maxBlocks }, (_, i) => from + i),
      );
    });

    it('entries can be loaded elsewhere', () => {
      const w = new NamesWorld(seam);
      w.apply(stored([A, B, C], ABC), inTier(1, stored([B])));
      const other = new NamesWorld(seam);
      other.apply(stored([D], [4, 4]));
      other.names.load(w.names.entries());
      expect(listOf(other.names)).toEqual(listOf(w.names));
      expect(other.apply(removed([A]))).toEqual({ status: 'ok', unknown: 1 });
    });

    it('uses the memory of no names when all have gone and none is remembered', () => {
      const w = new NamesWorld(seam);
      const empty = w.names.usedBytes();
      w.apply(stored([A, B, C], ABC));
      expect(w.names.usedBytes()).toBeGreaterThan(empty);
      w.apply(removed([C, A, B]));
      expect(w.names.usedBytes()).toBeGreaterThan(empty);
      w.apply(CLEARED);
      expect(w.names.usedBytes()).toBe(empty);
    });
  },
);
