import { expect, test } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { hashes } from './support.js';

const at = (nowMs: number, first: () => void) => ({
  get nowMs() {
    first();
    return nowMs;
  },
});

test('options are read before the state they may change', () => {
  const index = new KvIndex();
  const worker = index.addWorker('w');

  index.own(
    's',
    hashes(1),
    at(1, () => index.own('s', hashes(2))),
  );
  expect(index.stats().sessions).toBe(1);
  expect(index.endSession('s')).toBe(2);

  expect(() =>
    index.store(
      worker,
      hashes(1),
      at(1, () => index.removeWorker('w')),
    ),
  ).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_UNKNOWN_WORKER' }));

  const closing = new KvIndex();
  const other = closing.addWorker('w');
  expect(() =>
    closing.store(
      other,
      hashes(1),
      at(1, () => closing.close()),
    ),
  ).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_CLOSED' }));
});

test('the block size cannot be changed', () => {
  const index = new KvIndex({ blockSize: 4 });
  expect(() => Object.assign(index, { blockSize: 2 })).toThrow(TypeError);
  expect(index.blockSize).toBe(4);
});
