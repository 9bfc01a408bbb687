import { describe, expect, it } from 'vitest';
import { batch, checkOf, payloadOf, range, replay, settledTrial, trial } from './support.js';

/** No batch. */
const TIMELESS = Uint8Array.of(0xc0);

describe('the beginning of a stream', () => {
  it('is unconfirmed until something is heard', () => {
    const { sink, asked } = trial();
    expect(sink.take()).toBe('unconfirmed');
    expect(asked).toEqual([0]);
  });

  it('asks from 0 and is content with an engine that has sent nothing', () => {
    const { sink, stream } = trial();
    stream.replayEnded(1);
    expect(sink.take()).toBe('unconfirmed ok');
  });

  it('is good with number 0', () => {
    const { sink, stream } = trial({ isReplaying: false });
    stream.live(0, batch(0), 5);
    expect(sink.take()).toBe('unconfirmed 0 ok');
    expect(sink.messages[0]).toEqual({
      payload: batch(0),
      sequence: 0,
      check: checkOf(batch(0)),
      receivedMs: 5,
      isReplayed: false,
    });
  });

  it('holds live messages until the replay has brought those before', () => {
    const { sink, stream, asked } = trial();
    stream.live(3, batch(3), 1);
    expect(stream.status().heldMessages).toBe(1);
    replay(stream, [0, 1, 2, 3]);
    expect(sink.take()).toBe('unconfirmed 0 1 2 3 ok');
    expect(asked).toEqual([0]);
  });

  it('is late without a replay', () => {
    const { sink, stream } = trial({ isReplaying: false });
    stream.live(7, batch(7), 1);
    stream.live(8, batch(8), 1);
    expect(sink.take()).toBe('unconfirmed 7 late-start 8');
  });

  it('is late when the replay no longer reaches back', () => {
    const { sink, stream } = trial();
    stream.live(7, batch(7), 1);
    replay(stream, [4, 5, 6, 7]);
    expect(sink.take()).toBe('unconfirmed 4 late-start 5 6 7');
    expect(stream.degraded).toBe('late-start');
  });

  it('is late when the replay is empty', () => {
    const { sink, stream, asked } = trial();
    stream.live(7, batch(7), 1);
    stream.replayEnded(1);
    // Asked for before 7 was heard: it may have come since.
    expect(asked).toEqual([0, 0]);
    stream.replayEnded(1);
    expect(sink.take()).toBe('unconfirmed 7 late-start');
  });
});

