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

test('options of a worker are read before the state they may change', () => {
  const index = new KvIndex();
  const named = (first: () => void) => ({
    get capacity() {
      first();
      return 1;
    },
  });
  const worker = index.addWorker(
    'w',
    named(() => index.addWorker('w', { capacity: 5 })),
  );
  expect(index.workers()).toEqual([worker]);
  expect(index.stats().workers[0]).toMatchObject({ capacity: 1 });

  const ttl = {
    get ttlMs() {
      index.removeWorker('w');
      return 1;
    },
  };
  expect(() => index.setCapacity(worker, 5, ttl)).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_UNKNOWN_WORKER' }),
  );
});

test('a full report is read before it is checked, and before the state', () => {
  const index = new KvIndex();
  const worker = index.addWorker('w');
  const seq = hashes(1, 2);
  const parentAfter = (first: () => void) => ({
    seq: hashes(7),
    get parent(): bigint {
      first();
      return 6n;
    },
  });
  const detach = () => structuredClone(seq.buffer, { transfer: [seq.buffer as ArrayBuffer] });
  expect(() => index.replace(worker, [{ seq }, parentAfter(detach)])).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
  );
  expect(index.residentBlocks(worker)).toBe(0);

  expect(() => index.replace(worker, [parentAfter(() => index.removeWorker('w'))])).toThrow(
    expect.objectContaining({ code: 'ERR_KVIDX_UNKNOWN_WORKER' }),
  );

  const other = index.addWorker('w');
  const report = [parentAfter(() => report.push({ seq: hashes(9), parent: 8n }))];
  expect(index.replace(other, report as { seq: BigUint64Array }[])).toMatchObject({ applied: 2 });
});

test('the block size cannot be changed', () => {
  const index = new KvIndex({ blockSize: 4 });
  expect(() => Object.assign(index, { blockSize: 2 })).toThrow(TypeError);
  expect(index.blockSize).toBe(4);
});
