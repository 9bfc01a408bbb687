import { describe, expect, it } from 'vitest';
import { FRAME, FRAME_FAULT, FRAME_FIELDS, FRAME_KIND, type SketchSeam } from '../../src/native/seam.js';
import { encodeFrame } from '../../src/sketch/frame.js';
import { reference, tested } from '../property/backends.js';
import { Random, seedOfRun } from '../property/random.js';
import { clear, delta, frames, full, patched } from './frames.js';

const seams: [string, SketchSeam][] = [
  [tested.name, tested],
  ['TypeScript twin', reference],
];
const names = Object.fromEntries(Object.entries(FRAME_FAULT).map(([name, fault]) => [fault, name]));
/** Blocks that are allowed: as many as the frames have. */
const MAX_BLOCKS = 9;
const UNTOUCHED = -7;

interface Reading {
  readonly fault: string | undefined;
  readonly fields: readonly number[];
}

/** What a reader says of bytes that begin at some odd address. */
function read(seam: SketchSeam, bytes: Uint8Array, maxBlocks = MAX_BLOCKS): Reading {
  const memory = new Uint8Array(bytes.length + 5);
  memory.set(bytes, 3);
  const fields = new Float64Array(FRAME_FIELDS).fill(UNTOUCHED);
  const fault = seam.readFrame(memory.subarray(3, -2), maxBlocks, fields);
  return { fault: names[fault], fields: [...fields] };
}

const u16 = (n: number) => [n & 0xff, n >> 8];
const u32 = (n: number) => [...u16(n & 0xffff), ...u16(n >>> 16)];
const f64 = (n: number) => [...new Uint8Array(Float64Array.of(n).buffer)];
const TOO_LARGE = [0, 0, 0, 0, 0, 0, 0x20, 0]; // 2^53
const WORKER = 58;
/** Of the length of the session, and of what follows it. */
const SESSION_LENGTH = WORKER + full.worker.length;
const PAYLOAD = SESSION_LENGTH + 2;

