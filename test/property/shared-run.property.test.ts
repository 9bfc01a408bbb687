import { describe, expect, it } from 'vitest';
import { type CoreIndex, MODE, RESULT_LENGTH } from '../../src/native/seam.js';
import { reference, tested } from './backends.js';
import { Random, seedOfRun } from './random.js';

const SLOTS = 6;

/** Many sessions that own leading parts of one chain, each to another depth. */
describe(`one chain of many sessions, the ${tested.name} index against the reference index`, () => {
  it.each([
    [40, 12],
    [700, 300],
    [4096, 100],
    [9000, 60],
  ])('counts alike for %i blocks and %i sessions', { timeout: 120_000 }, (blocks, sessions) => {
    const seed = seedOfRun('shared-run');
    const random = new Random(seed);
    const chain = BigUint64Array.from({ length: blocks }, (_, i) => BigInt(i + 1) * 0x9e37_79b9n);
    const indexes = [tested, reference].map((seam) =>
      seam.createIndex({ maxSessions: 0, maxBlocks: 0, evictedHistory: 0 }),
    );
    const both = <T>(what: string, call: (index: CoreIndex) => T) => {
      const [actual, expected] = indexes.map(call);
      expect(actual, `KVIDX_SEED=${seed}: ${what}`).toEqual(expected);
      return actual!;
    };
    const own = (session: number) => {
      const seq = chain.subarray(0, random.between(1, blocks));
      return both('own', (index) => index.own(session, seq, 0, new Float64Array(RESULT_LENGTH)));
    };
    const query = (session: number) => {
      const from = random.oneIn(4) ? random.below(blocks) : 0;
      const seq = chain.subarray(from, random.oneIn(2) ? blocks : random.between(from, blocks));
      const maxOwners = random.oneOf([1, 1, 2, 5, sessions]);
      for (const mode of [MODE.prefix, MODE.set]) {
        both(`exclusive overlap of session ${session}, ${maxOwners} owners, mode ${mode}`, (index) => {
          const out = new Uint32Array(SLOTS);
          index.exclusiveOverlap(session, seq, mode, maxOwners, out);
          return out;
        });
      }
      both('fair overlap', (index) => {
        const out = new Float64Array(SLOTS);
        index.fairOverlap(seq, out);
        return out;
      });
      const lengths = Uint32Array.from({ length: 12 }, () => random.between(0, seq.length));
      both(`exclusive within lengths, session ${session}, ${maxOwners} owners`, (index) => {
        const out = new Uint32Array(lengths.length);
        index.exclusiveWithin(session, seq, maxOwners, lengths, out);
        return out;
      });
      both('fair within lengths', (index) => {
        const out = new Float64Array(lengths.length);
        index.fairWithin(seq, lengths, out);
        return out;
      });
      const slot = random.below(SLOTS);
      both(`blocks of session ${session} alone on slot ${slot}`, (index) =>
        index.enumerateExclusive(slot, session),
      );
    };

    for (let slot = 0; slot < SLOTS; slot++) {
      for (const index of indexes) index.addSlot();
      const held = chain.subarray(0, slot === 0 ? blocks : random.between(1, blocks));
      const holes = held.filter(() => slot > 2 && random.oneIn(10));
      both('store', (index) => index.store(slot, 1, held, undefined, 0, new Float64Array(RESULT_LENGTH)));
      both('remove', (index) => index.remove(slot, 1, holes, new Float64Array(RESULT_LENGTH)));
    }
    const live: number[] = [];
    for (let i = 0; i < sessions; i++) {
      live.push(own(0));
      if (i % 8 === 0) query(random.oneOf(live));
    }
    for (let i = 0; i < 40; i++) query(random.oneOf([0, ...live]));
    while (live.length > 0) {
      const [session] = live.splice(random.below(live.length), 1) as [number];
      if (random.oneIn(5)) own(session);
      both('endSession', (index) => index.endSession(session));
      if (live.length < 10 || live.length % 8 === 0) for (const other of live.slice(0, 3)) query(other);
    }
    query(0);
    both('validate', (index) => index.validate());
    for (const index of indexes) index.close();
  });
});
