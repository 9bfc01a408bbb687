import { encode } from '@msgpack/msgpack';
import { expect, it } from 'vitest';
import { batchTime } from '../../../src/events/stream/batch-time.js';

it.each([1.5, 1789095808.83, 0, 7, 200, 60_000, 2 ** 31, 2 ** 40, -1, -100, -30_000, -(2 ** 31), -(2 ** 40)])(
  'reads the time %d of a batch',
  (time) => {
    expect(batchTime(encode([time, [], 0]))).toBe(time);
  },
);

it('reads it behind every header of an array', () => {
  const time = encode(1789095808.83);
  for (const header of [[0x93], [0xdc, 0, 3], [0xdd, 0, 0, 0, 3]]) {
    expect(batchTime(Uint8Array.of(...header, ...time))).toBe(1789095808.83);
  }
  expect(batchTime(encode([Math.fround(0.1)], { forceFloat32: true }))).toBe(Math.fround(0.1));
});

it('reads none where there is none', () => {
  const whole = encode([1789095808.83, []]);
  for (let length = 0; length < 10; length++) expect(batchTime(whole.subarray(0, length))).toBeUndefined();
  for (const value of [[], ['x'], [null], { ts: 1 }, 5]) expect(batchTime(encode(value))).toBeUndefined();
});