const faults: [keyof typeof FRAME_FAULT, string, Uint8Array, number?][] = [
  ['ok', 'a full frame', encodeFrame(full)],
  ['ok', 'a delta', encodeFrame(delta)],
  ['ok', 'a clear', encodeFrame(clear)],
  ['ok', 'a clear that no delta will follow', encodeFrame({ ...clear, z: 0 }), 0],
  ['ok', 'a delta of nothing', patched(encodeFrame(delta).subarray(0, PAYLOAD + 12), [PAYLOAD, u32(0)])],
  ['ok', 'the largest numbers', patched(full, ...[8, 16, 24, 32].map((at) => patchOfMax(at)))],
  ['ok', 'another scheme and block size', patched(full, [48, u16(77)], [50, u16(0xffff)])],
  ['truncated', 'nothing', new Uint8Array(0)],
  ['truncated', 'a head without its end', encodeFrame(full).subarray(0, 55)],
  ['truncated', 'a head and no more', encodeFrame(full).subarray(0, 56)],
  ['truncated', 'a worker whose name is longer', patched(full, [56, u16(60_000)])],
  ['truncated', 'a session whose name is longer', patched(full, [SESSION_LENGTH, u16(60_000)])],
  ['truncated', 'a delta of more blocks', patched(delta, [PAYLOAD, u32(0xffff_ffff)])],
  ['truncated', 'a filter of more blocks', patched(full, [52, u32(0xffff_ffff)]), 0xffff_ffff],
  ['truncated', 'no checksum', encodeFrame(full).subarray(0, -8)],
  ['magic', 'another magic', patched(full, [3, [0x6b]])],
  ['version', 'version 2', patched(full, [4, [2]])],
  ['version', 'version 0', patched(full, [4, [0]])],
  ['kind', 'kind 0', patched(full, [5, [0]])],
  ['kind', 'kind 4', patched(full, [5, [4]])],
  ['flags', 'the lowest flag', patched(full, [6, [1]])],
  ['flags', 'the highest flag', patched(full, [7, [0x80]])],
  ['number', 'a large epoch', patched(full, [8, TOO_LARGE])],
  ['number', 'a large sequence', patched(full, [16, TOO_LARGE])],
  ['number', 'a large timestamp', patched(full, [24, TOO_LARGE])],
  ['number', 'too many keys', patched(full, [32, TOO_LARGE])],
  ['targetFpp', 'a target of 0', patched(full, [40, f64(0)])],
  ['targetFpp', 'a target of 1', patched(full, [40, f64(1)])],
  ['targetFpp', 'a target that is no number', patched(full, [40, f64(Number.NaN)])],
  ['targetFpp', 'a negative target', patched(full, [40, f64(-0.5)])],
  ['blockSize', 'block size 0', patched(full, [50, u16(0)])],
  ['z', 'a filter of no blocks', patched(full, [52, u32(0)])],
  ['z', 'a delta of no filter', patched(delta, [52, u32(0)])],
  ['z', 'a large filter', encodeFrame(full), full.filter.z - 1],
  ['z', 'a delta of a large filter', encodeFrame(delta), 8],
  ['z', 'a clear for a large filter', encodeFrame(clear), 2],
  [
    'name',
    'a worker without a name',
    encodeFrame({ ...clear, worker: '?' })
      .with(56, 0)
      .with(58, 0),
  ],
  ['name', 'a name that is not UTF-8', patched(full, [WORKER, [0xff]])],
  ['name', 'a surrogate', patched(full, [WORKER, [0xed, 0xa0, 0x80]])],
  ['name', 'an overlong form', patched(full, [WORKER, [0xc0, 0xaf]])],
  ['name', 'a session that is not UTF-8', patched({ ...full, session: 's' }, [PAYLOAD, [0x80]])],
  ['delta', 'an index twice', patched(delta, [PAYLOAD + 4 + 36, u32(0)])],
  ['delta', 'an index that falls', patched(delta, [PAYLOAD + 4 + 72, u32(2)])],
  ['delta', 'an index beyond the filter', patched(delta, [PAYLOAD + 4 + 72, u32(9)])],
  ['tooLong', 'a byte more', Uint8Array.of(...encodeFrame(full), 0)],
  ['tooLong', 'a clear with a payload', patched(full, [5, [FRAME_KIND.clear]])],
  ['checksum', 'a bit of the filter', encodeFrame(full).with(PAYLOAD, 0)],
  ['checksum', 'a bit of the checksum', flipped(encodeFrame(clear), -1)],
];

function patchOfMax(at: number): [number, number[]] {
  return [at, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f, 0]];
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.with(at < 0 ? bytes.length + at : at, bytes.at(at)! ^ 1);
}

describe.each(seams)('readFrame of the %s', (_, seam) => {
  it.each(faults)('says %s of %s', (fault, _what, bytes, maxBlocks) => {
    const got = read(seam, bytes, maxBlocks);
    expect(got.fault).toBe(fault);
    expect(got.fields.every((value) => value === UNTOUCHED)).toBe(fault !== 'ok');
  });

  it.each(frames)('finds the parts of a frame: $kind', (frame) => {
    const bytes = encodeFrame({ ...frame, session: 'séance' });
    const { fields } = read(seam, bytes);
    const text = (begin: number, end: number) =>
      new TextDecoder().decode(bytes.subarray(fields[begin], fields[end]));
    expect(text(FRAME.workerBegin, FRAME.workerEnd)).toBe(frame.worker);
    expect(text(FRAME.sessionBegin, FRAME.sessionEnd)).toBe('séance');
    expect(fields.slice(FRAME.kind, FRAME.workerBegin)).toEqual([
      FRAME_KIND[frame.kind],
      ...[frame.epoch, frame.sequence, frame.timestampMs, frame.keys, frame.targetFpp],
      ...[1, frame.blockSize, frame.kind === 'full' ? frame.filter.z : frame.z],
    ]);
    const payload = { full: 32 * full.filter.z, delta: 36 * delta.indices.length, clear: 0 }[frame.kind];
    expect(fields[FRAME.payloadEnd]! - fields[FRAME.payloadBegin]!).toBe(payload);
    expect(fields[FRAME.payloadEnd]).toBe(bytes.length - 8);
  });

  it.each(frames)('says truncated of every beginning of a frame: $kind', (frame) => {
    const bytes = encodeFrame(frame);
    for (let size = 0; size < bytes.length; size++) {
      expect(read(seam, bytes.subarray(0, size)).fault).toBe('truncated');
    }
  });

  it.each(frames)('refuses a frame with any one bit flipped: $kind', (frame) => {
    const bytes = encodeFrame({ ...frame, session: 'ß' });
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = bytes.with(bit >> 3, bytes[bit >> 3]! ^ (1 << (bit & 7)));
      expect(read(seam, flipped).fault).not.toBe('ok');
    }
  });
});

