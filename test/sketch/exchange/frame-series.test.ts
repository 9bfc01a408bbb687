import { describe, expect, it } from 'vitest';
import { changedBlocks } from '../../../src/sketch/exchange/changed-blocks.js';
import { FrameSeries, firstEpoch, type SeriesSettings } from '../../../src/sketch/exchange/frame-series.js';
import { filterBlocks, keyCapacity } from '../../../src/sketch/sizing.js';
import type { SketchFrame } from '../../../src/sketch/types.js';
import { codeOf, range } from '../../kv-index/support.js';
import { Resident } from './support.js';

const settings: SeriesSettings = {
  worker: 'w',
  blockSize: 24,
  targetFpp: 0.01,
  headroom: 0.1,
  fullEvery: 1000,
  fullEveryMs: 1e9,
};

function series(options: Partial<SeriesSettings> = {}): FrameSeries {
  return new FrameSeries({ ...settings, ...options }, 100);
}

/** `kind epoch.sequence`. */
function at({ kind, epoch, sequence }: SketchFrame): string {
  return `${kind} ${epoch}.${sequence}`;
}

describe('the next frame', () => {
  it('is full at first, sized with headroom', () => {
    const frame = series().next(range(0, 1000), 5000, false);
    const { filter, ...rest } = frame as SketchFrame & { kind: 'full' };
    expect(rest).toEqual({
      kind: 'full',
      worker: 'w',
      session: undefined,
      ...{ epoch: 100, sequence: 0, timestampMs: 5000, keys: 1000, targetFpp: 0.01, blockSize: 24 },
    });
    expect(filter.z).toBe(filterBlocks(1100, 0.01));
    expect(filter.equals(new Resident(range(0, 1000)).filter(filter.z))).toBe(true);
  });

  it('is a delta of the blocks that changed, bits that went included', () => {
    const made = series();
    const resident = new Resident(range(0, 1000));
    const first = made.next(resident.hashes(), 0, false) as SketchFrame & { kind: 'full' };
    resident.held.delete(3n);
    resident.add([5000n, 5001n]);
    const delta = made.next(resident.hashes(), 1, false) as SketchFrame & { kind: 'delta' };
    expect([at(delta), delta.keys, delta.z]).toEqual(['delta 100.1', 1001, first.filter.z]);
    expect(delta.indices.length).toBeLessThanOrEqual(3);
    const words = first.filter.words.slice();
    delta.indices.forEach((index, i) => {
      words.set(delta.blocks.subarray(8 * i, 8 * i + 8), 8 * index);
    });
    expect(words).toEqual(resident.filter(delta.z).words);
  });

  it('is an empty delta when nothing changed', () => {
    const made = series();
    made.next(range(0, 100), 0, false);
    const delta = made.next(range(0, 100), 1, false);
    expect([at(delta), delta]).toEqual([
      'delta 100.1',
      expect.objectContaining({ indices: new Uint32Array(0) }),
    ]);
  });

  it('is full under a new epoch when there are more keys than the filter is for', () => {
    const made = series();
    const z = filterBlocks(1100, 0.01);
    const most = keyCapacity(z, 0.01);
    made.next(range(0, 1000), 0, false);
    expect(at(made.next(range(0, most), 1, false))).toBe('full 101.0'); // too much changed for a delta
    expect(at(made.next(range(0, most - 1), 1, false))).toBe('delta 101.1');
    const larger = made.next(range(0, most + 1), 1, false) as SketchFrame & { kind: 'full' };
    expect([at(larger), larger.filter.z]).toEqual([
      'full 102.0',
      filterBlocks(Math.ceil((most + 1) * 1.1), 0.01),
    ]);
  });

  it('is full under a new epoch when a much smaller filter would do', () => {
    const made = series();
    made.next(range(0, 1000), 0, false);
    const smaller = made.next(range(0, 700), 1, false) as SketchFrame & { kind: 'full' };
    expect([at(smaller), smaller.filter.z]).toEqual(['full 101.0', filterBlocks(770, 0.01)]);
  });

  it('is no new epoch for a few keys more or less, whatever the headroom', () => {
    for (const headroom of [0, 0.1, 1, 10]) {
      const made = series({ headroom });
      made.next(range(0, 10_000), 0, false);
      for (const keys of [9_999, 9_990, 10_000]) {
        expect(at(made.next(range(0, keys), 1, false))).toMatch(/^delta 100\./);
      }
    }
  });

  it('is full under a new epoch when a delta would be no smaller', () => {
    const made = series();
    made.next(range(0, 1000), 0, false);
    const frame = made.next(range(500, 1000), 1, false);
    expect(at(frame)).toBe('full 101.0');
  });

  it('is full under the same epoch when one is wanted, and builds on it', () => {
    const made = series();
    made.next(range(0, 1000), 0, false);
    expect(at(made.next(range(0, 1001), 1, true))).toBe('full 100.1');
    expect(at(made.next(range(0, 1002), 1, false))).toBe('delta 100.2');
  });

  it('is full after one that was lost', () => {
    const made = series();
    made.next(range(0, 1000), 0, false);
    made.next(range(0, 1001), 1, false);
    made.lost();
    expect(at(made.next(range(0, 1001), 2, false))).toBe('full 100.2');
    expect(at(made.next(range(0, 1001), 3, false))).toBe('delta 100.3');
  });

  it('is full at least every so many frames', () => {
    const made = series({ fullEvery: 3 });
    const kinds = Array.from({ length: 8 }, () => made.next(range(0, 9), 0, false).kind);
    expect(kinds).toEqual(['full', 'delta', 'delta', 'full', 'delta', 'delta', 'full', 'delta']);
  });

  it('is full at least every so many ms, also by a clock that goes back', () => {
    const made = series({ fullEveryMs: 1000 });
    const kinds = [5000, 5999, 6000, 6001, 5000, 4999].map((ms) => made.next(range(0, 9), ms, false).kind);
    expect(kinds).toEqual(['full', 'delta', 'full', 'delta', 'full', 'delta']);
  });

  it('of nothing is a clear one, then heartbeats, then a clear one for a full one', () => {
    const made = series();
    made.next(range(0, 1000), 0, false);
    const frames = [false, false, true, false].map((wanted) => made.next(range(0, 0), 1, wanted));
    expect(frames.map(at)).toEqual(['clear 101.0', 'delta 101.1', 'clear 101.2', 'delta 101.3']);
    expect(frames.map(({ keys }) => keys)).toEqual([0, 0, 0, 0]);
    expect(frames[0]).toMatchObject({ z: 1 });
    expect(at(made.next(range(0, 100), 2, false))).toBe('full 102.0');
  });

  it('of nothing is a clear one in the same epoch when the filter could stay', () => {
    const made = series();
    made.next(range(0, 2), 0, false);
    expect(at(made.next(range(0, 0), 1, false))).toBe('clear 100.1');
  });

  it('is clear at the start when nothing is resident', () => {
    expect(at(series().next(range(0, 0), 0, false))).toBe('clear 100.0');
  });

  it('stays what it was when there are too many keys', () => {
    const made = series({ targetFpp: 1e-6, headroom: 10 });
    made.next(range(0, 100), 0, false);
    const many = { length: 1e9 } as unknown as BigUint64Array;
    expect(codeOf(() => made.next(many, 1, false))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(at(made.next(range(0, 100), 2, false))).toBe('delta 100.1');
  });
});

describe('the last frame', () => {
  it('says that nothing is resident, and that no deltas follow', () => {
    const made = series();
    made.next(range(0, 100), 0, false);
    expect(made.last(7)).toMatchObject({
      kind: 'clear',
      epoch: 100,
      sequence: 1,
      keys: 0,
      z: 0,
      timestampMs: 7,
    });
  });
});

describe('the first epoch', () => {
  it('is above that of the latest frame, and no earlier than the clock', () => {
    expect(firstEpoch(5000, undefined)).toBe(5000);
    expect(firstEpoch(5000, 4000)).toBe(5000);
    expect(firstEpoch(5000, 5000)).toBe(5001);
    expect(firstEpoch(5000, 9000)).toBe(9001);
  });

  it('leaves one out that no clock gives', () => {
    expect(firstEpoch(5000, Number.MAX_SAFE_INTEGER)).toBe(5000);
    expect(firstEpoch(5000, 2 ** 52)).toBe(5000);
  });
});

describe('changed blocks', () => {
  const before = new Uint32Array(8 * 9);

  it('are those with another word', () => {
    const after = before.slice();
    after[8 * 2] = 1;
    after[8 * 8 + 7] = 0xffff_ffff;
    const expected = {
      indices: Uint32Array.of(2, 8),
      blocks: Uint32Array.of(...after.subarray(16, 24), ...after.subarray(64)),
    };
    expect(changedBlocks(before, after)).toEqual(expected);
    expect(changedBlocks(after, after)).toEqual({ indices: new Uint32Array(0), blocks: new Uint32Array(0) });
  });

  it('are only given while they are smaller than the filter', () => {
    const changed = (count: number, z = 9) =>
      changedBlocks(new Uint32Array(8 * z), new Uint32Array(8 * z).fill(1, 0, 8 * count))?.indices.length;
    expect(changed(7)).toBe(7); // 4 + 36 · 7 = 256 < 288
    expect(changed(8)).toBeUndefined(); // 292
    expect(changed(1, 1)).toBeUndefined();
    expect(changed(0, 1)).toBe(0);
  });
});
