import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeFrame } from '../../../src/sketch/frame.js';
import { SketchSubscriber } from '../../../src/sketch/subscriber.js';
import type { SketchFrame, SketchSubscriberOptions } from '../../../src/sketch/types.js';
import { codeOf, range } from '../../kv-index/support.js';
import { Random } from '../../property/random.js';
import { patched } from '../frames.js';
import { AWAY, CrankedTransport } from './cranked-transport.js';
import { clear, delta, full } from './support.js';

const KEY = 'kvidx-sketch:w';
const WISHES = 'kvidx-sketch:w:want';

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets promises settle, and time pass. */
const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

function subscriberOf(options: Partial<SketchSubscriberOptions> = {}) {
  const transport = new CrankedTransport();
  const errors: { error: unknown; worker: string }[] = [];
  const subscriber = new SketchSubscriber({
    transport,
    onError: (error, worker) => errors.push({ error, worker }),
    ...options,
  });
  const send = (...frames: (SketchFrame | Uint8Array)[]) => {
    for (const frame of frames)
      transport.inject(KEY, frame instanceof Uint8Array ? frame : encodeFrame(frame));
  };
  const store = (frame: SketchFrame | Uint8Array) =>
    transport.latest.set(KEY, { bytes: frame instanceof Uint8Array ? frame : encodeFrame(frame), ttlMs: 1 });
  const wishes = () => transport.count(WISHES);
  return { transport, errors, subscriber, send, store, wishes };
}

/** One that follows w and has 5.0. */
async function following(options: Partial<SketchSubscriberOptions> = {}) {
  const made = subscriberOf(options);
  made.store(full(5, 0));
  const sketch = made.subscriber.follow('w');
  await pass();
  return { ...made, sketch, at: () => sketch.sketch && `${sketch.sketch.epoch}.${sketch.sketch.sequence}` };
}

