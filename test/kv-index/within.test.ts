import { describe, expect, test } from 'vitest';
import { FAIR_UNIT, KvIndex } from '../../src/index.js';
import { hashes, range } from './support.js';

/**
 * Owners: block 1 s, t and u; 2 s and t; 3, 4 and 5 s alone. Nobody holds anything, and 90 is unknown everywhere.
 */
function ownedToDepths(): KvIndex {
  const index = new KvIndex();
  index.own('s', hashes(1, 2, 3, 4, 5));
  index.own('t', hashes(1, 2));
  index.own('u', hashes(1));
  return index;
}

const lengths = (...values: number[]) => Uint32Array.from(values);
const units = (...blocks: number[]) => blocks.map((block) => Math.floor(block * FAIR_UNIT));

describe('exclusiveWithin', () => {
  test('counts the blocks that the session alone owns, resident or not', () => {
    const index = ownedToDepths();
    const seq = hashes(1, 2, 3, 4, 5);
    expect([...index.exclusiveWithin('s', seq, lengths(0, 1, 2, 3, 4, 5))]).toEqual([0, 0, 0, 1, 2, 3]);
    expect([...index.exclusiveWithin('t', seq, lengths(5))]).toEqual([0]);
    index.endSession('s');
    expect([...index.exclusiveWithin('t', seq, lengths(5, 2, 1))]).toEqual([1, 1, 0]);
  });

  test('counts blocks with 1 … maxOwners owners, whoever they are', () => {
    const index = ownedToDepths();
    const seq = hashes(1, 2, 3, 4, 5);
    const all = lengths(1, 2, 3, 4, 5);
    expect([...index.exclusiveWithin('t', seq, all, { maxOwners: 2 })]).toEqual([0, 1, 2, 3, 4]);
    expect([...index.exclusiveWithin('nobody', seq, all, { maxOwners: 3 })]).toEqual([1, 2, 3, 4, 5]);
    expect([...index.exclusiveWithin('nobody', seq, all)]).toEqual([0, 0, 0, 0, 0]);
  });

  test('counts on behind a block that the index does not know', () => {
    const index = ownedToDepths();
    const seq = hashes(3, 90, 4, 1, 91, 5, 92);
    expect([...index.exclusiveWithin('s', seq, lengths(1, 2, 3, 4, 5, 6, 7))]).toEqual([1, 1, 2, 2, 2, 3, 3]);
  });

  test('does not count what is resident and owned by nobody', () => {
    const index = ownedToDepths();
    const worker = index.addWorker('a');
    index.store(worker, hashes(1, 2, 3, 4, 5, 6, 7));
    const seq = hashes(1, 2, 3, 4, 5, 6, 7);
    expect([...index.exclusiveWithin('s', seq, lengths(7, 6, 5))]).toEqual([3, 3, 3]);
    expect([...index.exclusiveWithin('s', seq, lengths(7), { maxOwners: 9 })]).toEqual([5]);
  });

  test('counts a block as often as it is named', () => {
    const index = ownedToDepths();
    expect([...index.exclusiveWithin('s', hashes(3, 3, 4, 3), lengths(4, 2))]).toEqual([4, 2]);
  });
});

describe('fairWithin', () => {
  test('counts a block with k owners as 1 / k, unknown and unowned ones as a whole', () => {
    const index = ownedToDepths();
    index.store(index.addWorker('a'), hashes(1, 2, 3, 4, 5, 6));
    const seq = hashes(1, 2, 3, 90, 6, 4);
    const third = Math.floor(FAIR_UNIT / 3) / FAIR_UNIT;
    expect([...index.fairWithin(seq, lengths(0, 1, 2, 3, 4, 5, 6))]).toEqual(
      units(0, third, third + 0.5, third + 1.5, third + 2.5, third + 3.5, third + 4.5),
    );
  });

  test('counts every block as a whole in an empty index', () => {
    expect([...new KvIndex().fairWithin(range(1, 100), lengths(0, 100, 7))]).toEqual(units(0, 100, 7));
  });
});

