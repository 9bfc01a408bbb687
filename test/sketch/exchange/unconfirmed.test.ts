import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SketchFrame } from '../../../src/sketch/types.js';
import { AWAY } from './cranked-transport.js';
import { following, pass } from './sides.js';
import { filled, State } from './states.js';
import { clear, delta, full } from './support.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('what did not come live', () => {
  const stored = (state: State, frame: SketchFrame) => state.apply(frame, state.nowMs, false);

  it.each<[string, SketchFrame]>([
    ['the very next delta', delta(5, 1)],
    ['a full frame', full(5, 4)],
    ['a clear one', clear(6, 0)],
    ['the same full frame', full(5, 0)],
    ['a delta of the same position', delta(5, 0)],
  ])('is unconfirmed until a live frame shows that nothing was missed: %s', (_, frame) => {
    const state = new State();
    stored(state, full(5, 0));
    expect([state.at, state.degraded]).toEqual(['5.0', 'unconfirmed']);
    state.take(frame);
    expect(state.degraded).toBeUndefined();
  });

  it.each<[string, SketchFrame]>([
    ['a delta of the past', delta(5, 2)],
    ['a full frame of the past', full(5, 2)],
  ])('is not confirmed by what is older: %s', (_, frame) => {
    const state = new State();
    stored(state, full(5, 3));
    expect([state.take(frame), state.degraded]).toEqual([['old'], 'unconfirmed']);
  });

  it('is not confirmed by another life', () => {
    const state = new State();
    stored(state, full(5, 3));
    expect([state.take(full(4, 9)), state.degraded]).toEqual([['old'], 'lower-epoch']);
  });

  it('makes up for a gap that was seen live', () => {
    const { state } = filled();
    state.take(delta(5, 2));
    stored(state, full(5, 2));
    expect([state.at, state.degraded]).toEqual(['5.2', undefined]);
  });

  it('does not make up for a live frame that nobody could read', () => {
    const { state } = filled();
    state.refuse();
    state.take(full(5, 0));
    expect(state.degraded).toBe('bad-frame');
    stored(state, full(5, 2));
    expect(state.degraded).toBe('unconfirmed');
  });

  it('is all that is known after an interruption', () => {
    const { state } = filled();
    state.unconfirm();
    expect([state.at, state.degraded]).toEqual(['5.0', 'unconfirmed']);
    state.take(delta(5, 2));
    state.unconfirm();
    expect(state.degraded).toBe('gap');
    state.take(full(5, 2));
    expect(state.degraded).toBeUndefined();
  });
});

describe('a subscription that is interrupted', () => {
  async function interrupted() {
    const made = await following({ wantEveryMs: 1000 });
    const [listener] = made.transport.listeners;
    made.transport.interrupt(listener!);
    return { ...made, listener: listener! };
  }

  it('degrades the sketch until it is in force again, whatever is in the store', async () => {
    const { errors, sketch, at, store, send, wishes, subscriber } = await interrupted();
    expect([at(), sketch.degraded, subscriber.stats().degraded]).toEqual(['5.0', 'transport', 1]);
    store(full(5, 7));
    await pass(10_000);
    expect([at(), sketch.degraded, wishes(), errors, vi.getTimerCount()]).toEqual([
      '5.0',
      'transport',
      0,
      [],
      0,
    ]);
    send(delta(5, 1)); // under way since before
    expect([at(), sketch.degraded]).toEqual(['5.1', 'transport']);
  });

  it('is made up for by the latest frame, which the next live one confirms', async () => {
    const { transport, listener, sketch, at, send, store, wishes } = await interrupted();
    store(full(5, 7));
    transport.resume(listener);
    expect([at(), sketch.degraded]).toEqual(['5.0', 'unconfirmed']);
    send(delta(5, 8));
    await pass(100);
    expect([at(), sketch.degraded]).toEqual(['5.8', undefined]);
    await pass(10_000);
    expect([wishes(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('is asked about when nothing confirms that no frame was missed', async () => {
    const { transport, listener, sketch, at, send, wishes } = await interrupted();
    transport.resume(listener);
    await pass(999);
    expect([at(), sketch.degraded, wishes()]).toEqual(['5.0', 'unconfirmed', 0]);
    await pass(300);
    expect(wishes()).toBe(1);
    send(full(5, 9));
    expect([at(), sketch.degraded]).toEqual(['5.9', undefined]);
  });

  it('is told of when the store refuses to take it up again, once', async () => {
    const { transport, listener, errors, sketch, send, store, subscriber } = await interrupted();
    for (let i = 0; i < 3; i++) transport.interrupt(listener, AWAY);
    expect([errors, sketch.degraded]).toEqual([[{ error: AWAY, worker: 'w' }], 'transport']);
    expect(subscriber.stats().transportErrors).toBe(3);
    store(full(5, 7));
    transport.resume(listener);
    await pass(100);
    send(delta(5, 8));
    expect([sketch.sketch?.sequence, sketch.degraded]).toEqual([8, undefined]);
  });

  it('may be so again while the latest frame is read', async () => {
    const { transport, listener, sketch, at, send, store } = await interrupted();
    store(full(5, 7));
    const release = transport.hold('getLatest');
    transport.resume(listener);
    await pass(100);
    send(delta(5, 8));
    transport.interrupt(listener);
    release();
    await pass(5000);
    expect([at(), sketch.degraded]).toEqual(['5.7', 'transport']);
    store(full(5, 9));
    transport.resume(listener);
    await pass(100);
    expect([at(), sketch.degraded]).toEqual(['5.9', 'unconfirmed']);
  });

  it('ends with its following', async () => {
    const { transport, listener, sketch, subscriber } = await interrupted();
    sketch.close();
    transport.resume(listener);
    await pass(5000);
    expect([subscriber.stats().workers, transport.listeners.size, vi.getTimerCount()]).toEqual([0, 0, 0]);
  });
});
