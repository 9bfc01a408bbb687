import { KvidxError } from '../errors.js';
import { seam } from '../native/index.js';
import type { Tier } from './workers.js';

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

export interface SnapshotSettings {
  readonly blockSize: number;
  /** Decimal root of the default namespace. */
  readonly root: string;
}

export interface SnapshotContent {
  readonly settings: SnapshotSettings;
  /** Slot, name, dpRank, tier. */
  readonly workers: readonly (readonly [number, string, number, Tier])[];
  /** Name and number. */
  readonly sessions: readonly (readonly [string, number])[];
  readonly index: Uint8Array;
}

export function badSnapshot(section: string, problem: string): KvidxError {
  return new KvidxError(
    'ERR_KVIDX_BAD_SNAPSHOT',
    `snapshot section "${section}": ${problem}; nothing was restored`,
  );
}

export function encodeSnapshot(content: SnapshotContent): Uint8Array {
  const payloads = SECTIONS.map((name) =>
    name === 'index' ? content.index : new TextEncoder().encode(JSON.stringify(content[name])),
  );
  const bytes = new Uint8Array(payloads.reduce((size, payload) => size + payload.length + 16, MAGIC.length));
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  let at = MAGIC.length;
  let check = 0n;
  for (const payload of payloads) {
    view.setBigUint64(at, BigInt(payload.length), true);
    bytes.set(payload, at + 8);
    const end = at + 8 + payload.length;
    check = seam.xxh64(bytes.subarray(at, end), check);
    view.setBigUint64(end, check, true);
    at = end + 8;
  }
  return bytes;
}

/** The content of an undamaged snapshot; `index` is a view into `bytes`. ERR_KVIDX_BAD_SNAPSHOT names the section. */
export function decodeSnapshot(bytes: Uint8Array): SnapshotContent {
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) throw badSnapshot('magic', 'this is no kvidx snapshot');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const payloads: Uint8Array[] = [];
  let at = MAGIC.length;
  let check = 0n;
  for (const name of SECTIONS) {
    const end = at + 8 + payloadLength(view, at, name);
    check = seam.xxh64(bytes.subarray(at, end), check);
    if (view.getBigUint64(end, true) !== check) throw badSnapshot(name, 'its checksum does not match');
    payloads.push(bytes.subarray(at + 8, end));
    at = end + 8;
  }
  if (at !== bytes.length) throw badSnapshot('end', `${bytes.length - at} bytes too many`);
  const [settings, workers, sessions] = payloads.map((payload, i) =>
    i < 3 ? JSON.parse(new TextDecoder().decode(payload)) : undefined,
  );
  return { settings, workers, sessions, index: payloads[3]! };
}

function payloadLength(view: DataView, at: number, section: string): number {
  if (at + 16 > view.byteLength) throw badSnapshot(section, 'the file ends before it');
  const length = view.getBigUint64(at, true);
  if (length > BigInt(view.byteLength - at - 16)) throw badSnapshot(section, 'it is longer than the file');
  return Number(length);
}