describe('a gap', () => {
  it('is filled from the last message that was applied', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.live(7, batch(7), 10);
    stream.live(8, batch(8), 11);
    expect(sink.take()).toBe('gap');
    expect(asked).toEqual([4]);
    replay(stream, range(4, 9));
    expect(sink.take()).toBe('5 6 7 8 ok');
    expect(stream.status()).toMatchObject({
      gaps: 1,
      replayedMessages: 2,
      heldMessages: 0,
      heldBytes: 0,
      next: 9,
    });
  });

  it('lets what the live messages bring meanwhile stand', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(7, batch(7), 10);
    stream.live(5, batch(5), 10);
    replay(stream, [4, 5, 6, 7]);
    expect(sink.take()).toBe('gap 5 6 7 ok');
  });

  it('without a replay leaves the stream degraded', () => {
    const { sink, stream } = settledTrial(5, { isReplaying: false });
    stream.live(7, batch(7), 10);
    stream.live(8, batch(8), 10);
    expect(sink.take()).toBe('7 replay-too-short 8');
    expect(stream.status().gaps).toBe(1);
  });

  it('that the replay begins behind stays', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(9, batch(9), 10);
    replay(stream, [7, 8, 9]);
    expect(sink.take()).toBe('gap 7 replay-too-short 8 9');
    stream.live(10, batch(10), 11);
    expect(sink.take()).toBe('10');
  });

  it('that the replay fills, but without the message before, stays', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(6, batch(6), 10);
    replay(stream, [5, 6]);
    expect(sink.take()).toBe('gap 5 6 replay-too-short');
  });

  it('uses what is held where the replay has less', () => {
    const { sink, stream } = settledTrial(5);
    for (const n of [7, 9]) stream.live(n, batch(n), 10);
    replay(stream, [9]);
    expect(sink.take()).toBe('gap 7 9 replay-too-short');
  });

  it('within a replay is asked for once more, and then given up', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.live(9, batch(9), 10);
    replay(stream, [4, 5, 7, 8, 9]);
    expect(sink.take()).toBe('gap 5');
    expect(asked).toEqual([4, 5]);
    replay(stream, [5, 7, 8, 9]);
    expect(sink.take()).toBe('7 8 9 replay-too-short');
    expect(asked).toEqual([4, 5]);
  });

  it('within a replay that the second one fills is healed', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(9, batch(9), 10);
    replay(stream, [4, 5, 7, 8, 9]);
    replay(stream, [5, 6, 7, 8, 9]);
    expect(sink.take()).toBe('gap 5 6 7 8 9 ok');
  });

  it('that opened behind a replay under way is asked for when that has ended', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.live(7, batch(7), 10);
    for (const n of [4, 5, 6, 7]) stream.replayed(n, batch(n), 11);
    stream.live(9, batch(9), 12);
    stream.replayEnded(13);
    expect(asked).toEqual([4, 7]);
    replay(stream, [7, 8, 9]);
    expect(sink.take()).toBe('gap 5 6 7 ok gap 8 9 ok');
  });

  it('that a replay does not reach is given up after a second one', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.live(7, batch(7), 10);
    replay(stream, [4]);
    replay(stream, [4]);
    expect(asked).toEqual([4, 4]);
    expect(sink.take()).toBe('gap 7 replay-too-short');
  });
});

describe('bounds of what is held', () => {
  it('drop all of it, which is asked for afterwards', () => {
    const { sink, stream, asked } = settledTrial(5, { maxHeldMessages: 3 });
    for (const n of range(6, 11)) stream.live(n, batch(n), 10);
    expect(stream.status()).toMatchObject({ dropped: 4, heldMessages: 1 });
    replay(stream, [4, 5, 6]);
    expect(asked).toEqual([4, 6]);
    replay(stream, range(6, 11));
    expect(sink.take()).toBe('gap 5 6 7 8 9 10 ok');
  });

  it('count bytes', () => {
    const { stream } = settledTrial(5, { maxHeldBytes: 16 * 3 });
    for (const n of range(6, 10)) stream.live(n, batch(n), 10);
    expect(stream.status()).toMatchObject({ dropped: 4, heldMessages: 0, heldBytes: 0 });
  });

  it('give up holding while replays fail', () => {
    const { sink, stream } = settledTrial(5, { maxHeldMessages: 3 });
    for (const n of [6, 7, 9]) stream.live(n, batch(n), 10);
    stream.replayFailed(20);
    stream.live(10, batch(10), 30);
    stream.live(12, batch(12), 31);
    expect(sink.take()).toBe('gap replay-failed 6 7 9 10 replay-too-short 12');
  });
});

