import { describe, expect, it } from 'vitest';
import { PLACE } from '../../src/native/event-memory.js';
import { EVENT, RESULT_LENGTH } from '../../src/native/seam.js';
import { reference, tested } from '../property/backends.js';
import { A, B, BLOCK_SIZE, C, NamesWorld, ROOT, X } from './names-world.js';
import { CLEARED, stored, toldMemory } from './told-events.js';

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
      const memory = toldMemory([CLEARED, stored([B, C], [2, 2, 3, 3], X)], how(w));
      memory.rows[memory.rows.length / 2 + EVENT[place]] = value;
      w.apply(stored([A], [1, 1]));
      expect(() => w.names.apply(memory.bytes, undefined)).toThrow(
        expect.objectContaining({ name: 'RangeError', code: 'ERR_KVIDX_OUT_OF_RANGE' }),
      );
      expect(w.known()).toBe('A:1000');
    });

    it('a range of events beyond the rows is an error', () => {
      const w = new NamesWorld(seam);
      for (const [first, end] of [
        [0, 2],
        [1, 0],
        [-1, 1],
        [0, -1],
      ] as const) {
        const memory = toldMemory([CLEARED], how(w));
        memory.integers[PLACE.first] = first;
        memory.integers[PLACE.end] = end;
        expect(() => w.names.apply(memory.bytes, undefined)).toThrow(RangeError);
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

  it('refuse memory that is none, or is smaller than it says', () => {
    const w = new NamesWorld(tested);
    const { bytes } = toldMemory([stored([A], [1, 1])], how(w));
    const apply = (memory: unknown) => w.names.apply(memory as never, undefined);
    const ofType = expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    const outOfRange = expect.objectContaining({ code: 'ERR_KVIDX_OUT_OF_RANGE' });
    for (const memory of [undefined, {}, new Uint32Array(bytes.buffer)])
      expect(() => apply(memory)).toThrow(ofType);
    for (const memory of [bytes.subarray(0, 100), bytes.subarray(0, -1), bytes.subarray(1)]) {
      expect(() => apply(memory)).toThrow(outOfRange);
    }
    for (const place of ['eventRoom', 'hashRoom', 'tokenRoom', 'blockSize'] as const) {
      for (const value of [-1, 2 ** 31 - 1]) {
        const memory = toldMemory([stored([A], [1, 1])], how(w));
        memory.integers[PLACE[place]] = value;
        expect(() => apply(memory.bytes), `${place} ${value}`).toThrow(outOfRange);
      }
    }
    expect(() => w.names.load(undefined as never)).toThrow(ofType);
    expect(w.names.size()).toBe(0);
  });
});

function how(w: NamesWorld) {
  return { slots: w.slots, root: ROOT, blockSize: BLOCK_SIZE };
}
