import { describe, expect, it } from 'vitest';
import { seam } from '../../src/native/index.js';
import { BloomFilter } from '../../src/sketch/bloom-filter.js';
import { decodeFrame, encodeFrame, SCHEME_XXH64_V1 } from '../../src/sketch/frame.js';
import { MAX_FILTER_BLOCKS } from '../../src/sketch/sizing.js';
import type { SketchFrame } from '../../src/sketch/types.js';
import { codeOf } from '../kv-index/support.js';
import { Random, seedOfRun } from '../property/random.js';
import { clear, delta, frames, full, plain } from './frames.js';
import { bytesFromHex, randomWords } from './support.js';

describe('the bytes of a frame', () => {
  const fields = [
    '4b56534b 01',
    'KIND 0000',
    '0807060504030000 0200000000000000 ffffffffffff1f00 0300000000000000',
    '000000000000e03f 0100 1800',
  ].join(' ');
  const pinned = {
    worker: 'ö',
    epoch: 0x030405060708,
    sequence: 2,
    timestampMs: 2 ** 53 - 1,
    keys: 3,
    targetFpp: 0.5,
    blockSize: 24,
  };
  const words = Uint32Array.from({ length: 8 }, (_, i) => 0x04030201 + 0x04040404 * i);
  const block = Array.from({ length: 32 }, (_, i) => (i + 1).toString(16).padStart(2, '0')).join('');

  it.each<[SketchFrame, string, string]>([
    [
      { kind: 'full', session: undefined, ...pinned, filter: BloomFilter.fromWords(words) },
      '01',
      `01000000 0200 c3b6 0000 ${block}`,
    ],
    [
      { kind: 'delta', session: 's1', ...pinned, z: 0x105, indices: Uint32Array.of(0x104), blocks: words },
      '02',
      `05010000 0200 c3b6 0200 7331 01000000 04010000 ${block}`,
    ],
    [{ kind: 'clear', session: undefined, ...pinned, z: 0 }, '03', '00000000 0200 c3b6 0000'],
  ])('are those of version 1: $kind', (frame, kind, rest) => {
    const content = bytesFromHex(fields.replace('KIND', kind) + rest);
    const bytes = encodeFrame(frame);
    expect(bytes.subarray(0, -8)).toEqual(content);
    expect(new DataView(bytes.buffer).getBigUint64(content.length, true)).toBe(seam.xxh64(content, 0n));
  });
});

describe('a frame', () => {
  it.each(frames)('comes back as it was: $kind', (frame) => {
    expect(plain(decodeFrame(encodeFrame(frame)))).toEqual(plain(frame));
    const bytes = encodeFrame({ ...frame, session: 'séance' });
    expect(decodeFrame(bytes, { blockSize: 24, maxBlocks: 9 }).session).toBe('séance');
  });

  it.each(frames)('is read from anywhere in memory: $kind', (frame) => {
    const bytes = encodeFrame(frame);
    for (let offset = 0; offset < 9; offset++) {
      const memory = new Uint8Array(bytes.length + 20).fill(0xee);
      memory.set(bytes, offset);
      const read = decodeFrame(memory.subarray(offset, offset + bytes.length));
      expect(encodeFrame(read)).toEqual(bytes);
      expect(decodeFrame(Buffer.from(bytes))).toEqual(read);
    }
  });

  it.each(frames)('keeps nothing of the bytes, and of what was encoded: $kind', (frame) => {
    const bytes = encodeFrame(frame);
    const again = bytes.slice();
    const read = decodeFrame(bytes);
    bytes.fill(0);
    expect(encodeFrame(read)).toEqual(again);
    expect(encodeFrame(frame)).toEqual(again);
  });

  it('may be a delta without blocks, and a clear after which no deltas come', () => {
    const heartbeat = { ...delta, indices: new Uint32Array(0), blocks: new Uint32Array(0) };
    expect(decodeFrame(encodeFrame(heartbeat))).toEqual(heartbeat);
    expect(decodeFrame(encodeFrame({ ...clear, z: 0 }))).toEqual({ ...clear, z: 0 });
  });

  it('carries names that fill their length, and ones that a decoder could take for something else', () => {
    for (const worker of ['w'.repeat(65_535), 'ü'.repeat(32_767), '\ufeffbom', '\0', ':want', '👩‍💻']) {
      expect(decodeFrame(encodeFrame({ ...clear, worker, session: worker }))).toMatchObject({
        worker,
        session: worker,
      });
    }
  });

  it('carries numbers up to 2^53 − 1', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const numbers = { epoch: most, sequence: most, timestampMs: most, keys: most };
    expect(decodeFrame(encodeFrame({ ...clear, ...numbers }))).toMatchObject(numbers);
    const rates = [Number.MIN_VALUE, 1 - 2 ** -53];
    for (const targetFpp of rates) {
      expect(decodeFrame(encodeFrame({ ...clear, targetFpp }))).toMatchObject({ targetFpp });
    }
  });

  it('comes back in the same bytes, whatever is in it', () => {
    const random = new Random(seedOfRun('sketch frames'));
    const name = () => {
      const text = () => random.oneOf(['a', 'Z', '9', ':', 'ß', '語', '🦜', '\ufeff', '\u0000', ' ']);
      return Array.from({ length: random.between(1, 12) }, text).join('');
    };
    const number = () => random.below(2 ** random.between(1, 32)) * 2 ** random.below(22);
    for (let i = 0; i < 500; i++) {
      const z = random.between(1, 130);
      const common = {
        worker: name(),
        session: random.oneIn(2) ? name() : undefined,
        epoch: number(),
        sequence: number(),
        timestampMs: number(),
        keys: number(),
        targetFpp: 2 ** -random.between(1, 20),
        blockSize: random.between(1, 65_535),
      };
      const density = random.uniform();
      const indices = Uint32Array.from([...Array(z).keys()].filter(() => random.uniform() < density));
      const frame = random.oneOf<SketchFrame>([
        { kind: 'full', ...common, filter: BloomFilter.fromWords(randomWords(random, 8 * z)) },
        { kind: 'delta', ...common, z, indices, blocks: randomWords(random, 8 * indices.length) },
        { kind: 'clear', ...common, z: z - 1 },
      ]);
      const bytes = encodeFrame(frame);
      const read = decodeFrame(bytes, { blockSize: common.blockSize, maxBlocks: z });
      expect(plain(read)).toEqual(plain(frame));
      expect(Buffer.compare(encodeFrame(read), bytes)).toBe(0);
    }
  });
});