describe('a replay that fails', () => {
  it('is asked for again after growing pauses', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.live(6, batch(6), 10);
    stream.tick(5010);
    expect(sink.take()).toBe('gap replay-failed');
    stream.tick(6009);
    expect(asked).toEqual([4]);
    stream.tick(6010);
    expect(asked).toEqual([4, 4]);
    stream.replayFailed(6020);
    stream.tick(8019);
    expect(asked).toHaveLength(2);
    stream.tick(8020);
    replay(stream, [4, 5, 6], 0, 8030);
    expect(sink.take()).toBe('5 6 ok');
    expect(stream.status()).toMatchObject({ failedReplays: 2, replays: 4 });
  });

  it('does not hold messages for ever', () => {
    const { sink, stream, asked } = settledTrial(5, { maxHoldMs: 10_000 });
    stream.live(6, batch(6), 10);
    for (let ms = 10; ms < 10_010; ms += 100) stream.tick(ms);
    expect(sink.take()).toBe('gap replay-failed');
    stream.tick(10_010);
    expect(sink.take()).toBe('6 replay-too-short');
    stream.live(9, batch(9), 10_020);
    expect(sink.take()).toBe('9');
    // It is asked again all the same, and relied on again when it answers.
    asked.length = 0;
    for (let ms = 10_100; asked.length === 0; ms += 100) stream.tick(ms);
    expect(asked).toEqual([9]);
    replay(stream, [9], 0, 20_000);
    stream.live(11, batch(11), 20_001);
    expect(asked).toEqual([9, 9]);
    replay(stream, [9, 10, 11], 0, 20_002);
    expect(sink.take()).toBe('10 11');
  });

  it('is not held against an idle stream', () => {
    const { sink, stream } = settledTrial(5);
    stream.tick(2000);
    stream.tick(8000);
    expect(stream.status().failedReplays).toBe(1);
    expect(sink.take()).toBe('');
  });

  it('in the middle leaves the rest to be asked for again', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.tick(2000);
    for (const n of [4, 5]) stream.replayed(n, batch(n), 2000);
    stream.replayFailed(2001);
    expect(sink.take()).toBe('5 replay-failed');
    stream.tick(3001);
    expect(asked).toEqual([4, 5]);
    replay(stream, [5, 6], 0, 3002);
    expect(sink.take()).toBe('6 ok');
  });

  it('does not end by answers that come too late', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(6, batch(6), 10);
    stream.replayFailed(20);
    replay(stream, [4, 5, 6]);
    expect(sink.take()).toBe('gap replay-failed');
  });
});

describe('a number that was passed', () => {
  it('with the same payload is a repeat', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(2, batch(2), 10);
    expect(sink.take()).toBe('');
    expect(stream.status().repeats).toBe(1);
  });

  it('with another payload is a new beginning', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(0, batch(0, 1), 10);
    stream.live(1, batch(1, 1), 11);
    expect(sink.take()).toBe('restarted 0 1');
    expect(stream.status().restarts).toBe(1);
  });

  it('not 0, with another payload, is a new beginning whose first messages are asked for', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.live(2, batch(2, 1), 10);
    expect(asked).toEqual([0]);
    replay(stream, [0, 1, 2], 1);
    expect(sink.take()).toBe('restarted gap 0 1 2 ok');
  });

  it('not 0, with another payload, is a late beginning without a replay', () => {
    const { sink, stream } = settledTrial(5, { isReplaying: false });
    stream.live(2, batch(2, 1), 10);
    expect(sink.take()).toBe('restarted 2 late-start');
  });

  it('long ago is a new beginning when the batch is later than the last one', () => {
    const { sink, stream } = settledTrial(1030);
    stream.live(0, batch(0, 1), 2000);
    expect(sink.take()).toBe('restarted 0');
  });

  it('long ago is a repeat when the batch is not later, until a replay tells otherwise', () => {
    const { sink, stream, asked } = settledTrial(1030);
    stream.live(0, batch(0), 1030);
    expect(sink.take()).toBe('unconfirmed');
    stream.tick(1031);
    expect(asked).toEqual([1029]);
    replay(stream, [1029]);
    expect(sink.take()).toBe('ok');
  });

  it('long ago by an engine whose clock was set back is found out by a replay', () => {
    const { sink, stream, asked } = settledTrial(1030);
    stream.live(0, payloadOf(5), 1030);
    stream.tick(1031);
    stream.replayEnded(1032);
    stream.replayed(0, payloadOf(5), 1033);
    stream.replayEnded(1033);
    stream.replayed(0, payloadOf(5), 1034);
    stream.replayEnded(1034);
    expect(asked).toEqual([1029, 0, 0]);
    expect(sink.take()).toBe('unconfirmed restarted 0 ok');
  });

  it('long ago, of a batch without a time, is a repeat until a replay tells', () => {
    const { sink, stream, asked } = settledTrial(1030);
    stream.live(0, TIMELESS, 1030);
    stream.tick(1031);
    expect(asked).toEqual([1029]);
    replay(stream, [1029]);
    expect(sink.take()).toBe('unconfirmed ok');
    expect(stream.status()).toMatchObject({ repeats: 1, restarts: 0, next: 1030 });
  });

  it('long ago, of a batch without a time, is a new beginning when the replay has another last message', () => {
    const { sink, stream } = settledTrial(1030);
    stream.live(0, TIMELESS, 1030);
    stream.tick(1031);
    stream.replayed(1029, batch(1029, 1), 1032);
    replay(stream, [0, 1], 1, 1033);
    expect(sink.take()).toBe('unconfirmed restarted 0 1 ok');
  });

  it('long ago, of a batch without a time, is a new beginning where nothing is replayed', () => {
    const { sink, stream } = settledTrial(1030, { isReplaying: false });
    stream.live(0, TIMELESS, 1030);
    expect(sink.take()).toBe('restarted 0');
  });

  it('with another payload than the one that is held is a new beginning', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.live(7, batch(7), 10);
    stream.live(7, batch(7, 1), 11);
    expect(asked).toEqual([4, 0]);
    replay(stream, range(0, 8), 1);
    expect(sink.take()).toBe('gap restarted 0 1 2 3 4 5 6 7 ok');
  });
});