describe('a worker that joins', () => {
  it('is empty, and asked about, until its first frame', async () => {
    const { subscriber, send, wishes } = subscriberOf();
    const sketch = subscriber.follow('w');
    const asked = range(0, 20);
    expect([sketch.worker, sketch.sketch, sketch.degraded, sketch.ageMs()]).toEqual([
      'w',
      undefined,
      'empty',
      undefined,
    ]);
    expect([sketch.leadingBlocks(asked), sketch.countBlocks(asked)]).toEqual([0, 0]);
    expect(codeOf(() => sketch.leadingBlocks([1n] as unknown as BigUint64Array))).toBe(
      'ERR_KVIDX_INVALID_ARG_TYPE',
    );
    await pass();
    expect(wishes()).toBe(1);
    send(full(5, 0));
    expect([sketch.degraded, sketch.leadingBlocks(asked), sketch.countBlocks(asked)]).toEqual([
      undefined,
      20,
      20,
    ]);
  });

  it('has the latest frame at once, and asks for none', async () => {
    const { sketch, at, wishes } = await following();
    expect([at(), sketch.degraded, sketch.ageMs(), wishes()]).toEqual(['5.0', undefined, 0, 0]);
    await pass(10_000);
    expect([sketch.ageMs(), wishes(), vi.getTimerCount()]).toEqual([10_000, 0, 0]);
  });

  it('applies the latest frame before those that came while it was read', async () => {
    const { transport, subscriber, send, store } = subscriberOf();
    store(full(5, 2));
    const release = transport.hold('getLatest');
    const sketch = subscriber.follow('w');
    await pass();
    send(delta(5, 2), delta(5, 3), delta(5, 4));
    expect(sketch.sketch).toBeUndefined();
    release();
    await pass();
    expect([sketch.sketch?.sequence, sketch.degraded]).toEqual([4, undefined]);
    expect(subscriber.stats()).toMatchObject({ full: 1, delta: 2, old: 1, gaps: 0, wanted: 0 });
  });

  it('keeps 256 of the frames that wait, the newest ones', async () => {
    const { transport, subscriber, send, store } = subscriberOf();
    store(full(5, 0));
    const release = transport.hold('getLatest');
    const sketch = subscriber.follow('w');
    await pass();
    for (let sequence = 1; sequence <= 300; sequence++) send(delta(5, sequence));
    release();
    await pass();
    expect([sketch.sketch?.sequence, sketch.degraded, subscriber.stats().gaps]).toEqual([0, 'gap', 256]);
  });

  it('keeps no more frames that wait than there is room for', async () => {
    const bytes = encodeFrame(delta(5, 1)).length;
    const { transport, subscriber, send, store } = subscriberOf({ maxBytes: 3 * bytes + 1 });
    store(full(5, 0));
    const release = transport.hold('getLatest');
    const sketch = subscriber.follow('w');
    await pass();
    for (let sequence = 1; sequence <= 5; sequence++) send(delta(5, sequence));
    release();
    await pass();
    expect([sketch.degraded, subscriber.stats().gaps]).toEqual(['gap', 3]);
    send(full(5, 9), delta(5, 10)); // none wait any more: there is room again
    expect(sketch.sketch?.sequence).toBe(10);
  });

  it('does without the latest frame when it cannot be read, and reads it later', async () => {
    const { transport, errors, subscriber, store, wishes } = subscriberOf({ wantEveryMs: 1000 });
    transport.failing.add('getLatest');
    const sketch = subscriber.follow('w');
    await pass();
    expect([sketch.degraded, errors, wishes()]).toEqual(['transport', [{ error: AWAY, worker: 'w' }], 1]);
    store(full(5, 0));
    transport.failing.clear();
    await pass(1100);
    expect([sketch.sketch?.epoch, sketch.degraded, wishes()]).toEqual([5, undefined, 1]);
  });

  it('goes on with live frames when the latest one cannot be read', async () => {
    const { transport, subscriber, send } = subscriberOf();
    transport.failing.add('getLatest');
    const sketch = subscriber.follow('w');
    await pass();
    send(full(5, 0), delta(5, 1));
    expect([sketch.sketch?.sequence, sketch.degraded]).toEqual([1, undefined]);
  });

  it('subscribes later when the store refuses', async () => {
    const { transport, errors, subscriber, store } = subscriberOf({ wantEveryMs: 1000 });
    transport.setAway(true);
    const sketch = subscriber.follow('w');
    await pass(5000);
    expect([sketch.degraded, errors]).toEqual(['transport', [{ error: AWAY, worker: 'w' }]]);
    store(full(5, 0));
    transport.setAway(false);
    await pass(1100);
    expect([sketch.sketch?.epoch, sketch.degraded]).toEqual([5, undefined]);
  });

  it('asks while a latest frame is damaged', async () => {
    const { errors, subscriber, store, wishes } = subscriberOf();
    store(Uint8Array.of(1, 2, 3));
    const sketch = subscriber.follow('w');
    await pass();
    expect([sketch.degraded, errors.length, wishes()]).toEqual(['bad-frame', 1, 1]);
  });
});

describe('a full frame is asked for', () => {
  it('at once, give or take chance, and then every so often', async () => {
    const { sketch, send, wishes, subscriber } = await following({ wantEveryMs: 1000 });
    send(delta(5, 2), delta(5, 3), delta(5, 4));
    expect([sketch.degraded, wishes()]).toEqual(['gap', 0]);
    await pass(100);
    expect(wishes()).toBe(1);
    await pass(899);
    expect(wishes()).toBe(1);
    await pass(10_000);
    expect(wishes()).toBeGreaterThan(9);
    expect(wishes()).toBeLessThan(13);
    send(full(5, 9));
    const asked = wishes();
    await pass(10_000);
    expect([wishes(), subscriber.stats().wanted, vi.getTimerCount()]).toEqual([asked, asked, 0]);
  });

  it('no more often, whatever frames come', async () => {
    const { sketch, send, wishes } = await following({ wantEveryMs: 1000 });
    let sequence = 0;
    for (let i = 0; i < 100; i++) {
      sequence += 2;
      send(delta(5, sequence));
      await pass(25);
      send(Uint8Array.of(1), full(5, sequence));
      await pass(25);
    }
    expect(sketch.degraded).toBeUndefined();
    expect(wishes()).toBeLessThan(12); // in 5 s
  });

  it('not when the gap closed meanwhile', async () => {
    const { send, wishes } = await following({ wantEveryMs: 1000 });
    send(delta(5, 2), full(5, 3));
    await pass(5000);
    expect(wishes()).toBe(0);
  });

  it('again when the wish could not be sent', async () => {
    const { transport, errors, sketch, send, subscriber, wishes } = await following({ wantEveryMs: 1000 });
    transport.failing.add('publish');
    send(delta(5, 2));
    await pass(3000);
    expect([sketch.degraded, errors]).toEqual(['transport', [{ error: AWAY, worker: 'w' }]]);
    expect(subscriber.stats()).toMatchObject({ wanted: 0, transportErrors: 3 });
    transport.failing.clear();
    await pass(1100);
    expect(wishes()).toBe(1);
  });
});

