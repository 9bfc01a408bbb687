import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeFrame } from '../../../src/sketch/frame.js';
import { codeOf, range } from '../../kv-index/support.js';
import { Random } from '../../property/random.js';
import { patched } from '../frames.js';
import { following, pass, subscriberOf, WISHES } from './sides.js';
import { clear, delta, full } from './support.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('bad input', () => {
  const worker = 56;
  const most = [0xff, 0xff, 0xff, 0xff];

  it.each<[string, Uint8Array]>([
    ['another magic', patched(full(6, 0), [0, [0x6b]])],
    ['another version', patched(full(6, 0), [4, [2]])],
    ['another scheme', patched(full(6, 0), [48, [2, 0]])],
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

  it('of another block size is told once, and no full frame is asked for, until one of its own comes', async () => {
    const { errors, sketch, at, send, subscriber, wishes } = await following({ wantEveryMs: 100 });
    const before = wishes();
    for (let sequence = 0; sequence < 5; sequence++) {
      send(encodeFrame({ ...full(6, sequence), blockSize: 16 }));
      await pass(1000);
    }
    expect([at(), sketch.degraded, wishes(), subscriber.stats().badFrames]).toEqual([
      '5.0',
      'block-size',
      before,
      5,
    ]);
    expect(errors.map(({ error }) => (error as Error).message)).toEqual([
      'sketch frame: its blocks have 16 tokens, here they have 24',
    ]);
    send(full(7, 0));
    expect([at(), sketch.degraded]).toEqual(['7.0', undefined]);
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
    expect(badFrames + old).toBe(3001);
  });

  it('of the past is counted, and changes nothing', async () => {
    const { sketch, at, send, subscriber } = await following();
    send(full(5, 0), delta(5, 0), full(5, 0));
    expect([at(), sketch.degraded, subscriber.stats().old]).toEqual(['5.0', undefined, 4]);
    send(full(4, 9), delta(4, 10), clear(4, 11));
    expect([at(), sketch.degraded, subscriber.stats().old]).toEqual(['5.0', 'lower-epoch', 7]);
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

  it.each<[string, (made: Awaited<ReturnType<typeof following>>) => void]>([
    ['a following is closed', ({ sketch }) => sketch.close()],
    ['a filter shrinks', ({ send }) => send(clear(6, 0))],
  ])('that is freed is asked for by who found none: %s', async (_, free) => {
    const made = await following({ maxBytes: 200, wantEveryMs: 1000 });
    const { transport, subscriber } = made;
    const other = subscriber.follow('v');
    await pass();
    const send = (sequence: number) =>
      transport.inject('kvidx-sketch:v', encodeFrame({ ...full(1, sequence), worker: 'v' }));
    send(0);
    await pass(10_000);
    expect([other.degraded, transport.count('kvidx-sketch:v:want')]).toEqual(['capacity', 1]);
    free(made);
    await pass(100);
    expect(transport.count('kvidx-sketch:v:want')).toBe(2);
    send(1);
    await pass(10_000);
    expect([other.degraded, transport.count('kvidx-sketch:v:want')]).toEqual([undefined, 2]);
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
