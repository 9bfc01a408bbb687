import { describe, expect, it } from 'vitest';
import type { SketchFrame } from '../../../src/sketch/types.js';
import { codeOf, range } from '../../kv-index/support.js';
import { filled, State, YIELD_MS } from './states.js';
import { clear, delta, full } from './support.js';

describe('a sketch', () => {
  it('is empty before the first full frame', () => {
    const state = new State();
    expect([state.sketch, state.degraded, state.bytes, state.ageMs(0)]).toEqual([
      undefined,
      'empty',
      0,
      undefined,
    ]);
    expect(state.take(delta(5, 1))).toEqual(['gap']);
    expect([state.sketch, state.degraded]).toEqual([undefined, 'gap']);
    expect(state.take(full(5, 2))).toEqual(['applied']);
    expect([state.at, state.degraded, state.bytes]).toEqual(['5.2', undefined, 128]);
  });

  it('has the blocks of a full frame, and those that deltas write over them', () => {
    const { state } = filled();
    expect(state.sketch!.filter.leadingBlocks(range(0, 20))).toBe(20);
    state.take(delta(5, 1, 0xffff_ffff, 2));
    const words = full(5, 0).filter.words.slice();
    words.fill(0xffff_ffff, 16, 24);
    expect(state.sketch!.filter.words).toEqual(words);
    state.take(delta(5, 2, 0, 2));
    expect(state.sketch!.filter.words).toEqual(words.fill(0, 16, 24));
  });

  it('is replaced by any further full frame, and by a clear one', () => {
    const { state } = filled();
    expect(state.take(full(5, 9), full(6, 0, range(50, 3)), clear(6, 4))).toEqual([
      'applied',
      'applied',
      'applied',
    ]);
    expect([state.at, state.degraded, state.sketch!.keys]).toEqual(['6.4', undefined, 0]);
    expect(state.sketch!.filter.countBlocks(range(0, 99))).toBe(0);
  });

  it('goes on with deltas after a clear frame', () => {
    const { state } = filled();
    const heartbeat = { ...delta(6, 1, 1, 0, 2), indices: new Uint32Array(0), blocks: new Uint32Array(0) };
    state.take(clear(6, 0, 2), heartbeat, delta(6, 2, 3, 1, 2));
    expect(state.sketch!.filter.words).toEqual(Uint32Array.of(...Array(8).fill(0), ...Array(8).fill(3)));
  });

  it('is an empty filter after a clear frame that no deltas follow', () => {
    const { state } = filled();
    state.take(clear(6, 0, 0));
    expect([state.sketch!.filter.z, state.sketch!.filter.countBlocks(range(0, 99))]).toEqual([1, 0]);
    expect(codeOf(() => state.take(delta(6, 1, 1, 0, 1)))).toBe('ERR_KVIDX_BAD_FRAME');
  });

  it('takes no memory for what a clear frame says that deltas will be of, until there is one', () => {
    const z = 2 ** 25;
    const state = new State((bytes) => bytes <= 128);
    state.take(clear(6, 0, z));
    expect([state.at, state.degraded, state.bytes]).toEqual(['6.0', undefined, 32]);
    expect(codeOf(() => state.take(delta(6, 1, 1, 0, z)))).toBe('ERR_KVIDX_CAPACITY');
    expect([state.at, state.degraded, state.bytes]).toEqual(['6.0', 'capacity', 32]);
    expect(state.take(clear(7, 0, 4), delta(7, 1))).toEqual(['applied', 'applied']);
    expect([state.at, state.degraded, state.bytes]).toEqual(['7.1', undefined, 128]);
  });

  it('tells its head', () => {
    const { filter: _, kind, ...head } = full(5, 0);
    expect(filled().state.sketch).toMatchObject(head);
  });
});

