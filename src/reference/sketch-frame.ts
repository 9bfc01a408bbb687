import { FRAME, FRAME_FAULT, FRAME_KIND, type HashSeam, type SketchSeam } from '../native/seam.js';

const MAGIC = 0x4b53564b; // "KVSK"
const VERSION = 1;
/** The part of fixed size: all before the length of the worker's name. */
const HEAD_BYTES = 56;
const BLOCK_BYTES = 32;
/** An index and its block. */
const PAIR_BYTES = 4 + BLOCK_BYTES;
const CHECKSUM_BYTES = 8;
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);
/** Offsets of epoch, sequence, timestamp and keys. */
const NUMBERS = [8, 16, 24, 32] as const;

/** The twin of `native/core/sketch_frame.cpp`; the layout stands in its header. */
export function createReferenceFrameReader({ xxh64 }: Pick<HashSeam, 'xxh64'>): SketchSeam['readFrame'] {
  return (bytes, maxBlocks, fields) => {
    if (bytes.length < HEAD_BYTES) return FRAME_FAULT.truncated;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const kind = view.getUint8(5);
    const z = view.getUint32(52, true);
    const fault = headFault(view, maxBlocks);
    if (fault !== FRAME_FAULT.ok) return fault;

    // What does not fit is missing; no offset is read before it is known to fit.
    let at = HEAD_BYTES;
    const has = (size: number) => bytes.length - at >= size;
    if (!has(2)) return FRAME_FAULT.truncated;
    const workerBegin = at + 2;
    const workerEnd = workerBegin + view.getUint16(at, true);
    at = workerEnd;
    if (!has(2)) return FRAME_FAULT.truncated;
    const sessionBegin = at + 2;
    const sessionEnd = sessionBegin + view.getUint16(at, true);
    at = sessionEnd;
    let pairs = 0;
    if (kind === FRAME_KIND.delta) {
      if (!has(4)) return FRAME_FAULT.truncated;
      pairs = view.getUint32(at, true);
      at += 4;
    }
    const payloadBegin = at;
    const payloadEnd = payloadBegin + (kind === FRAME_KIND.full ? z * BLOCK_BYTES : pairs * PAIR_BYTES);
    at = payloadEnd;
    if (!has(CHECKSUM_BYTES)) return FRAME_FAULT.truncated;

    const worker = bytes.subarray(workerBegin, workerEnd);
    const session = bytes.subarray(sessionBegin, sessionEnd);
    if (worker.length === 0 || !isUtf8(worker) || !isUtf8(session)) return FRAME_FAULT.name;
    let least = 0;
    for (let i = 0; i < pairs; i++) {
      const index = view.getUint32(payloadBegin + i * PAIR_BYTES, true);
      if (index < least || index >= z) return FRAME_FAULT.delta;
      least = index + 1;
    }
    if (bytes.length > payloadEnd + CHECKSUM_BYTES) return FRAME_FAULT.tooLong;
    if (xxh64(bytes.subarray(0, payloadEnd), 0n) !== view.getBigUint64(payloadEnd, true)) {
      return FRAME_FAULT.checksum;
    }

    fields[FRAME.kind] = kind;
    fields[FRAME.epoch] = Number(view.getBigUint64(8, true));
    fields[FRAME.sequence] = Number(view.getBigUint64(16, true));
    fields[FRAME.timestampMs] = Number(view.getBigUint64(24, true));
    fields[FRAME.keys] = Number(view.getBigUint64(32, true));
    fields[FRAME.targetFpp] = view.getFloat64(40, true);
    fields[FRAME.scheme] = view.getUint16(48, true);
    fields[FRAME.blockSize] = view.getUint16(50, true);
    fields[FRAME.z] = z;
    fields[FRAME.workerBegin] = workerBegin;
    fields[FRAME.workerEnd] = workerEnd;
    fields[FRAME.sessionBegin] = sessionBegin;
    fields[FRAME.sessionEnd] = sessionEnd;
    fields[FRAME.payloadBegin] = payloadBegin;
    fields[FRAME.payloadEnd] = payloadEnd;
    return FRAME_FAULT.ok;
  };
}

/** What is wrong within the head. */
function headFault(view: DataView, maxBlocks: number): number {
  if (view.getUint32(0, true) !== MAGIC) return FRAME_FAULT.magic;
  if (view.getUint8(4) !== VERSION) return FRAME_FAULT.version;
  const kind = view.getUint8(5);
  if (kind < FRAME_KIND.full || kind > FRAME_KIND.clear) return FRAME_FAULT.kind;
  if (view.getUint16(6, true) !== 0) return FRAME_FAULT.flags;
  if (NUMBERS.some((at) => view.getBigUint64(at, true) > MAX_NUMBER)) return FRAME_FAULT.number;
  const targetFpp = view.getFloat64(40, true);
  if (!(targetFpp > 0 && targetFpp < 1)) return FRAME_FAULT.targetFpp;
  if (view.getUint16(50, true) === 0) return FRAME_FAULT.blockSize;
  const z = view.getUint32(52, true);
  if (z > maxBlocks || (z === 0 && kind !== FRAME_KIND.clear)) return FRAME_FAULT.z;
  return FRAME_FAULT.ok;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function isUtf8(bytes: Uint8Array): boolean {
  try {
    utf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
