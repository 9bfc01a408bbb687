import { expect, test } from 'vitest';
import { BlockHasher, KvIndex, type Namespace } from '../../src/index.js';
import { hashes, tokensFrom } from './support.js';

const tokens = tokensFrom(1, 100);

function stored(blockSize: number, namespace?: Namespace): { index: KvIndex; seq: BigUint64Array } {
  const index = new KvIndex({ blockSize: 16 });
  const seq = new BlockHasher({ blockSize, ...(namespace && { namespace }) }).seqHashes(tokens);
  index.store(index.addWorker('a'), seq, { nowMs: 1000 });
  return { index, seq };
}

test('a hit tells the best worker and why the others have none', () => {
  const { index, seq } = stored(16);
  const b = index.addWorker('b');
  const late = index.addWorker('late');
  const cleared = index.addWorker('cleared');
  const tail = index.addWorker('tail');
  index.addWorker('new');
  index.store(b, seq.subarray(0, 2), { nowMs: 1500 });
  index.store(late, hashes(5), { nowMs: 1500 });
  index.store(cleared, seq);
  index.clear(cleared);
  index.store(tail, seq);
  index.remove(tail, seq.subarray(0, 1));
  const answer = index.explain({ tokens }, { nowMs: 2000 });
  expect(answer).toMatchObject({ reason: 'hit', blocks: 6 });
  expect(answer.message).toContain('"a" holds 6 of 6');
  expect(
    answer.workers.map(({ worker, reason, overlapBlocks }) => [worker.name, reason, overlapBlocks]),
  ).toEqual([
    ['a', 'hit', 6],
    ['b', 'hit', 2],
    ['late', 'first-block-elsewhere', 0],
    ['cleared', 'nothing-resident', 0],
    ['tail', 'head-missing', 0],
    ['new', 'no-stores-yet', 0],
  ]);
  expect(answer.workers[1]).toMatchObject({ residentBlocks: 2, lastStoreAgeMs: 500 });
  expect(answer.workers[5]).toMatchObject({ residentBlocks: 0, lastStoreAgeMs: undefined });
});

test('no workers', () => {
  expect(new KvIndex().explain({ tokens }).reason).toBe('no-workers');
});

test('no stores yet', () => {
  const index = new KvIndex();
  index.addWorker('a');
  expect(index.explain({ tokens }).reason).toBe('no-stores-yet');
});

test('a prompt shorter than one block', () => {
  const { index } = stored(16);
  const answer = index.explain({ tokens: tokens.subarray(0, 15) });
  expect(answer.reason).toBe('prompt-shorter-than-one-block');
  expect(answer.message).toContain('15 tokens');
  expect(index.explain({ seqHashes: hashes() }).reason).toBe('prompt-shorter-than-one-block');
});

test('hashes of another block size', () => {
  const answer = stored(64).index.explain({ tokens });
  expect(answer.reason).toBe('block-size-mismatch');
  expect(answer.message).toContain('64');
});

test('hashes of the empty, the default or a namespace seen before', () => {
  const empty = stored(16).index;
  expect(empty.explain({ tokens, namespace: { lora: 'x' } }).reason).toBe('namespace-differs');
  const other = stored(16, { salt: 'y' }).index;
  expect(other.explain({ tokens }).reason).toBe('first-block-unknown');
  other.lookupTokens(tokens, { namespace: { salt: 'y' } });
  const answer = other.explain({ tokens, namespace: { lora: 'y' } });
  expect(answer.reason).toBe('namespace-differs');
  expect(answer.message).toContain('{"salt":"y"}');
});

test('extra keys that the stored hashes lack', () => {
  const { index } = stored(16);
  expect(index.explain({ tokens, extraKeys: new Map([[0, [1n]]]) }).reason).toBe('extra-keys-differ');
});

test('a head that went while the rest stayed', () => {
  const { index, seq } = stored(16);
  index.remove(index.addWorker('a'), seq.subarray(0, 1));
  const answer = index.explain({ tokens });
  expect(answer.reason).toBe('head-missing');
  expect(answer.message).toContain('"a"');
});

test('nothing resident any more', () => {
  const { index } = stored(16);
  index.clear(index.addWorker('a'));
  expect(index.explain({ tokens }).reason).toBe('nothing-resident');
});

test('a first block that is owned but resident nowhere', () => {
  const { index, seq } = stored(16);
  index.own('s', seq);
  index.remove(index.addWorker('a'), seq);
  index.store(index.addWorker('a'), hashes(77));
  expect(index.explain({ tokens }).reason).toBe('first-block-not-resident');
});

test('a first block that nobody knows', () => {
  const { index } = stored(16);
  expect(index.explain({ tokens: tokensFrom(900, 50) }).reason).toBe('first-block-unknown');
  expect(index.explain({ seqHashes: hashes(1, 2) }).reason).toBe('first-block-unknown');
});

test('asking changes nothing', () => {
  const { index } = stored(16);
  const before = index.snapshot();
  index.explain({ tokens });
  index.explain({ seqHashes: hashes(4) });
  expect(index.snapshot()).toEqual(before);
});
