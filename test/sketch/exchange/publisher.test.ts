import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KvIndex } from '../../../src/kv-index/index.js';
import { encodeFrame } from '../../../src/sketch/frame.js';
import { SketchPublisher } from '../../../src/sketch/publisher.js';
import { residentOf } from '../../../src/sketch/resident.js';
import type { SketchPublisherOptions } from '../../../src/sketch/types.js';
import { codeOf, range } from '../../kv-index/support.js';
import { AWAY, CrankedTransport } from './cranked-transport.js';
import { full, Resident } from './support.js';

const KEY = 'kvidx-sketch:w';
const WISHES = 'kvidx-sketch:w:want';

beforeEach(() => {
  vi.useFakeTimers({ now: 5000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A publisher of 1,000 blocks, and what it told of. */
function publisherOf(options: Partial<SketchPublisherOptions> = {}) {
  const transport = new CrankedTransport();
  const resident = new Resident(range(0, 1000));
  const errors: unknown[] = [];
  const publisher = new SketchPublisher({
    transport,
    worker: 'w',
    resident,
    onError: (error) => errors.push(error),
    ...options,
  });
  /** `kind epoch.sequence` of all that was published. */
  const sent = () => transport.frames().map(({ kind, epoch, sequence }) => `${kind} ${epoch}.${sequence}`);
  return { transport, resident, errors, publisher, sent };
}

/** Lets promises settle, and time pass. */
const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

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

describe('start', () => {
  it('sends a frame at once and then every so often, until stop', async () => {
    const { publisher, sent } = publisherOf({ everyMs: 100 });
    publisher.start();
    publisher.start();
    await pass();
    expect(sent()).toEqual(['full 5000.0']);
    await pass(250);
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1', 'delta 5000.2']);
    publisher.stop();
    await pass(1000);
    expect(sent().length).toBe(3);
    publisher.start();
    await pass();
    expect(sent().length).toBe(4);
    await publisher.close();
  });

  it('leaves frames out while one takes long', async () => {
    const { transport, publisher, sent } = publisherOf({ everyMs: 100 });
    publisher.start();
    await pass();
    const release = transport.hold();
    await pass(1000);
    release();
    await pass();
    expect(sent()).toEqual(['full 5000.0', 'delta 5000.1']);
    await pass(100);
    expect(sent().length).toBe(3);
    expect(transport.mostPublishing).toBe(1);
    await publisher.close();
  });

  it('sends full frames by number and by time', async () => {
    const { publisher, sent } = publisherOf({ everyMs: 100, fullEvery: 4, fullEveryMs: 100_000 });
    publisher.start();
    await pass(800);
    expect(sent().map((frame) => frame.split(' ')[0])).toEqual([
      'full',
      'delta',
      'delta',
      'delta',
      'full',
      'delta',
      'delta',
      'delta',
      'full',
    ]);
    await publisher.close();
  });

  it('goes on after errors, which are told once each', async () => {
    const { transport, resident, errors, publisher, sent } = publisherOf({ everyMs: 100 });
    publisher.start();
    await pass();
    const bug = new Error('bug');
    vi.spyOn(resident, 'hashes').mockImplementationOnce(() => {
      throw bug;
    });
    await pass(100);
    transport.failing.add('publish');
    await pass(100);
    transport.failing.clear();
    await pass(100);
    expect([errors, sent()]).toEqual([
      [bug, AWAY],
      ['full 5000.0', 'full 5000.2'],
    ]);
    await publisher.close();
  });
});

describe('a wish for a full frame', () => {
  const wish = ({ transport }: { transport: CrankedTransport }) =>
    transport.inject(WISHES, new Uint8Array(0));

  it('is granted at once, then every so often', async () => {
    const made = publisherOf({ grantEveryMs: 200 });
    await made.publisher.publish();
    for (let i = 0; i < 5; i++) wish(made);
    await pass();
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1']);
    for (let i = 0; i < 5; i++) wish(made);
    await pass(199);
    expect(made.sent().length).toBe(2);
    await pass(1);
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1', 'full 5000.2']);
    await pass(10_000);
    expect([made.sent().length, made.publisher.stats().wanted]).toEqual([3, 10]);
  });

  it('is granted by a frame that goes out anyway', async () => {
    const made = publisherOf({ grantEveryMs: 200 });
    await made.publisher.publish();
    wish(made);
    await pass();
    wish(made);
    await made.publisher.publish();
    await pass(1000);
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1', 'full 5000.2']);
  });

  it('waits for the next frame after stop', async () => {
    const made = publisherOf();
    await made.publisher.publish();
    made.publisher.stop();
    wish(made);
    await pass(10_000);
    expect(made.sent()).toEqual(['full 5000.0']);
    await made.publisher.publish();
    expect(made.sent()).toEqual(['full 5000.0', 'full 5000.1']);
  });

  it('may say anything', async () => {
    const made = publisherOf();
    await made.publisher.publish();
    made.transport.inject(
      WISHES,
      Uint8Array.from({ length: 1000 }, (_, i) => i),
    );
    await pass();
    expect(made.sent().length).toBe(2);
  });

  it('is heard with a later frame when the store refused to listen', async () => {
    const made = publisherOf();
    made.transport.failing.add('subscribe');
    await made.publisher.publish();
    await pass();
    expect(made.errors).toEqual([AWAY]);
    made.transport.failing.clear();
    await made.publisher.publish();
    await pass();
    wish(made);
    await pass();
    expect(made.sent()).toEqual(['full 5000.0', 'delta 5000.1', 'full 5000.2']);
  });
});

describe('close', () => {
  it('waits for the frame under way, and rejects what waits behind it and comes later', async () => {
    const { transport, errors, publisher, sent } = publisherOf();
    await publisher.publish();
    transport.inject(WISHES, new Uint8Array(0));
    await pass();
    const release = transport.hold();
    const running = publisher.publish();
    const waiting = publisher.publish();
    const refused = expect(waiting).rejects.toMatchObject({ code: 'ERR_KVIDX_CLOSED' });
    const closing = publisher.close();
    release();
    await Promise.all([running, refused, closing]);
    await expect(publisher.publish()).rejects.toMatchObject({ code: 'ERR_KVIDX_CLOSED' });
    expect(codeOf(() => publisher.start())).toBe('ERR_KVIDX_CLOSED');
    await publisher.close();
    expect([sent(), transport.listeners.size, errors, vi.getTimerCount()]).toEqual([
      ['full 5000.0', 'full 5000.1', 'delta 5000.2'],
      0,
      [],
      0,
    ]);
  });

  it('says that nothing is resident when the worker leaves', async () => {
    const { transport, publisher, sent } = publisherOf();
    await publisher.publish();
    await publisher.close({ clear: true });
    expect(sent()).toEqual(['full 5000.0', 'clear 5000.1']);
    expect(transport.frames()[1]).toMatchObject({ z: 0, keys: 0 });
    expect(transport.latest.get(KEY)!.bytes).toEqual(transport.published.at(-1)!.bytes);
  });

  it('can say so as the first thing', async () => {
    const { transport, publisher, sent } = publisherOf();
    transport.latest.set(KEY, { bytes: encodeFrame(full(9000, 3)), ttlMs: 1 });
    await publisher.close({ clear: true });
    expect(sent()).toEqual(['clear 9001.0']);
  });

  it('rejects when that could not be said, and is closed', async () => {
    const { transport, publisher } = publisherOf();
    await publisher.publish();
    transport.failing.add('publish');
    await expect(publisher.close({ clear: true })).rejects.toBe(AWAY);
    expect([transport.listeners.size, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('ends a subscription to wishes that comes late', async () => {
    const { transport, publisher } = publisherOf();
    const subscribing = vi.spyOn(transport, 'subscribe');
    let late = (_: () => Promise<void>) => {};
    const leave = vi.fn(async () => {});
    subscribing.mockImplementationOnce(
      () =>
        new Promise((resolve) => {
          late = resolve;
        }),
    );
    await publisher.publish();
    await publisher.close();
    late(leave);
    await pass();
    expect(leave).toHaveBeenCalledOnce();
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

describe('options that make no publisher', () => {
  it.each<[string, Partial<Record<keyof SketchPublisherOptions, unknown>>, string]>([
    ['no transport', { transport: {} }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['no worker', { worker: undefined }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a worker without a name', { worker: '' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a name of half a character', { worker: '\ud800' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a name of 70,000 bytes', { worker: 'w'.repeat(70_000) }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a name of 70,000 bytes in fewer characters', { worker: 'ä'.repeat(35_000) }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ["the name of another's wishes", { worker: 'w:want' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['no resident blocks', { resident: { blockSize: 24 } }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a block size of 0', { resident: { blockSize: 0, hashes() {} } }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a block size beyond u16', { resident: { blockSize: 65_536, hashes() {} } }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a rate of 0', { targetFpp: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['headroom below 0', { headroom: -0.1 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['headroom that is no number', { headroom: '1' }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['an empty prefix', { prefix: '' }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['no pause', { everyMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a pause that no timer waits', { everyMs: 2 ** 31 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a full frame every 0 frames', { fullEvery: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a full frame every NaN ms', { fullEveryMs: Number.NaN }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['grants that no timer waits for', { grantEveryMs: 2 ** 31 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a life of 0', { latestTtlMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['an onError that is none', { onError: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a clock that is none', { now: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('%s', (_, options, code) => {
    expect(codeOf(() => publisherOf(options as Partial<SketchPublisherOptions>))).toBe(code);
  });

  it('of a call are refused, too', async () => {
    const { publisher, sent } = publisherOf();
    const wrong = { full: 1, clear: 'yes' } as never;
    await expect(publisher.publish(wrong)).rejects.toMatchObject({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    await expect(publisher.publish(1 as never)).rejects.toMatchObject({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    await expect(publisher.close(wrong)).rejects.toMatchObject({ code: 'ERR_KVIDX_INVALID_ARG_TYPE' });
    await publisher.publish();
    expect(sent()).toEqual(['full 5000.0']);
  });

  it('none at all', () => {
    const create = SketchPublisher as unknown as new () => SketchPublisher;
    expect(codeOf(() => new create())).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});