describe('an idle stream', () => {
  it('finds a lost tail', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.tick(1003);
    expect(asked).toEqual([]);
    stream.tick(1004);
    expect(asked).toEqual([4]);
    replay(stream, [4, 5, 6], 0, 1005);
    expect(sink.take()).toBe('5 6');
  });

  it('asks ever more rarely while nothing new comes', () => {
    const { stream, asked } = settledTrial(5);
    const times: number[] = [];
    for (let ms = 100; ms < 200_000; ms += 100) {
      stream.tick(ms);
      if (!stream.isReplaying) continue;
      times.push(ms);
      replay(stream, [4], 0, ms);
    }
    const pauses = times.map((ms, i) => ms - (times[i - 1] ?? 0)).slice(1);
    expect(pauses.slice(0, 7)).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    expect(new Set(asked)).toEqual(new Set([4]));
    stream.live(5, batch(5), 200_000);
    stream.tick(201_000);
    expect(stream.isReplaying).toBe(true);
  });

  it('finds a new beginning that has fewer messages', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.tick(2000);
    stream.replayEnded(2000);
    expect(asked).toEqual([4, 0]);
    stream.replayed(0, batch(0, 1), 2001);
    stream.replayed(1, batch(1, 1), 2001);
    stream.replayEnded(2001);
    expect(sink.take()).toBe('restarted 0 unconfirmed 1 ok');
  });

  it('finds a new beginning whose messages look like the old ones', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.tick(2000);
    stream.replayEnded(2000);
    replay(stream, [0, 1], 0, 2001);
    expect(asked).toEqual([4, 0, 0]);
    replay(stream, [0, 1], 0, 2001);
    expect(sink.take()).toBe('restarted unconfirmed 0 1 ok');
  });

  it('finds a new beginning that has more messages', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.tick(2000);
    stream.replayed(4, batch(4, 1), 2000);
    expect(asked).toEqual([4, 0]);
    expect(sink.take()).toBe('restarted unconfirmed');
    replay(stream, range(0, 7), 1, 2001);
    expect(sink.take()).toBe('0 1 2 3 4 5 6 ok');
  });

  it('is unconfirmed when the engine knows no messages', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.tick(2000);
    stream.replayEnded(2000);
    stream.replayEnded(2000);
    expect(asked).toEqual([4, 0]);
    expect(sink.take()).toBe('unconfirmed');
    stream.live(0, batch(0, 1), 2001);
    expect(sink.take()).toBe('restarted 0 ok');
  });
});