describe('a connection that broke', () => {
  const interrupt = (transport: CrankedTransport) => {
    for (const { onInterrupted } of transport.listeners) onInterrupted?.();
  };

  it('degrades the sketch until the next frame follows', async () => {
    const { transport, errors, sketch, at, send, wishes } = await following({ wantEveryMs: 1000 });
    interrupt(transport);
    expect([at(), sketch.degraded]).toEqual(['5.0', 'transport']);
    send(delta(5, 1));
    expect([at(), sketch.degraded]).toEqual(['5.1', undefined]);
    await pass(5000);
    expect([wishes(), errors]).toEqual([0, []]);
  });

  it('is made up for by the latest frame when no other comes', async () => {
    const { transport, sketch, at, store, wishes } = await following({ wantEveryMs: 1000 });
    interrupt(transport);
    store(full(5, 7));
    await pass(1100);
    expect([at(), sketch.degraded, wishes()]).toEqual(['5.7', undefined, 0]);
  });

  it('is asked about when the latest frame is known already', async () => {
    const { transport, sketch, at, wishes } = await following({ wantEveryMs: 1000 });
    interrupt(transport);
    await pass(1100);
    expect([at(), sketch.degraded, wishes()]).toEqual(['5.0', 'transport', 1]);
  });
});

describe('bad input', () => {
  const worker = 56;
  const most = [0xff, 0xff, 0xff, 0xff];

  it.each<[string, Uint8Array]>([
    ['another magic', patched(full(6, 0), [0, [0x6b]])],
    ['another version', patched(full(6, 0), [4, [2]])],
    ['another scheme', patched(full(6, 0), [48, [2, 0]])],
    ['another block size', encodeFrame({ ...full(6, 0), blockSize: 16 })],
    ['cut short', encodeFrame(full(6, 0)).subarray(0, 100)],
    ['cut to nothing', new Uint8Array(0)],
    ['too long', new Uint8Array([...encodeFrame(full(6, 0)), 0])],
    ['a filter without blocks', patched(full(6, 0), [52, [0, 0, 0, 0]])],
    ['a filter of too many', patched(full(6, 0), [52, most])],
    ['a clear frame of too many', patched(clear(6, 0), [52, most])],
    ['lengths that disagree', patched(full(6, 0), [worker, [0xff, 0xff]])],
    ['a bad checksum', encodeFrame(full(6, 0)).map((byte, i) => (i === 20 ? 1 : byte))],
    ['another worker', encodeFrame({ ...full(6, 0), worker: 'v' })],
    ['a session', encodeFrame({ ...full(6, 0), session: 's' })],
    ['a delta of another filter', encodeFrame(delta(5, 1, 1, 0, 3))],
  ])('is refused, told, and keeps the old sketch: %s', async (_, bytes) => {
    const { errors, sketch, at, send, subscriber } = await following();
    send(bytes);
    expect([at(), sketch.leadingBlocks(range(0, 20)), sketch.degraded]).toEqual(['5.0', 20, 'bad-frame']);
    expect(errors).toEqual([
      { error: expect.objectContaining({ code: 'ERR_KVIDX_BAD_FRAME' }), worker: 'w' },
    ]);
    expect(subscriber.stats()).toMatchObject({ degraded: 1, badFrames: 1, full: 1 });
  });

  it('of random bytes, and of frames with random changes, harms nothing', async () => {
    const { at, send, subscriber } = await following();
    const random = new Random(7);
    const sound = [full(5, 0), delta(5, 0), clear(4, 0)].map((frame) => encodeFrame(frame));
    for (let i = 0; i < 3000; i++) {
      const bytes = random.oneIn(3)
        ? Uint8Array.from({ length: random.below(300) }, () => random.below(256))
        : sound[i % 3]!.slice();
      const changes = random.below(3);
      for (let k = 0; k < changes; k++) bytes[random.below(bytes.length)] = random.below(256);
      send(bytes.subarray(0, random.oneIn(5) ? random.below(bytes.length) : bytes.length));
    }
    expect(at()).toBe('5.0');
    const { badFrames, old } = subscriber.stats();
    expect(badFrames + old).toBe(3000);
  });

  it('of the past is counted, and changes nothing', async () => {
    const { sketch, at, send, subscriber } = await following();
    send(full(5, 0), delta(5, 0), full(4, 9), delta(4, 10), clear(4, 11));
    expect([at(), sketch.degraded, subscriber.stats().old]).toEqual(['5.0', undefined, 5]);
  });

  it('survives an onError that throws', async () => {
    const { at, sketch, send } = await following({
      onError: () => {
        throw new Error('bug');
      },
    });
    send(Uint8Array.of(1), full(6, 0));
    expect([at(), sketch.degraded]).toEqual(['6.0', undefined]);
  });
});