describe('the cases above', () => {
  it('have every fault', () => {
    expect(new Set(faults.map(([fault]) => fault))).toEqual(new Set(Object.keys(FRAME_FAULT)));
  });
});

describe('the two readers', () => {
  it('agree on frames with bytes changed, cut off and put behind, half of them with a checksum that fits', () => {
    const random = new Random(seedOfRun('read-frame'));
    const extremes = [0, 1, 2, 3, 8, 9, 10, 0x1f, 0x20, 0x7f, 0x80, 0xc2, 0xed, 0xf4, 0xff];
    const met = new Map<string | undefined, number>();
    for (let round = 0; round < 20_000; round++) {
      const session = random.oneIn(2) ? undefined : random.oneOf(['s', 'séance', '会话', '\u{1f600}']);
      let bytes = encodeFrame({ ...random.oneOf(frames), session });
      for (let n = random.below(4); n > 0; n--) {
        // Mostly in the head and the names, where a byte means something.
        const at = random.below(random.oneIn(3) ? bytes.length : Math.min(90, bytes.length));
        bytes[at] = random.oneIn(2) ? random.oneOf(extremes) : random.below(256);
      }
      if (random.oneIn(8)) bytes = bytes.subarray(0, random.below(bytes.length));
      if (random.oneIn(8)) bytes = Uint8Array.of(...bytes, ...Array(random.between(1, 40)).fill(0));
      if (random.oneIn(2) && bytes.length >= 8) bytes = patched(bytes);
      const maxBlocks = random.between(0, 12);
      const got = read(tested, bytes, maxBlocks);
      expect({ round, ...got }).toEqual({ round, ...read(reference, bytes, maxBlocks) });
      met.set(got.fault, (met.get(got.fault) ?? 0) + 1);
    }
    expect(new Set(met.keys())).toEqual(new Set(Object.keys(FRAME_FAULT)));
  });
});

describe.runIf(tested !== reference)('the addon checks what crosses', () => {
  const loose = tested.readFrame as unknown as (...args: unknown[]) => number;
  const bytes = encodeFrame(clear);
  const fields = new Float64Array(FRAME_FIELDS);

  it.each<[string, unknown[], string]>([
    ['no bytes', [], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['words for bytes', [new Uint32Array(40), 9, fields], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['maxBlocks that is no number', [bytes, '9', fields], 'ERR_KVIDX_INVALID_ARG_TYPE'],
    ['a negative maxBlocks', [bytes, -1, fields], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['maxBlocks of 2^32', [bytes, 2 ** 32, fields], 'ERR_KVIDX_OUT_OF_RANGE'],
    ['too few fields', [bytes, 9, new Float64Array(3)], 'ERR_KVIDX_LENGTH_MISMATCH'],
    ['fields of another dtype', [bytes, 9, new Float32Array(FRAME_FIELDS)], 'ERR_KVIDX_INVALID_ARG_TYPE'],
  ])('and refuses %s', (_, args, code) => {
    expect(() => loose(...args)).toThrow(expect.objectContaining({ code }));
  });
});
