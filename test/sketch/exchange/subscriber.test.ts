import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeFrame } from '../../../src/sketch/frame.js';
import { codeOf, range } from '../../kv-index/support.js';
import { AWAY } from './cranked-transport.js';
import { following, pass, subscriberOf } from './sides.js';
import { delta, full } from './support.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

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

  it('has the latest frame at once, and asks for none when live ones follow', async () => {
    const { subscriber, send, store, wishes } = subscriberOf({ wantEveryMs: 1000 });
    store(full(5, 0));
    const sketch = subscriber.follow('w');
    await pass();
    expect([sketch.sketch?.sequence, sketch.degraded, subscriber.stats().degraded]).toEqual([
      0,
      'unconfirmed',
      1,
    ]);
    await pass(999);
    send(delta(5, 1));
    expect([sketch.sketch?.sequence, sketch.degraded]).toEqual([1, undefined]);
    await pass(9000);
    expect([wishes(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('asks for a full frame when no live one confirms what it read', async () => {
    const { subscriber, send, store, wishes } = subscriberOf({ wantEveryMs: 1000 });
    store(full(5, 0));
    const sketch = subscriber.follow('w');
    await pass(999);
    expect([sketch.degraded, wishes()]).toEqual(['unconfirmed', 0]);
    await pass(101);
    expect(wishes()).toBe(1);
    await pass(10_000);
    expect(wishes()).toBeGreaterThan(9);
    send(full(5, 3));
    expect([sketch.sketch?.sequence, sketch.degraded]).toEqual([3, undefined]);
  });

  it('asks at once when a live frame shows that others are missing', async () => {
    const { subscriber, send, store, wishes } = subscriberOf({ wantEveryMs: 1000 });
    store(full(5, 0));
    const sketch = subscriber.follow('w');
    await pass();
    send(delta(5, 7));
    expect(sketch.degraded).toBe('gap');
    await pass(100);
    expect(wishes()).toBe(1);
  });

  it('is confirmed by a live frame that is no news', async () => {
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
    expect([sketch.sketch?.epoch, sketch.degraded, wishes()]).toEqual([5, 'unconfirmed', 1]);
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
    expect([sketch.sketch?.epoch, sketch.degraded]).toEqual([5, 'unconfirmed']);
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
    await pass(1000); // pauses are a second and up to a tenth of one: the fourth ends in this second, the fifth does not
    expect(wishes()).toBe(1);
  });
});