describe('frames of the past', () => {
  it.each<[string, SketchFrame]>([
    ['the same full frame', full(5, 0)],
    ['a delta that was applied', delta(5, 0)],
  ])('change nothing: %s', (_, frame) => {
    const { state, isUnchanged } = filled();
    expect(state.take(frame)).toEqual(['old']);
    expect([isUnchanged(), state.degraded]).toEqual([true, undefined]);
  });

  it.each<[string, SketchFrame]>([
    ['a full frame', full(4, 99)],
    ['a clear frame', clear(4, 0)],
    ['a delta', delta(4, 1)],
  ])('of a lower epoch change nothing but the mark, until one is applied: %s', (_, frame) => {
    const { state, isUnchanged } = filled();
    expect(state.take(frame)).toEqual(['old']);
    expect([isUnchanged(), state.degraded]).toEqual([true, 'lower-epoch']);
    expect(state.take(delta(5, 1))).toEqual(['applied']);
    expect(state.degraded).toBeUndefined();
  });

  it('do not make up for what is missing', () => {
    const { state } = filled();
    expect(state.take(delta(5, 2), full(4, 7), delta(5, 0))).toEqual(['gap', 'old', 'old']);
    expect(state.degraded).toBe('gap');
  });
});

describe('a gap', () => {
  it.each<[string, SketchFrame]>([
    ['in the epoch', delta(5, 2)],
    ['to a delta of an unknown epoch', delta(6, 1)],
    ['to the first delta of one', delta(9, 0)],
  ])('keeps the old sketch and marks it: %s', (_, frame) => {
    const { state, isUnchanged } = filled();
    expect(state.take(frame)).toEqual(['gap']);
    expect([isUnchanged(), state.degraded]).toEqual([true, 'gap']);
  });

  it('ends with a full frame', () => {
    const { state } = filled();
    state.take(delta(5, 2), full(5, 3));
    expect([state.at, state.degraded]).toEqual(['5.3', undefined]);
  });

  it('does not end with a full frame from before it', () => {
    const { state } = filled();
    expect(state.take(delta(5, 8), full(5, 4))).toEqual(['gap', 'applied']);
    expect([state.at, state.degraded]).toEqual(['5.4', 'gap']);
    state.take(delta(5, 5), delta(5, 6), delta(5, 7));
    expect(state.degraded).toBe('gap');
    state.take(delta(5, 8));
    expect([state.at, state.degraded]).toEqual(['5.8', undefined]);
  });

  it('ends when reordered deltas come again', () => {
    const { state } = filled();
    expect(state.take(delta(5, 2), delta(5, 1), delta(5, 2))).toEqual(['gap', 'applied', 'applied']);
    expect(state.degraded).toBeUndefined();
  });

  it('is forgotten when nothing so far ahead was seen for long', () => {
    const { state } = filled();
    state.take(delta(9, 3));
    state.nowMs += YIELD_MS - 1;
    state.take(full(7, 0));
    expect([state.at, state.degraded]).toEqual(['7.0', 'gap']);
    state.nowMs += 1;
    state.take(delta(7, 1));
    expect([state.at, state.degraded]).toEqual(['7.1', undefined]);
  });
});

describe('a sketch that nothing was applied to for long', () => {
  it('yields to a full frame of a lower epoch, not before', () => {
    const { state } = filled();
    state.nowMs += YIELD_MS - 1;
    expect(state.take(full(4, 0))).toEqual(['old']);
    state.nowMs += 1;
    expect(state.take(full(4, 0), delta(4, 1))).toEqual(['applied', 'applied']);
    expect([state.at, state.degraded]).toEqual(['4.1', undefined]);
  });

  it('sees a gap in a delta of a lower epoch, so that a full frame is asked for', () => {
    const { state, isUnchanged } = filled();
    state.nowMs += YIELD_MS;
    expect(state.take(delta(4, 3))).toEqual(['gap']);
    expect([isUnchanged(), state.degraded]).toEqual([true, 'gap']);
    expect(state.take(full(4, 5))).toEqual(['applied']);
    expect(state.degraded).toBeUndefined();
  });

  it('does not go back within its epoch', () => {
    const { state, isUnchanged } = filled();
    state.nowMs += 10 * YIELD_MS;
    expect(state.take(full(5, 0), delta(5, 0))).toEqual(['old', 'old']);
    expect([isUnchanged(), state.degraded]).toEqual([true, undefined]);
  });

  it('is kept by heartbeats', () => {
    const { state } = filled();
    state.nowMs += YIELD_MS - 1;
    state.take({ ...delta(5, 1), indices: new Uint32Array(0), blocks: new Uint32Array(0) });
    state.nowMs += YIELD_MS - 1;
    expect(state.take(full(4, 0))).toEqual(['old']);
  });
});

