import { describe, expect, it } from 'vitest';
import { KvidxError } from '../../src/errors.js';
import { type DecodeFrameOptions, decodeFrame, encodeFrame } from '../../src/sketch/frame.js';
import { MAX_FILTER_BLOCKS } from '../../src/sketch/sizing.js';
import { codeOf } from '../kv-index/support.js';
import { Random } from '../property/random.js';
import { clear, delta, frames, full, head, patched } from './frames.js';
import { randomWords } from './support.js';

/** What decoding is refused with. */
function refusal(bytes: Uint8Array, options?: DecodeFrameOptions): string {
  try {
    decodeFrame(bytes, options);
  } catch (error) {
    if (error instanceof KvidxError && error.code === 'ERR_KVIDX_BAD_FRAME') return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a frame that is refused', () => {
  const worker = 56;
  const session = worker + 2 + head.worker.length;
  const payload = session + 2;
  const most = [0xff, 0xff, 0xff, 0xff];

  it.each<[string, Uint8Array, RegExp]>([
    ['other magic', patched(full, [0, [0x6b]]), /does not begin with "KVSK"/],
    ['version 0', patched(full, [4, [0]]), /version 0 \(byte 4\), only 1 is known/],
    ['version 2', patched(full, [4, [2]]), /version 2 \(byte 4\), only 1 is known/],
    ['kind 0', patched(full, [5, [0]]), /kind is 0 \(byte 5\)/],
    ['kind 4', patched(full, [5, [4]]), /kind is 4 \(byte 5\)/],
    ['flags', patched(full, [6, [0, 1]]), /flags are 256 \(byte 6\)/],
    ['an epoch of 2^53', patched(full, [8, [0, 0, 0, 0, 0, 0, 32, 0]]), /beyond 2\^53 − 1/],
    ['a sequence of 2^64 − 1', patched(full, [16, [...most, ...most]]), /beyond 2\^53 − 1/],
    ['a timestamp of 2^53', patched(full, [24, [0, 0, 0, 0, 0, 0, 32, 0]]), /beyond 2\^53 − 1/],
    ['keys beyond', patched(full, [32, [0, 0, 0, 0, 0, 0, 0, 1]]), /beyond 2\^53 − 1/],
    ['a rate of 0', patched(full, [40, [0, 0, 0, 0, 0, 0, 0, 0]]), /false positives is 0 \(byte 40\)/],
    ['a rate of 1', patched(full, [40, [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]]), /false positives is 1 \(byte 40\)/],
    ['a rate that is none', patched(full, [40, [...most, ...most]]), /false positives is NaN \(byte 40\)/],
    ['another scheme', patched(full, [48, [2, 0]]), /scheme 2 \(byte 48\), only 1, xxh64-v1, is known/],
    ['block size 0', patched(full, [50, [0, 0]]), /block size is 0 \(byte 50\)/],
    ['a full frame without blocks', patched(full, [52, [0, 0, 0, 0]]), /has 0 blocks \(byte 52\)/],
    ['a delta of no filter', patched(delta, [52, [0, 0, 0, 0]]), /has 0 blocks \(byte 52\)/],
    ['more blocks than there may be', patched(full, [52, [1, 0, 0, 2]]), /has 33,554,433 blocks \(byte 52\)/],
    ['a huge clear', patched(clear, [52, most]), /has 4,294,967,295 blocks \(byte 52\)/],
    ['more blocks than there are', patched(full, [52, [0, 0, 0, 2]]), /ends after 140 bytes/],
    ['a worker longer than the frame', patched(full, [worker, [0xff, 0xff]]), /ends after 140 bytes/],
    ['a session longer than the frame', patched(full, [session, [0xff, 0xff]]), /ends after 140 bytes/],
    ['more pairs than there are', patched(delta, [payload, most]), /ends after 188 bytes/],
    ['a worker that is not UTF-8', patched(full, [worker + 2, [0xff]]), /no name, or a name is not UTF-8/],
    ['a surrogate in a name', patched(full, [worker + 2, [0xed, 0xa0, 0x80]]), /not UTF-8/],
    ['a name in two bytes too many', patched(full, [worker + 2, [0xc0, 0x80]]), /not UTF-8/],
    ['a name that ends too early', patched(full, [worker + 9, [0xc3]]), /not UTF-8/],
    [
      'a session that is not UTF-8',
      patched({ ...full, session: 'abc' }, [session + 4, [0xe2]]),
      /no name, or a name is not UTF-8/,
    ],
    ['indices that fall', patched(delta, [payload + 40, [0]]), /indices of its delta do not rise/],
    ['an index beyond', patched(delta, [payload + 76, [9]]), /or are not below z = 9/],
    ['fewer blocks than there are', patched(full, [52, [1]]), /goes on behind its end: its 140 bytes/],
    ['a byte behind its end', new Uint8Array([...encodeFrame(clear), 0]), /goes on behind its end/],
  ])('says why: %s', (_, bytes, problem) => {
    expect(refusal(bytes)).toMatch(problem);
  });

  it('has a worker without a name', () => {
    const bytes = encodeFrame({ ...clear, worker: 'w' });
    const nameless = new Uint8Array([...bytes.subarray(0, worker), 0, 0, ...bytes.subarray(worker + 3)]);
    expect(refusal(patched(nameless))).toMatch(/worker has no name/);
  });

  it.each(frames)('ends too early, wherever that is: $kind', (frame) => {
    const bytes = encodeFrame(frame);
    for (let length = 0; length < bytes.length; length++) {
      expect(refusal(bytes.subarray(0, length))).toMatch(
        new RegExp(`ends after ${length} bytes?, before what its own lengths ask for`),
      );
    }
  });

  it.each(frames)('was damaged in any bit: $kind', (frame) => {
    const bytes = encodeFrame({ ...frame, session: 's' });
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = bytes.slice();
        damaged[at]! ^= 1 << bit;
        refusal(damaged);
      }
    }
    bytes[bytes.length - 1]! ^= 1;
    expect(refusal(bytes)).toMatch(new RegExp(`checksum \\(byte ${bytes.length - 8}\\) does not match`));
  });

  it('is of blocks of another size, or larger than allowed', () => {
    const bytes = encodeFrame(full);
    expect(refusal(bytes, { blockSize: 16 })).toMatch(/blocks have 24 tokens \(byte 50\), here they have 16/);
    expect(refusal(bytes, { maxBlocks: 1 })).toMatch(/has 2 blocks \(byte 52\), not 1 to 1/);
    for (const frame of [delta, { ...clear, z: 9 }]) {
      expect(refusal(encodeFrame(frame), { maxBlocks: 8 })).toMatch(/has 9 blocks \(byte 52\), not 1 to 8/);
    }
  });

  it('is random bytes, with and without a head that could be one', () => {
    const random = new Random(4);
    for (let i = 0; i < 2000; i++) {
      const bytes = new Uint8Array(randomWords(random, random.below(80)).buffer);
      refusal(bytes);
      bytes.set(encodeFrame(frames[i % 3]!).subarray(0, Math.min(56, bytes.length)));
      refusal(bytes);
    }
  });
});

it('misuse of decodeFrame is refused', () => {
  const bytes = encodeFrame(clear);
  expect(codeOf(() => decodeFrame([...bytes] as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  expect(codeOf(() => decodeFrame(bytes, null as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  expect(codeOf(() => decodeFrame(bytes, { blockSize: 0 }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  for (const maxBlocks of [0, MAX_FILTER_BLOCKS + 1]) {
    expect(codeOf(() => decodeFrame(bytes, { maxBlocks }))).toBe('ERR_KVIDX_OUT_OF_RANGE');
  }
});
