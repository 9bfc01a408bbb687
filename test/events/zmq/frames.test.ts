import { describe, expect, it } from 'vitest';
import { readLive, readReplay, replayRequest } from '../../../src/events/zmq/frames.js';

const frames = (...hex: string[]) => hex.map((text) => Buffer.from(text, 'hex'));
const [SEVEN, END] = ['0000000000000007', 'ffffffffffffffff'];

describe('frames of live messages', () => {
  it('are topic, number and payload', () => {
    expect(readLive(frames('6b76', SEVEN, '0a'))).toEqual({ sequence: 7, payload: Buffer.of(10) });
    expect(readLive(frames('', '001fffffffffffff', ''))?.sequence).toBe(2 ** 53 - 1);
  });

  it.each(['', '07', '00000000000007', '0020000000000000', END])('with the number %s have none', (hex) => {
    expect(readLive(frames('', hex, '0a'))?.sequence).not.toSatisfy(Number.isSafeInteger);
  });

  it('are three', () => {
    expect(readLive([])).toBeUndefined();
    expect(readLive(frames('', SEVEN))).toBeUndefined();
    expect(readLive(frames('', SEVEN, '0a', ''))).toBeUndefined();
  });
});

describe('frames of replays', () => {
  it.each([[['']], [['', '6b76']], [['', '']]])('behind %j are number and payload', (head) => {
    expect(readReplay(frames(...head, SEVEN, '0a'))).toEqual({ sequence: 7, payload: Buffer.of(10) });
    expect(readReplay(frames(...head, END, ''))).toBe('end');
    expect(readReplay(frames(...head, END, '920001'))).toBe('end');
  });

  it('are two at least', () => {
    expect(readReplay([])).toBeUndefined();
    expect(readReplay(frames(SEVEN))).toBeUndefined();
    expect(readReplay(frames('', ''))).toEqual({ sequence: Number.NaN, payload: Buffer.alloc(0) });
  });
});

it('a request is an empty frame and the number', () => {
  expect(replayRequest(7)).toEqual(frames('', SEVEN));
});
