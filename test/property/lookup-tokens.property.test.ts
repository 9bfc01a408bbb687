import { describe, expect, it } from 'vitest';
import { type CoreIndex, type FlatExtraKeys, RESULT_LENGTH } from '../../src/native/seam.js';
import { reference, tested } from './backends.js';
import { Random, seedOfRun } from './random.js';

const SLOTS = 5;

describe(`lookupTokens of the ${tested.name} index against the reference index`, () => {
  it('hashes and counts alike, with and without extra keys', { timeout: 120_000 }, () => {
    const seed = seedOfRun('lookup-tokens');
    for (let round = 0; round < 60; round++) {
      const random = new Random(seed + round);
      const blockSize = random.oneOf([1, 3, 24]);
      const root = random.oneIn(2) ? 0n : 0xfedc_ba98_7654_3210n;
      const indexes = [tested, reference].map((seam) =>
        seam.createIndex({ maxSessions: 4, maxBlocks: 0, evictedHistory: 0 }),
      );
      for (const index of indexes) for (let i = 0; i < SLOTS; i++) index.addSlot();
      let tokens: number[] = [];
      for (let turn = 0; turn < 40; turn++) {
        if (random.oneIn(4)) tokens = tokens.slice(0, random.below(tokens.length + 1));
        for (let n = random.below(5 * blockSize); n > 0; n--) tokens.push(random.below(2 ** 32));
        const extra = random.oneIn(3) ? extraKeys(random, Math.floor(tokens.length / blockSize)) : undefined;
        const slot = random.below(SLOTS);
        const session = random.below(6);
        const maxOwners = random.oneOf([1, 2, 8]);
        const [actual, expected] = indexes.map((index) => {
          const answer = lookUp(index, Uint32Array.from(tokens), blockSize, root, extra, session, maxOwners);
          const result = new Float64Array(RESULT_LENGTH);
          index.store(slot, 1, answer.seq, undefined, turn, result);
          index.own(session, answer.seq, turn, result);
          return answer;
        });
        expect(actual, `KVIDX_SEED=${seed}, round ${round}, turn ${turn}`).toEqual(expected);
      }
      for (const index of indexes) index.close();
    }
  });
});

function lookUp(
  index: CoreIndex,
  tokens: Uint32Array,
  blockSize: number,
  root: bigint,
  extra: FlatExtraKeys | undefined,
  session: number,
  maxOwners: number,
) {
  const seq = new BigUint64Array(Math.floor(tokens.length / blockSize));
  const overlap = new Uint32Array(SLOTS);
  const exclusive = new Uint32Array(SLOTS);
  const fair = new Float64Array(SLOTS);
  index.lookupTokens(tokens, blockSize, root, extra, session, maxOwners, seq, overlap, exclusive, fair);
  const bare = new Uint32Array(SLOTS);
  index.lookupTokens(tokens, blockSize, root, extra, session, maxOwners, seq, bare, undefined, undefined);
  return { seq, overlap, exclusive, fair, bare };
}

function extraKeys(random: Random, blockCount: number): FlatExtraKeys {
  const blocks: number[] = [];
  for (let block = 0; block < blockCount; block++) {
    for (let n = random.below(3); n > 0; n--) blocks.push(block);
  }
  const keys = blocks.map((block, i) => BigInt(block * 1000 + i));
  return { blocks: Uint32Array.from(blocks), keys: BigUint64Array.from(keys) };
}
