/** Behaviours of KV-aware routers that break in the field, each with its right answer: hashes and ids. */
import { expect, test } from 'vitest';
import { BlockHasher, KvIndex, type Namespace } from '../../src/index.js';
import { codeOf, hashes, tokensFrom } from '../kv-index/support.js';

/** Seq hashes of tokens 1 … 72 in blocks of 24 and no namespace, also in the golden vectors. */
const PINNED = [2170110490236357804n, 3924955111797759520n, 8085246896161709452n];

const tokens = tokensFrom(1, 72);
const hashed = (namespace: Namespace) => new BlockHasher({ namespace }).seqHashes(tokens);

test('hashes of the scheme are pinned', () => {
  expect([...hashed({})]).toEqual(PINNED);
  expect([...new KvIndex().lookupTokens(tokens).seqHashes]).toEqual(PINNED);
});

test('namespace fields do not stand in for one another, nor run together', () => {
  const namespaces: Namespace[] = [
    {},
    { model: 'x' },
    { lora: 'x' },
    { salt: 'x' },
    { tenant: 'x' },
    { lora: 'ab', salt: 'c' },
    { lora: 'a', salt: 'bc' },
    { lora: 'abc' },
  ];
  const firsts = namespaces.map((namespace) => hashed(namespace)[0]);
  expect(new Set(firsts).size).toBe(namespaces.length);
});

test('both sides of a LoRA request hash alike', () => {
  const lora = { model: 'm', lora: 'adapter' };
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashed(lora));
  expect([...index.lookupTokens(tokens, { namespace: lora }).overlap]).toEqual([3]);
  expect([...index.lookupTokens(tokens, { namespace: { model: 'm' } }).overlap]).toEqual([0]);
  expect([...index.lookupTokens(tokens, { namespace: { model: 'm', salt: 'adapter' } }).overlap]).toEqual([
    0,
  ]);
});

test('hashes up to 2^64 − 1 and negative ones are taken as u64, a Number above 2^53 is refused', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(2n ** 64n - 1n, 2n ** 63n));
  expect(index.contains(-1n)).toBe(true);
  expect(index.contains(-(2n ** 63n))).toBe(true);
  expect(index.store(a, hashes(4), { parent: -(2n ** 63n) })).toMatchObject({ applied: 1, orphaned: 0 });
  expect([...index.enumerate(a)]).toEqual([4n, 2n ** 63n, 2n ** 64n - 1n]);
  for (const lost of [2 ** 53, 2 ** 64, 2n ** 64n]) {
    expect(codeOf(() => index.contains(lost))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  }
});

test('ids are never cut to 32 bits', () => {
  const index = new KvIndex();
  const a = index.addWorker('a');
  index.store(a, hashes(1));
  expect(index.contains(2n ** 32n + 1n)).toBe(false);
  index.store(a, hashes(2n ** 32n + 1n));
  expect(index.residentBlocks(a)).toBe(2);
  index.remove(a, hashes(1));
  expect([...index.enumerate(a)]).toEqual([2n ** 32n + 1n]);
});
