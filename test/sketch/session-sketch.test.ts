import { describe, expect, it } from 'vitest';
import { KvIndex } from '../../src/kv-index/index.js';
import { decodeFrame } from '../../src/sketch/frame.js';
import { sessionSketch } from '../../src/sketch/session-sketch.js';
import type { FullFrame } from '../../src/sketch/types.js';
import { codeOf, filled, hashes, range } from '../kv-index/support.js';

function sketchOf(...args: Parameters<typeof sessionSketch>): FullFrame {
  return decodeFrame(sessionSketch(...args)) as FullFrame;
}

describe('sessionSketch', () => {
  it('holds what is resident on the worker and owned by that session alone', () => {
    const index = new KvIndex();
    const { a, b } = filled(index);
    const ofS = sketchOf(index, a, 's', { targetFpp: 1e-6 });
    expect(ofS.keys).toBe(1);
    expect([...ofS.filter.test(hashes(1, 2, 3, 4, 5))]).toEqual([0, 0, 1, 0, 0]);
    const ofT = sketchOf(index, b, 't', { targetFpp: 1e-6 });
    expect(ofT.keys).toBe(1);
    expect([...ofT.filter.test(hashes(1, 2, 3, 4, 5, 70))]).toEqual([0, 0, 0, 1, 0, 0]);
  });

  it('is a full frame with names, time and size', () => {
    const index = new KvIndex({ blockSize: 16 });
    const worker = index.addWorker('decode-3', { dpRank: 1 });
    index.store(worker, range(0, 1000));
    index.own('chat', range(0, 1000));
    const sketch = sketchOf(index, worker, 'chat', { targetFpp: 0.1, nowMs: 1234.5 });
    const { filter, ...head } = sketch;
    expect(head).toEqual({
      kind: 'full',
      worker: 'decode-3',
      session: 'chat',
      epoch: 1234,
      sequence: 0,
      timestampMs: 1234,
      keys: 1000,
      targetFpp: 0.1,
      blockSize: 16,
    });
    expect(filter.z).toBe(24);
    expect(filter.leadingBlocks(range(0, 1000))).toBe(1000);
    expect(sketchOf(index, worker, 'chat', { epoch: 7, nowMs: 9 })).toMatchObject({
      epoch: 7,
      timestampMs: 9,
    });
  });

  it('of a session that owns nothing there is empty', () => {
    const index = new KvIndex();
    const { a } = filled(index);
    for (const session of ['t', 'unknown']) {
      const { keys, filter } = sketchOf(index, a, session);
      expect(keys).toBe(0);
      expect(filter.countBlocks(range(0, 100))).toBe(0);
    }
  });

  it('replaces an earlier one of the session by its epoch', () => {
    const index = new KvIndex();
    const { a } = filled(index);
    const before = Date.now();
    const { epoch, timestampMs } = sketchOf(index, a, 's');
    expect(epoch).toBeGreaterThanOrEqual(before);
    expect(epoch).toBeLessThanOrEqual(Date.now());
    expect(timestampMs).toBe(epoch);
  });

  it('is refused for wrong options, names and handles', () => {
    const index = new KvIndex();
    const { a } = filled(index);
    for (const options of [{ targetFpp: 0 }, { nowMs: -1 }, { epoch: 0.5 }, { nowMs: 2 ** 60 }]) {
      expect(codeOf(() => sessionSketch(index, a, 's', options))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    expect(codeOf(() => sessionSketch(index, a, ''))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(codeOf(() => sessionSketch(index, a, 's'.repeat(70_000)))).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(codeOf(() => sessionSketch(index, a, 7 as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    expect(codeOf(() => sessionSketch(index, {} as never, 's'))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    expect(codeOf(() => sessionSketch({} as never, a, 's'))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    index.removeWorker(a);
    expect(codeOf(() => sessionSketch(index, a, 's'))).toBe('ERR_KVIDX_UNKNOWN_WORKER');
    index.close();
    expect(codeOf(() => sessionSketch(index, a, 's'))).toBe('ERR_KVIDX_CLOSED');
  });
});
