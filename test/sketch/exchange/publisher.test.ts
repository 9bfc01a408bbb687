import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KvIndex } from '../../../src/kv-index/index.js';
import { encodeFrame } from '../../../src/sketch/frame.js';
import { residentOf } from '../../../src/sketch/resident.js';
import { range } from '../../kv-index/support.js';
import { AWAY, type CrankedTransport } from './cranked-transport.js';
import { KEY, pass, publisherOf } from './sides.js';
import { full } from './support.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 5000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('publish', () => {
  it('sends a full frame, stored for joiners, then deltas', async () => {
    const { transport, resident, publisher, sent } = publisherOf({ latestTtlMs: 7000 });
    const first = await publisher.publish();
    const bytes = transport.latest.get(KEY)!.bytes;
    expect(transport.latest.get(KEY)!.ttlMs).toBe(7000);
    expect(bytes).toEqual(transport.published[0]!.bytes);
    expect(first).toEqual({
      ...{ kind: 'full', epoch: 5000, sequence: 0, keys: 1000 },
      ...{ z: 46, sentBlocks: 46, bytes: bytes.length },
    });
    resident.add([5000n]);
    expect(await publisher.publish()).toMatchObject({
      kind: 'delta',
      sequence: 1,
      keys: 1001,
      z: 46,
      sentBlocks: 1,
    });
    expect(await publisher.publish()).toMatchObject({ kind: 'delta', sequence: 2, sentBlocks: 0 });
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1', 'delta 5000.2']);
    expect(transport.latest.get(KEY)!.bytes).toEqual(bytes);
    expect(publisher.stats()).toMatchObject({
      epoch: 5000,
      sequence: 2,
      keys: 1001,
      full: 1,
      delta: 2,
      failed: 0,
    });
    expect(publisher.stats().bytes).toBe(transport.published.reduce((sum, m) => sum + m.bytes.length, 0));
  });

  it('sends a full frame when it is told to', async () => {
    const { publisher, sent } = publisherOf();
    await publisher.publish();
    await publisher.publish({ full: true });
    await publisher.publish();
    expect(sent()).toEqual(['full 5000.0', 'full 5000.1', 'delta 5000.2']);
  });

  it('sends another full frame to who asks while the first one is begun', async () => {
    const { transport, publisher, sent } = publisherOf();
    const release = transport.hold('getLatest');
    const all = [publisher.publish(), publisher.publish({ full: true })];
    release();
    expect((await Promise.all(all)).map(({ kind }) => kind)).toEqual(['full', 'full']);
    expect(sent()).toEqual(['full 5000.0', 'full 5000.1']);
  });

  it('has one frame under way, and one more for all who asked meanwhile', async () => {
    const { transport, publisher, sent } = publisherOf();
    await publisher.publish();
    const release = transport.hold();
    const all = [1, 2, 3, 4].map(() => publisher.publish());
    all.push(publisher.publish({ full: true }));
    await pass();
    release();
    const sequences = (await Promise.all(all)).map(({ sequence }) => sequence);
    expect(sequences).toEqual([1, 2, 2, 2, 2]);
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1', 'full 5000.2']);
    expect(transport.mostPublishing).toBe(1);
  });

  it('begins above the latest epoch in the store', async () => {
    const { transport, publisher, sent } = publisherOf();
    transport.latest.set(KEY, { bytes: encodeFrame(full(9000, 3)), ttlMs: 1 });
    await publisher.publish();
    expect(sent()).toEqual(['full 9001.0']);
  });

  it.each<[string, (transport: CrankedTransport) => void]>([
    ['is unreadable', ({ latest }) => latest.set(KEY, { bytes: Uint8Array.of(1, 2, 3), ttlMs: 1 })],
    ['cannot be had', ({ failing }) => failing.add('getLatest')],
    [
      'is at the end of numbers',
      ({ latest }) => latest.set(KEY, { bytes: encodeFrame(full(Number.MAX_SAFE_INTEGER, 3)), ttlMs: 1 }),
    ],
  ])('begins by the clock when the latest frame %s', async (_, prepare) => {
    const { transport, errors, publisher, sent } = publisherOf();
    prepare(transport);
    await publisher.publish();
    expect([sent(), errors]).toEqual([['full 5000.0'], []]);
  });

  it('rejects what could not be sent; the next frame is full', async () => {
    const { transport, errors, publisher, sent } = publisherOf();
    await publisher.publish();
    transport.failing.add('publish');
    await expect(publisher.publish()).rejects.toBe(AWAY);
    expect([errors, publisher.stats().failed, publisher.stats().delta]).toEqual([[AWAY], 1, 0]);
    transport.failing.clear();
    await publisher.publish();
    expect(sent()).toEqual(['full 5000.0', 'full 5000.2']);
  });

  it('counts a frame once that could be neither stored nor sent', async () => {
    const { transport, errors, publisher } = publisherOf();
    transport.setAway(true);
    await expect(publisher.publish()).rejects.toBe(AWAY);
    expect([publisher.stats().failed, errors.includes(AWAY)]).toEqual([1, true]);
  });

  it('sends a full frame that could not be stored', async () => {
    const { transport, errors, publisher, sent } = publisherOf();
    transport.failing.add('setLatest');
    await publisher.publish();
    expect([sent(), errors, publisher.stats().failed]).toEqual([['full 5000.0'], [AWAY], 1]);
  });

  it('rejects with what the resident blocks throw, and nothing has changed', async () => {
    const { resident, errors, publisher, sent } = publisherOf();
    await publisher.publish();
    const bug = new Error('bug');
    vi.spyOn(resident, 'hashes').mockImplementationOnce(() => {
      throw bug;
    });
    await expect(publisher.publish({ full: true })).rejects.toBe(bug);
    vi.spyOn(resident, 'hashes').mockImplementationOnce(() => [1n] as unknown as BigUint64Array);
    await expect(publisher.publish()).rejects.toMatchObject({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    await publisher.publish();
    expect([sent(), errors]).toEqual([['full 5000.0', 'full 5000.1'], []]);
  });

  it('rejects when the clock is nonsense, and nothing has changed', async () => {
    let nowMs = 5000;
    const { publisher, sent } = publisherOf({ now: () => nowMs });
    await publisher.publish();
    for (nowMs of [Number.NaN, -1, 2 ** 53]) {
      await expect(publisher.publish()).rejects.toMatchObject({ code: 'ERR_KVIDX_OUT_OF_RANGE' });
    }
    nowMs = 5000.75;
    await publisher.publish();
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1']);
  });

  it('survives an onError that throws', async () => {
    const { transport, publisher } = publisherOf({
      onError: () => {
        throw new Error('bug');
      },
    });
    transport.failing.add('publish');
    await expect(publisher.publish()).rejects.toBe(AWAY);
  });
});

describe('a publisher of an index', () => {
  it('tells what a worker holds at each frame', async () => {
    const index = new KvIndex({ blockSize: 16 });
    const worker = index.addWorker('w');
    index.store(worker, range(0, 100));
    const { transport, publisher } = publisherOf({ resident: residentOf(index, worker) });
    await publisher.publish();
    index.remove(worker, range(50, 50));
    await publisher.publish();
    expect(transport.frames().map(({ keys, blockSize }) => [keys, blockSize])).toEqual([
      [100, 16],
      [50, 16],
    ]);
    index.close();
    await expect(publisher.publish()).rejects.toMatchObject({ code: 'ERR_KVIDX_CLOSED' });
  });
});
