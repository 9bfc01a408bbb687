import { describe, expect, it } from 'vitest';
import { APPLIED_LENGTH, EVENT, RESULT_LENGTH } from '../../src/native/seam.js';
import { reference, tested } from '../property/backends.js';
import { A, B, BLOCK_SIZE, C, NamesWorld, ROOT, X } from './names-world.js';
import { CLEARED, columnsOf, stored } from './told-events.js';

describe.each([...new Set([reference, tested])].map((seam) => [seam.name, seam] as const))(
  'names of an engine refuse what they cannot apply (%s)',
  (_, seam) => {
    it('with one slot whose life is over applies nothing', () => {
      const w = new NamesWorld(seam);
      w.index.removeSlot(w.slots[2]!, w.slots[3]!);
      expect(w.apply(stored([A], [1, 1]))).toEqual({ status: 'unknownWorker' });
      expect(w.names.size()).toBe(0);
    });

    it('refuses a slot with a capacity', () => {
      const w = new NamesWorld(seam, { countsBlocks: false });
      w.index.setCapacity(w.slots[2]!, w.slots[3]!, 5, 0, new Float64Array(RESULT_LENGTH));
      expect(() => w.apply(stored([A], [1, 1]))).toThrow(RangeError);
      expect(w.names.size()).toBe(0);
    });

    it.each([
      ['kind', 4],
      ['kind', -1],
      ['tier', 4],
      ['tier', 2],
      ['tier', -2],
      ['blocks', -1],
      ['blocks', 1],
      ['blocks', 3],
      ['hashAt', -1],
      ['hashAt', 2],
      ['parentAt', 3],
      ['parentAt', -2],
      ['tokens', 2],
      ['tokens', -4],
      ['tokenAt', 1],
      ['tokenAt', -1],
    ] as const)('an event whose %s is %i is an error, and none of the call is applied', (place, value) => {
      const w = new NamesWorld(seam);
      const columns = columnsOf([CLEARED, stored([B, C], [2, 2, 3, 3], X)]);
      columns.rows[columns.rows.length / 2 + EVENT[place]] = value;
      w.apply(stored([A], [1, 1]));
      const result = new Float64Array(APPLIED_LENGTH);
      expect(() => w.names.apply(columns, 0, 2, w.slots, ROOT, BLOCK_SIZE, undefined, 0, result)).toThrow(
        expect.objectContaining({ name: 'RangeError', code: 'ERR_KVIDX_OUT_OF_RANGE' }),
      );
      expect(w.known()).toBe('A:1000');
    });

    it('a range of events beyond the rows is an error', () => {
      const w = new NamesWorld(seam);
      const result = new Float64Array(APPLIED_LENGTH);
      for (const [first, end] of [
        [0, 2],
        [1, 0],
      ] as const) {
        expect(() =>
          w.names.apply(columnsOf([CLEARED]), first, end, w.slots, ROOT, BLOCK_SIZE, undefined, 0, result),
        ).toThrow(RangeError);
      }
    });

    it('refuses entries that are none, and keeps what it has', () => {
      const w = new NamesWorld(seam);
      w.apply(stored([A], [1, 1]));
      const entries = { names: BigUint64Array.of(1n, 2n), seqs: BigUint64Array.of(1n, 2n) };
      const copies = Uint16Array.of(1, 0, 0, 0, 0, 0, 0, 1);
      const rangeError = expect.objectContaining({ name: 'RangeError' });
      const bad = [
        { ...entries, copies: copies.subarray(0, 4) },
        { ...entries, copies, seqs: BigUint64Array.of(1n) },
        { ...entries, copies, names: BigUint64Array.of(2n, 1n) },
        { ...entries, copies, names: BigUint64Array.of(2n, 2n) },
        { ...entries, copies: Uint16Array.of(1, 0, 0, 0, 0, 0, 0, 0) },
      ];
      for (const refused of bad) expect(() => w.names.load(refused)).toThrow(rangeError);
      expect(w.known()).toBe('A:1000');
      w.names.load({ ...entries, copies });
      expect(w.names.size()).toBe(2);
    });
  },
);

describe.skipIf(tested === reference)('names of an engine in the addon', () => {
  it('fail once their index is closed', () => {
    const w = new NamesWorld(tested);
    w.index.close();
    const closed = expect.objectContaining({ code: 'ERR_KVIDX_CLOSED' });
    expect(() => w.apply(CLEARED)).toThrow(closed);
    expect(() => w.names.size()).toThrow(closed);
    expect(() => w.names.usedBytes()).toThrow(closed);
    expect(() => w.names.entries()).toThrow(closed);
    expect(() => w.index.createEngineNames(false)).toThrow(closed);
  });

  it('refuse arrays of another dtype or length', () => {
    const w = new NamesWorld(tested);
    const good = columnsOf([stored([A], [1, 1])]);
    const apply = (columns: unknown, slots: unknown, result: unknown) =>
      w.names.apply(columns as never, 0, 1, slots as never, ROOT, BLOCK_SIZE, undefined, 0, result as never);
    const result = new Float64Array(APPLIED_LENGTH);
    const ofType = expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    const ofLength = expect.objectContaining({ code: 'ERR_KVIDX_LENGTH_MISMATCH' });
    expect(() => apply(undefined, w.slots, result)).toThrow(ofType);
    expect(() => apply({ ...good, rows: new Uint32Array(15) }, w.slots, result)).toThrow(ofType);
    expect(() => apply({ ...good, hashes: [A] }, w.slots, result)).toThrow(ofType);
    expect(() => apply(good, new Float64Array(8), result)).toThrow(ofType);
    expect(() => apply(good, w.slots.subarray(2), result)).toThrow(ofLength);
    expect(() => apply(good, w.slots, result.subarray(1))).toThrow(ofLength);
    expect(() => w.names.load(undefined as never)).toThrow(ofType);
    expect(w.names.size()).toBe(0);
  });
});
