import { expect, it } from 'vitest';
import { decodeEventBatch, decodeTensorRtEvents, KvidxError } from '../../src/index.js';
import { Random } from '../../src/random.js';
import { batch } from './build.js';

const random = new Random(6);
const below = (n: number) => Math.floor(random.uniform() * n);

const GOOD = [
  batch(
    ['BlockStored', [1n, 2n], 3n, [1, 2, 3, 4], 2, null, 'GPU', null, [['a', ['b', 1]], null]],
    ['AllBlocksCleared'],
  ),
  batch({
    type: 'BlockStored',
    block_hashes: [new Uint8Array(32)],
    token_ids: [],
    block_size: 0,
    medium: 'CPU',
  }),
  batch(['BlockRemoved', [5n], 'GPU', 0], { type: 'BlockRemoved', block_hashes: [-7n] }, ['Later', {}]),
];

function onlyBadEvents(decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(KvidxError);
    expect(error).toMatchObject({ code: 'ERR_KVIDX_BAD_EVENT' });
  }
}

function mutated(good: Uint8Array): Uint8Array {
  const bytes = good.slice(0, random.uniform() < 0.2 ? below(good.length) : good.length);
  const changes = 1 + below(4);
  for (let i = 0; i < changes && bytes.length > 0; i++) bytes[below(bytes.length)] = below(256);
  return bytes;
}

it('random bytes and mutated batches decode or are bad, nothing else', () => {
  for (let i = 0; i < 1000; i++) {
    onlyBadEvents(() => decodeEventBatch(Uint8Array.from({ length: below(200) }, () => below(256))));
  }
  for (let i = 0; i < 2000; i++) onlyBadEvents(() => decodeEventBatch(mutated(GOOD[i % GOOD.length]!)));
});

it('mutated JSON decodes or is bad, nothing else', () => {
  const good =
    '[{"event_id":1,"data":{"type":"stored","parent_hash":18446744073709551615,"blocks":[{"block_hash":1,"tokens":[{"token_id":1,"token_extra_id":0}],"cache_level":0}]},"window_size":4}]';
  const pieces = ['null', '"', '[', ']', '{}', '-1', '1e400', '99999999999999999999', '\\', ','];
  for (let i = 0; i < 1000; i++) {
    const at = below(good.length);
    onlyBadEvents(() =>
      decodeTensorRtEvents(good.slice(0, at) + pieces[below(pieces.length)] + good.slice(at + below(8))),
    );
  }
});