describe('a frame that is refused', () => {
  it.each<[string, SketchFrame]>([
    ['of another worker', { ...full(6, 0), worker: 'v' }],
    ['of a session', { ...full(6, 0), session: 's' }],
    ['a clear one of a session', { ...clear(6, 0), session: 's' }],
    ['a delta of another filter', delta(5, 1, 1, 0, 3)],
  ])('keeps the old sketch and marks it: %s', (_, frame) => {
    const { state, isUnchanged } = filled();
    expect(codeOf(() => state.take(frame))).toBe('ERR_KVIDX_BAD_FRAME');
    expect([isUnchanged(), state.degraded]).toEqual([true, 'bad-frame']);
    state.take(delta(5, 1));
    expect([state.at, state.degraded]).toEqual(['5.1', undefined]);
  });
});

describe('without room', () => {
  const smaller = (epoch: number, sequence: number) => clear(epoch, sequence, 1);

  it('keeps the old sketch, also when deltas of the refused one follow', () => {
    let most = Number.POSITIVE_INFINITY;
    const state = new State((bytes) => bytes <= most);
    state.take(smaller(5, 0));
    most = 0;
    expect(codeOf(() => state.take(full(6, 0)))).toBe('ERR_KVIDX_CAPACITY');
    expect(codeOf(() => state.take(full(6, 1)))).toBe('ERR_KVIDX_CAPACITY');
    expect([state.at, state.degraded, state.bytes]).toEqual(['5.0', 'capacity', 32]);
    expect(state.take(delta(6, 2), delta(5, 1, 1, 0, 1))).toEqual(['gap', 'applied']);
    expect([state.at, state.degraded]).toEqual(['5.1', 'capacity']);
    state.take(smaller(6, 3));
    expect([state.at, state.degraded]).toEqual(['6.3', undefined]);
    expect(codeOf(() => state.take(full(6, 4)))).toBe('ERR_KVIDX_CAPACITY');
    most = 95;
    expect(state.wouldFit).toBe(false);
    most = 96;
    expect(state.wouldFit).toBe(true);
  });

  it('of a later epoch frames are missing again', () => {
    const state = new State((bytes) => bytes <= 32);
    expect(codeOf(() => state.take(full(6, 0)))).toBe('ERR_KVIDX_CAPACITY');
    state.take(delta(7, 4));
    expect(state.degraded).toBe('gap');
  });

  it('asks for what the filter grows by', () => {
    const asked: number[] = [];
    const state = new State((bytes) => {
      asked.push(bytes);
      return true;
    });
    state.take(smaller(5, 0), full(5, 1), smaller(5, 2));
    expect(asked).toEqual([32, 96, -96]);
  });
});

describe('the age of a sketch', () => {
  it('is what the clocks said when the last frame was applied, and the time since', () => {
    const { state } = filled();
    expect([state.ageMs(1000), state.ageMs(1500)]).toEqual([0, 500]);
    state.nowMs = 4000;
    state.take(delta(5, 1));
    expect([state.ageMs(4000), state.ageMs(4700)]).toEqual([3000, 3700]);
  });

  it('is not lessened by frames of the past, by gaps or by clocks that go back', () => {
    const { state } = filled();
    state.nowMs = 2000;
    state.take(full(5, 0), delta(5, 4));
    expect([state.ageMs(2000), state.ageMs(500)]).toEqual([1000, 0]);
  });

  it('is 0 when the clock of the publisher is ahead', () => {
    const { state } = filled();
    state.take({ ...full(5, 1), timestampMs: 999_000 });
    expect(state.ageMs(1000)).toBe(0);
  });
});