describe('misuse of encodeFrame', () => {
  const refused = (changes: object, frame: SketchFrame = clear) =>
    codeOf(() => encodeFrame({ ...frame, ...changes } as SketchFrame));

  it('is refused where a field is out of range', () => {
    for (const value of [-1, 0.5, 2 ** 53, Number.NaN]) {
      for (const field of ['epoch', 'sequence', 'timestampMs', 'keys']) {
        expect(refused({ [field]: value })).toBe('ERR_KVIDX_OUT_OF_RANGE');
      }
    }
    for (const targetFpp of [0, 1, -0.1, Number.NaN]) {
      expect(refused({ targetFpp })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    for (const blockSize of [0, 65_536, 1.5]) expect(refused({ blockSize })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    for (const z of [-1, MAX_FILTER_BLOCKS + 1]) expect(refused({ z })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(refused({ z: 0 }, delta)).toBe('ERR_KVIDX_OUT_OF_RANGE');
    expect(refused({ kind: 'other' })).toBe('ERR_KVIDX_OUT_OF_RANGE');
  });

  it('is refused where a name is none, or has more than 65,535 bytes of UTF-8', () => {
    for (const name of ['', '\ud800', 'w'.repeat(70_000), 'ü'.repeat(32_768)]) {
      expect(refused({ worker: name })).toBe('ERR_KVIDX_OUT_OF_RANGE');
      expect(refused({ session: name })).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    expect(() => encodeFrame({ ...clear, worker: 'w'.repeat(70_000) })).toThrow(
      'worker, in bytes of UTF-8, must be at most 65535, got 70000',
    );
  });

  it('is refused where the blocks of a delta are not in order', () => {
    for (const indices of [
      [0, 3, 9],
      [0, 3, 3],
      [3, 0, 8],
    ]) {
      expect(refused({ indices: Uint32Array.from(indices) }, delta)).toBe('ERR_KVIDX_OUT_OF_RANGE');
    }
    expect(refused({ blocks: new Uint32Array(23) }, delta)).toBe('ERR_KVIDX_LENGTH_MISMATCH');
  });

  it('is refused where a field has another type', () => {
    for (const field of ['kind', 'worker', 'session', 'epoch', 'sequence', 'timestampMs', 'keys', 'z']) {
      expect(refused({ [field]: null })).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    }
    for (const field of ['targetFpp', 'blockSize']) {
      expect(refused({ [field]: '1' })).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    }
    for (const field of ['indices', 'blocks']) {
      expect(refused({ [field]: [0] }, delta)).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    }
    expect(refused({ filter: full.filter.words }, full)).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
    expect(codeOf(() => encodeFrame(undefined as never))).toBe('ERR_KVIDX_INVALID_ARG_TYPE');
  });
});

it('the scheme of the seq hashes has number 1', () => {
  expect(SCHEME_XXH64_V1).toBe(1);
});
