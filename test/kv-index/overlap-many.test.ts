import { describe, expect, test } from 'vitest';
import { KvIndex } from '../../src/index.js';
import { hashes } from './support.js';

/** Worker a holds 1 … 5, worker b 1, 2, 4 and what branches off behind 2. */
function twoWorkers(): KvIndex {
  const index = new KvIndex();
  const [a, b] = [index.addWorker('a'), index.addWorker('b')];
  index.store(a, hashes(1, 2, 3, 4, 5));
  index.store(b, hashes(1, 2));
  index.store(b, hashes(4), { parent: 3n });
  index.store(b, hashes(20, 21), { parent: 2n });
  return index;
}

describe('overlapMany', () => {
  test('answers a row a request, in either mode', () => {
    const index = twoWorkers();
    const requests = [hashes(1, 2, 3, 4, 5), hashes(), hashes(1, 2, 20, 21, 22), hashes(9, 1), hashes(4, 5)];
    expect([...index.overlapMany(requests)]).toEqual([5, 2, 0, 0, 2, 4, 0, 0, 2, 1]);
    expect([...index.overlapMany(requests, { mode: 'set' })]).toEqual([5, 3, 0, 0, 2, 4, 1, 1, 2, 1]);
  });

  test('takes the same request several times, parts of arrays, and more than are under way at once', () => {
    const index = twoWorkers();
    const one = hashes(7, 1, 2, 3, 8);
    const requests = Array.from({ length: 100 }, (_, k) => (k % 3 === 2 ? one.subarray(1, 4) : one));
    const rows = requests.flatMap((_, k) => (k % 3 === 2 ? [3, 2] : [0, 0]));
    expect([...index.overlapMany(requests)]).toEqual(rows);
  });

  test('answers few requests after very many, and many again', () => {
    const index = twoWorkers();
    const one = hashes(1, 2, 3);
    for (const n of [40_000, 2, 40_000, 0, 3]) {
      const answer = index.overlapMany(new Array<BigUint64Array>(n).fill(one));
      expect(answer.length).toBe(2 * n);
      expect(answer.every((blocks, at) => blocks === 3 - (at % 2))).toBe(true);
    }
    index.close();
    expect(() => index.overlapMany([one])).toThrow(expect.objectContaining({ code: 'ERR_KVIDX_CLOSED' }));
  });

  test('fills and answers the array of the caller', () => {
    const index = twoWorkers();
    const out = new Uint32Array(6).fill(7).subarray(1, 5);
    expect(index.overlapMany([hashes(1), hashes(8)], { out })).toBe(out);
    expect([...new Uint32Array(out.buffer)]).toEqual([7, 1, 1, 0, 0, 7]);
  });

  test('leaves the array of the caller as it is where a request is none', () => {
    const index = twoWorkers();
    const out = new Uint32Array(4).fill(7);
    const requests = [hashes(1), [1n] as unknown as BigUint64Array];
    expect(() => index.overlapMany(requests, { out })).toThrow(/^requests\[1\] must be/);
    expect([...out]).toEqual([7, 7, 7, 7]);
  });

  test('answers nothing without requests, and none without workers', () => {
    expect(twoWorkers().overlapMany([])).toEqual(new Uint32Array());
    expect(new KvIndex().overlapMany([hashes(1), hashes()])).toEqual(new Uint32Array());
  });

  test('looks at requests when all of them were read', () => {
    const index = twoWorkers();
    const requests = [hashes(1, 2)];
    Object.defineProperty(requests, 1, {
      get() {
        structuredClone(requests[0], { transfer: [requests[0]!.buffer as ArrayBuffer] });
        return hashes(1);
      },
    });
    expect(() => index.overlapMany(requests)).toThrow(
      expect.objectContaining({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' }),
    );
  });
});