describe('room for filters', () => {
  it('is shared by all workers; what finds none is not asked for', async () => {
    const { transport, errors, sketch, at, send, subscriber, wishes } = await following({ maxBytes: 200 });
    const other = subscriber.follow('v');
    await pass();
    const before = wishes();
    transport.inject('kvidx-sketch:v', encodeFrame({ ...full(1, 0), worker: 'v' }));
    expect([other.sketch, other.degraded, errors.at(-1)]).toEqual([
      undefined,
      'capacity',
      { error: expect.objectContaining({ code: 'ERR_KVIDX_CAPACITY' }), worker: 'v' },
    ]);
    await pass(10_000);
    expect([wishes(), transport.count('kvidx-sketch:v:want')]).toEqual([before, 1]);
    expect(subscriber.stats()).toMatchObject({ workers: 2, degraded: 1, bytes: 128 });
    send(clear(6, 0, 1));
    expect([at(), sketch.degraded, subscriber.stats().bytes]).toEqual(['6.0', undefined, 32]);
    transport.inject('kvidx-sketch:v', encodeFrame({ ...full(1, 1), worker: 'v' }));
    expect([other.degraded, subscriber.stats().bytes]).toEqual([undefined, 160]);
  });
});

describe('following', () => {
  it('is shared by who follows the same worker, until the last one closes', async () => {
    const { transport, sketch, subscriber, send } = await following();
    const second = subscriber.follow('w');
    expect([second.sketch, subscriber.stats().workers, transport.listeners.size]).toEqual([
      sketch.sketch,
      1,
      1,
    ]);
    sketch.close();
    sketch.close();
    expect([sketch.sketch, sketch.degraded, sketch.ageMs()]).toEqual([undefined, 'empty', undefined]);
    send(delta(5, 1));
    expect(second.sketch?.sequence).toBe(1);
    second.close();
    await pass();
    expect([subscriber.stats().workers, subscriber.stats().bytes, transport.listeners.size]).toEqual([
      0, 0, 0,
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('begins anew after the last one closed', async () => {
    const { sketch, subscriber, store } = await following();
    sketch.close();
    store(full(5, 3));
    const again = subscriber.follow('w');
    expect(again.sketch).toBeUndefined();
    await pass();
    expect(again.sketch?.sequence).toBe(3);
  });

  it('leaves one subscription behind, however often it ends while the store does not answer', async () => {
    const { transport, subscriber, store } = subscriberOf({ maxWorkers: 1 });
    store(full(5, 0));
    const release = transport.hold('subscribe');
    for (let i = 0; i < 100; i++) subscriber.follow('w').close();
    expect(subscriber.stats().workers).toBe(0);
    expect(codeOf(() => subscriber.follow('v'))).toBe('ERR_KVIDX_CAPACITY');
    const last = subscriber.follow('w');
    const subscribing = vi.spyOn(transport, 'subscribe');
    release();
    await pass();
    expect([last.sketch?.epoch, transport.listeners.size, subscribing.mock.calls.length]).toEqual([5, 1, 0]);
    last.close();
    await pass();
    subscriber.follow('v');
  });

  it('ends a subscription that comes late', async () => {
    const { transport, subscriber } = subscriberOf();
    const release = transport.hold('subscribe');
    subscriber.follow('w').close();
    release();
    await pass();
    expect([transport.listeners.size, transport.count(WISHES), vi.getTimerCount()]).toEqual([0, 0, 0]);
  });

  it('may end while the latest frame is read', async () => {
    const { transport, subscriber, store, send, wishes } = subscriberOf();
    store(full(5, 0));
    const release = transport.hold('getLatest');
    const sketch = subscriber.follow('w');
    await pass();
    send(delta(5, 1));
    sketch.close();
    const again = subscriber.follow('w');
    release();
    await pass();
    expect([again.sketch?.sequence, transport.listeners.size, wishes()]).toEqual([0, 1, 0]);
  });

  it('is refused beyond maxWorkers', () => {
    const { subscriber } = subscriberOf({ maxWorkers: 2 });
    subscriber.follow('a');
    subscriber.follow('b');
    subscriber.follow('a');
    expect(codeOf(() => subscriber.follow('c'))).toBe('ERR_KVIDX_CAPACITY');
  });

  it.each<[string, unknown, string]>([
    ['no name', undefined, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['an empty one', '', 'ERR_KVIDX_OUT_OF_RANGE'],
    ['one of 70,000 bytes', 'w'.repeat(70_000), 'ERR_KVIDX_OUT_OF_RANGE'],
    ["that of another's wishes", 'w:want', 'ERR_KVIDX_OUT_OF_RANGE'],
  ])('is refused for a worker that there cannot be: %s', (_, worker, code) => {
    const { subscriber } = subscriberOf();
    expect(codeOf(() => subscriber.follow(worker as string))).toBe(code);
    expect(subscriber.stats().workers).toBe(0);
  });

  it('ends when the subscriber closes', async () => {
    const { transport, sketch, subscriber } = await following();
    const pending = transport.hold('subscribe');
    subscriber.follow('v');
    await subscriber.close();
    expect([sketch.sketch, sketch.degraded, subscriber.stats().workers]).toEqual([undefined, 'empty', 0]);
    expect(codeOf(() => subscriber.follow('w'))).toBe('ERR_KVIDX_CLOSED');
    sketch.close();
    pending();
    await pass();
    await subscriber.close();
    expect([transport.listeners.size, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

describe('options that make no subscriber', () => {
  it.each<[string, Partial<Record<keyof SketchSubscriberOptions, unknown>>, string]>([
    ['no transport', { transport: undefined }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a block size of 0', { blockSize: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a prefix that is none', { prefix: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['no workers', { maxWorkers: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['bytes below 0', { maxBytes: -1 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['no pause', { wantEveryMs: 0 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['a pause that no timer waits', { wantEveryMs: 2 ** 31 }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['yielding after NaN', { yieldAfterMs: Number.NaN }, 'ERR_KVIDX_OUT_OF_RANGE'],
    ['an onError that is none', { onError: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a clock that is none', { now: 1 }, 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('%s', (_, options, code) => {
    expect(codeOf(() => subscriberOf(options as Partial<SketchSubscriberOptions>))).toBe(code);
  });

  it('none at all', () => {
    const create = SketchSubscriber as unknown as new () => SketchSubscriber;
    expect(codeOf(() => new create())).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});