describe('both', () => {
  test('take lengths in any order, repeated, zero, or none at all', () => {
    const index = ownedToDepths();
    const seq = hashes(1, 2, 3, 4, 5);
    const unsorted = lengths(0, 5, 0, 3, 5, 1, 0, 4, 3);
    expect([...index.exclusiveWithin('s', seq, unsorted)]).toEqual([0, 3, 0, 1, 3, 0, 0, 2, 1]);
    expect(index.exclusiveWithin('s', seq, lengths())).toEqual(lengths());
    expect(index.fairWithin(seq, lengths())).toEqual(new Float64Array());
    expect([...index.exclusiveWithin('s', seq, lengths(0, 0))]).toEqual([0, 0]);
    expect([...index.exclusiveWithin('s', hashes(), lengths(0, 0))]).toEqual([0, 0]);
    expect([...index.fairWithin(hashes(), lengths(0))]).toEqual([0]);
  });

  test('need no workers, and change nothing', () => {
    const index = ownedToDepths();
    const before = index.snapshot();
    expect(index.slotCount).toBe(0);
    index.exclusiveWithin('s', hashes(1, 2), lengths(2, 1));
    index.exclusiveWithin('new', hashes(1, 90), lengths(2));
    index.fairWithin(hashes(1, 90), lengths(2));
    expect(index.snapshot()).toEqual(before);
  });

  test('fill and answer the array given, whatever stood in it', () => {
    const index = ownedToDepths();
    const exclusive = Uint32Array.of(7, 7);
    const fair = Float64Array.of(7, Number.NaN);
    const seq = hashes(1, 2, 3);
    expect(index.exclusiveWithin('s', seq, lengths(3, 0), { out: exclusive })).toBe(exclusive);
    expect([...exclusive]).toEqual([1, 0]);
    expect(index.fairWithin(seq, lengths(0, 2), { out: fair })).toBe(fair);
    expect([...fair]).toEqual([0, Math.floor(FAIR_UNIT / 3) + FAIR_UNIT / 2]);
  });

  test('may write their answers over the lengths', () => {
    const index = ownedToDepths();
    const both = lengths(5, 0, 4, 2);
    index.exclusiveWithin('s', hashes(1, 2, 3, 4, 5), both, { out: both });
    expect([...both]).toEqual([3, 0, 2, 0]);
  });

  test('count through a chain that evictions have cut to pieces', () => {
    const index = new KvIndex({ maxBlocks: 8 });
    index.own('s', range(1, 6));
    index.own('t', range(1, 3));
    index.own('u', range(11, 4));
    // Ten blocks were named, two too many: those named longest ago, 6 and 5, are unknown now.
    expect([5, 6].map((hash) => index.contains(hash))).toEqual([false, false]);
    expect([...index.exclusiveWithin('s', range(1, 6), lengths(6, 4, 3))]).toEqual([1, 1, 0]);
    expect([...index.fairWithin(range(1, 6), lengths(3, 4, 6))]).toEqual(units(1.5, 2.5, 4.5));

    const cut = new KvIndex({ maxBlocks: 6 });
    const worker = cut.addWorker('a', { capacity: 9 });
    cut.own('s', range(1, 6));
    cut.store(worker, range(1, 2));
    cut.store(worker, range(1, 6));
    cut.pin(worker, range(5, 2));
    cut.own('t', hashes(11, 12));
    // 5 and 6 are pinned, so that 4 and 3 went, in the middle of the chain.
    expect([3, 4].map((hash) => cut.contains(hash))).toEqual([false, false]);
    expect([...cut.exclusiveWithin('s', range(1, 6), lengths(6, 5, 4, 2))]).toEqual([4, 3, 2, 2]);
    expect([...cut.fairWithin(range(1, 6), lengths(6, 3))]).toEqual(units(6, 3));
  });

  test('count through chains longer than one piece of the index', () => {
    const index = new KvIndex();
    index.own('s', range(1, 10_000));
    index.own('t', range(1, 5000));
    const seq = range(1, 10_000);
    expect([...index.exclusiveWithin('s', seq, lengths(10_000, 4999, 5001, 4096, 8193))]).toEqual([
      5000, 0, 1, 0, 3193,
    ]);
    expect([...index.fairWithin(seq, lengths(8193, 4097))]).toEqual(units(5693, 2048.5));
  });

  test('answer as the overlaps do of a worker that holds all blocks', () => {
    const index = new KvIndex();
    const worker = index.addWorker('a');
    const seq = range(1, 700);
    index.store(worker, seq);
    for (let i = 0; i < 40; i++) index.own(`s${i}`, seq.subarray(0, 1 + ((i * 97) % 640)));
    for (const maxOwners of [1, 2, 5, 40]) {
      for (const length of [1, 2, 99, 640, 641, 700]) {
        const part = seq.subarray(0, length);
        for (const session of ['s0', 's33', 's39', 'nobody']) {
          expect(index.exclusiveWithin(session, seq, lengths(length), { maxOwners })).toEqual(
            index.exclusiveOverlap(session, part, { maxOwners }),
          );
        }
        expect(index.fairWithin(seq, lengths(length))).toEqual(index.fairOverlap(part));
      }
    }
  });
});

describe('enumerateExclusive', () => {
  test('lists what the worker holds and the session alone owns, ascending', () => {
    const index = new KvIndex();
    const [a, b] = [index.addWorker('a'), index.addWorker('b')];
    index.own('s', hashes(9, 8, 7, 6, 5));
    index.own('t', hashes(9, 8, 20, 19));
    index.store(a, hashes(9, 8, 7, 6));
    index.store(b, hashes(9, 8, 20, 19));
    index.store(b, hashes(7, 6, 5, 4), { parent: 8n });
    index.remove(b, hashes(6));
    expect(index.enumerateExclusive(a, 's')).toEqual(hashes(6, 7));
    expect(index.enumerateExclusive(b, 's')).toEqual(hashes(5, 7));
    expect(index.enumerateExclusive(a, 't')).toEqual(hashes());
    expect(index.enumerateExclusive(b, 't')).toEqual(hashes(19, 20));
    expect(index.enumerateExclusive(b, 'nobody')).toEqual(hashes());
    index.endSession('t');
    expect(index.enumerateExclusive(a, 's')).toEqual(hashes(6, 7, 8, 9));
    expect(index.enumerateExclusive(b, 't')).toEqual(hashes());
    index.own('t', hashes(9, 8, 7, 6, 5));
    expect(index.enumerateExclusive(a, 's')).toEqual(hashes());
  });

  test('orders hashes as unsigned numbers', () => {
    const index = new KvIndex();
    const worker = index.addWorker('a');
    const seq = hashes(2n ** 64n - 1n, 3n, 2n ** 63n, 0n);
    index.store(worker, seq);
    index.own('s', seq);
    expect(index.enumerateExclusive(worker, 's')).toEqual(hashes(0n, 3n, 2n ** 63n, 2n ** 64n - 1n));
  });
});
