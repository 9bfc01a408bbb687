import { KvidxError } from '../errors.js';
import { seam } from '../native/index.js';

/*
 * Snapshot file: what the core does not know (names, block size, namespace) around the core's own snapshot.
 *
 *   magic "kvidxsn1" | settings | workers | sessions | index
 *   section = u64le(payload bytes) | payload | u64le(check)
 *   check   = XXH64(length and payload, seed = check of the section before; 0 for the first)
 *
 * The chained checks tie the sections of one snapshot together: one from another file is damage. The first three
 * payloads are JSON, the last is the core's.
 */

const MAGIC = new TextEncoder().encode('kvidxsn1');
const SECTIONS = ['settings', 'workers', 'sessions', 'index'] as const;

export type Section = (typeof SECTIONS)[number];
export type Payloads = Readonly<Record<Section, Uint8Array>>;

export function badSnapshot(section: string, problem: string, cause?: unknown): KvidxError {
  return new KvidxError(
    'ERR_KVIDX_BAD_SNAPSHOT',
    `snapshot section "${section}": ${problem}; nothing was restored`,
    cause === undefined ? undefined : { cause },
  );
}

export function encodeFile(payloads: Payloads): Uint8Array {
  const size = SECTIONS.reduce((sum, name) => sum + payloads[name].length + 16, MAGIC.length);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  let at = MAGIC.length;
  let check = 0n;
  for (const name of SECTIONS) {
    const payload = payloads[name];
    view.setBigUint64(at, BigInt(payload.length), true);
    bytes.set(payload, at + 8);
    const end = at + 8 + payload.length;
    check = seam.xxh64(bytes.subarray(at, end), check);
    view.setBigUint64(end, check, true);
    at = end + 8;
  }
  return bytes;
}

/** The sections of an undamaged file, as views into `bytes`. ERR_KVIDX_BAD_SNAPSHOT names the first damaged one. */
export function decodeFile(bytes: Uint8Array): Payloads {
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) throw badSnapshot('magic', 'this is no kvidx snapshot');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const payloads: Partial<Record<Section, Uint8Array>> = {};
  let at = MAGIC.length;
  let check = 0n;
  for (const name of SECTIONS) {
    const end = at + 8 + payloadLength(view, at, name);
    check = seam.xxh64(bytes.subarray(at, end), check);
    if (view.getBigUint64(end, true) !== check) throw badSnapshot(name, 'its checksum does not match');
    payloads[name] = bytes.subarray(at + 8, end);
    at = end + 8;
  }
  if (at !== bytes.length) throw badSnapshot('end', `${bytes.length - at} bytes too many`);
  return payloads as Payloads;
}

function payloadLength(view: DataView, at: number, section: string): number {
  if (at + 16 > view.byteLength) throw badSnapshot(section, 'the file ends before it');
  const length = view.getBigUint64(at, true);
  if (length > BigInt(view.byteLength - at - 16)) throw badSnapshot(section, 'it is longer than the file');
  return Number(length);
}