describe('a connection', () => {
  it('that is lost leaves the stream unconfirmed until it is there again and the replay tells', () => {
    const { sink, stream, asked } = settledTrial(5);
    stream.interrupted(10);
    stream.tick(5000);
    expect(asked).toEqual([]);
    stream.resumed(6000);
    expect(asked).toEqual([4]);
    replay(stream, [4], 0, 6001);
    expect(sink.take()).toBe('unconfirmed ok');
  });

  it('without a replay is confirmed by the next message in order', () => {
    const { sink, stream } = settledTrial(5, { isReplaying: false });
    stream.interrupted(10);
    stream.resumed(20);
    stream.live(5, batch(5), 30);
    expect(sink.take()).toBe('unconfirmed 5 ok');
  });

  it('to a new life whose live messages go on by chance where the old one ended is found out', () => {
    const { sink, stream } = settledTrial(5);
    stream.interrupted(10);
    stream.resumed(20);
    stream.live(5, batch(5, 1), 21);
    stream.replayed(4, batch(4, 1), 22);
    replay(stream, range(0, 6), 1, 23);
    expect(sink.take()).toBe('unconfirmed restarted 0 1 2 3 4 5 ok');
  });
});

describe('an unconfirmed stream', () => {
  it('holds the next message until the replay has confirmed those before', () => {
    const { sink, stream } = settledTrial(5);
    stream.interrupted(10);
    stream.resumed(20);
    stream.live(5, batch(5), 21);
    stream.live(6, batch(6), 22);
    expect(sink.take()).toBe('unconfirmed');
    replay(stream, [4]);
    expect(sink.take()).toBe('5 6 ok');
    expect(stream.status()).toMatchObject({ gaps: 0, heldMessages: 0 });
  });

  it('holds it when the engine knew no messages before', () => {
    const { sink, stream, asked } = settledTrial(1);
    stream.tick(2000);
    stream.replayEnded(2000);
    stream.live(1, batch(1, 1), 2001);
    expect(sink.take()).toBe('unconfirmed');
    expect(asked).toEqual([0, 0]);
    replay(stream, [0, 1], 1);
    expect(sink.take()).toBe('restarted 0 1 ok');
  });

  it('goes on, degraded, when the engine replays nothing of what it sends', () => {
    const { sink, stream } = settledTrial(5);
    stream.interrupted(10);
    stream.resumed(20);
    stream.live(5, batch(5), 21);
    for (let i = 0; i < 4; i++) stream.replayEnded(22);
    expect(stream.isReplaying).toBe(false);
    expect(sink.take()).toBe('unconfirmed 5 replay-too-short');
    stream.live(6, batch(6), 23);
    expect(sink.take()).toBe('6');
  });

  it('goes on when the replay does not answer for long', () => {
    const { sink, stream } = settledTrial(5);
    stream.interrupted(10);
    stream.resumed(20);
    stream.live(5, batch(5), 30);
    for (let ms = 100; ms <= 10_100; ms += 100) stream.tick(ms);
    expect(sink.take()).toBe('unconfirmed replay-failed 5');
    stream.live(6, batch(6), 10_200);
    expect(sink.take()).toBe('6 ok');
  });
});

describe('a stream that goes on from a position', () => {
  const resume = { sequence: 4, check: checkOf(batch(4)), degraded: undefined };

  it('asks from there', () => {
    const { sink, stream, asked } = trial({ resume });
    expect(asked).toEqual([4]);
    replay(stream, [4, 5]);
    stream.live(6, batch(6), 1);
    expect(sink.take()).toBe('unconfirmed 5 ok 6');
  });

  it('below which something is heard is not wiped before a replay tells', () => {
    const { sink, stream, asked } = trial({ resume: { ...resume, degraded: 'unconfirmed' } });
    stream.live(2, batch(2), 1);
    expect(sink.take()).toBe('unconfirmed');
    expect(asked).toEqual([4]);
    replay(stream, [4, 5]);
    expect(sink.take()).toBe('5 ok');
  });

  it('begins anew when the engine has', () => {
    const { sink, stream } = trial({ resume });
    stream.replayed(4, batch(4, 1), 1);
    replay(stream, range(0, 6), 1);
    expect(sink.take()).toBe('unconfirmed restarted 0 1 2 3 4 5 ok');
  });

  it('takes any other number below for a new beginning', () => {
    const { sink, stream } = trial({ resume, isReplaying: false });
    stream.live(0, batch(0), 1);
    expect(sink.take()).toBe('unconfirmed restarted 0 ok');
  });

  it.each(['late-start', 'replay-too-short', 'damaged'] as const)('is still %s', (degraded) => {
    const { sink, stream } = trial({ resume: { ...resume, degraded } });
    replay(stream, [4, 5]);
    expect(sink.take()).toBe(`${degraded} 5`);
  });

  it.each(['gap', 'replay-failed', 'unconfirmed'] as const)('is not %s for ever', (degraded) => {
    const { sink, stream } = trial({ resume: { ...resume, degraded } });
    replay(stream, [4, 5]);
    expect(sink.take()).toBe('unconfirmed 5 ok');
  });
});

describe('degraded', () => {
  it('ends when the engine clears its cache', () => {
    const { sink, stream } = trial({ isReplaying: false });
    sink.effect = ({ sequence }) => ({ isDamaged: false, isCleared: sequence === 8 });
    stream.live(7, batch(7), 1);
    stream.live(8, batch(8), 2);
    expect(sink.take()).toBe('unconfirmed 7 late-start 8 ok');
  });

  it('by damage does not end with a gap that is healed, but with a clear', () => {
    const { sink, stream } = settledTrial(5);
    sink.effect = ({ sequence }) => ({ isDamaged: sequence === 5, isCleared: sequence === 9 });
    stream.live(7, batch(7), 1);
    replay(stream, [4, 5, 6, 7]);
    expect(sink.take()).toBe('gap 5 damaged 6 7');
    stream.live(8, batch(8), 2);
    stream.live(9, batch(9), 2);
    expect(sink.take()).toBe('8 9 ok');
  });

  it('names what lasts before what may end', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(9, batch(9), 10);
    replay(stream, [9]);
    stream.live(11, batch(11), 10);
    stream.interrupted(11);
    expect(sink.take()).toBe('gap 9 replay-too-short');
  });

  it('takes a sink that throws for damage', () => {
    const { sink, stream } = settledTrial(5);
    sink.effect = ({ sequence }) => {
      if (sequence === 5) throw new Error('no');
      return { isDamaged: false, isCleared: false };
    };
    expect(() => stream.live(5, batch(5), 10)).toThrow('no');
    stream.live(6, batch(6), 10);
    expect(sink.take()).toBe('5 6 damaged');
  });
});

describe('numbers that are none', () => {
  it.each([2 ** 53, 2 ** 64, Number.NaN])('%d is counted and not applied', (sequence) => {
    const { sink, stream } = settledTrial(5);
    stream.live(sequence, batch(5), 10);
    expect(sink.take()).toBe('');
    expect(stream.status()).toMatchObject({ damaged: 1, messages: 5, next: 5 });
  });

  it('are counted and not applied in replays', () => {
    const { sink, stream } = settledTrial(5);
    stream.live(6, batch(6), 10);
    stream.replayed(2 ** 60, batch(5), 11);
    replay(stream, [4, 5, 6]);
    expect(sink.take()).toBe('gap 5 6 ok');
    expect(stream.status().damaged).toBe(1);
  });
});
