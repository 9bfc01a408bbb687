import { ByteWriter } from '../../src/reference/snapshot-bytes.js';
import { reference } from './backends.js';

/** What a snapshot says, so that it can be made to say something impossible under correct checksums. */
export interface Content {
  magic: number;
  version: number;
  slots: SlotEntry[];
  freeSlots: [slot: number, incarnation: number][];
  sessions: [session: number, lastOwnMs: number][];
  freeSessions: number[];
  chains: Chain[];
  counters: bigint[];
  tags: number[];
  /** Bytes after the end section. */
  trailing: number;
}

export interface SlotEntry {
  slot: number;
  incarnation: number;
  mode: number;
  degraded: number;
  capacity: number;
  padding: number;
  lastStoreMs: number;
  ttlMs: number;
  counters: [evictedByCapacity: bigint, evictedByBound: bigint, expired: bigint];
}

export interface Chain {
  kind: number;
  before: bigint;
  hashes: bigint[];
  holders: [slot: number, begin: number, end: number][];
  owners: [session: number, length: number][];
  stamps: [slot: number, begin: number, end: number, stamp: bigint, ms: number][];
  copies: [slot: number, begin: number, end: number, further: number][];
  /** Lengths of lists that are said instead of theirs. */
  claimed: { holders?: number; owners?: number; stamps?: number; copies?: number };
}

/** In the place of a slot: stamps of known blocks. */
export const KNOWN = 0xffff_ffff;
/** Place of the next stamp among the counters. */
export const NEXT_STAMP = 6;

/**
 * Slots 0 and 2 plain, slot 3 bounded, slot 4 counting references; session 5 of 1 … 6; 10 → 11 → 12, and 20 → 21 after
 * 11; an orphan 30.
 */
export function possible(): Content {
  return {
    magic: 0x5849564b,
    version: 2,
    slots: [
      plainSlot(0, 1, 5),
      plainSlot(2, 4, -1),
      { ...plainSlot(3, 2, 6.5), mode: 1, capacity: 4, ttlMs: 50, counters: [7n, 8n, 9n] },
      { ...plainSlot(4, 1, 3), mode: 2, degraded: 1 },
    ],
    freeSlots: [[1, 3]],
    sessions: [[5, 7]],
    freeSessions: [1, 2, 3, 4, 6],
    chains: [
      {
        ...chain([10n, 11n, 12n]),
        holders: [
          [0, 0, 1],
          [0, 2, 3],
          [2, 0, 3],
          [3, 0, 2],
          [4, 0, 3],
        ],
        owners: [[5, 2]],
        stamps: [[3, 0, 2, 7n, 6.5]],
        copies: [[4, 1, 3, 2]],
      },
      {
        ...chain([20n, 21n]),
        kind: 1,
        before: 11n,
        holders: [
          [2, 0, 2],
          [3, 0, 1],
        ],
        owners: [[5, 1]],
        stamps: [[3, 0, 1, 2n, 4]],
      },
      { ...chain([30n]), kind: 2, holders: [[0, 0, 1]] },
    ],
    counters: [1n, 2n, 3n, 4n, 5n, 6n, 9n],
    tags: [1, 2, 3, 4, 5],
    trailing: 0,
  };
}

/** The same from an index with `maxBlocks`: 21 was named last, before it 10, 11 and 12, then 20, and 30 first. */
export function possibleWithKnownStamps(): Content {
  const content = possible();
  giveKnownStamps(content);
  return content;
}

export function giveKnownStamps({ chains }: Content): void {
  chains[0]!.stamps.push([KNOWN, 0, 3, 7n, 0]);
  chains[1]!.stamps.push([KNOWN, 0, 1, 4n, 0], [KNOWN, 1, 2, 8n, 0]);
  chains[2]!.stamps.push([KNOWN, 0, 1, 0n, 0]);
}

function plainSlot(slot: number, incarnation: number, lastStoreMs: number): SlotEntry {
  const none = { mode: 0, degraded: 0, capacity: 0, padding: 0, ttlMs: 0 };
  return { ...none, slot, incarnation, lastStoreMs, counters: [0n, 0n, 0n] };
}

/** A chain from the root that nobody holds yet. */
export function chain(hashes: bigint[]): Chain {
  return { kind: 0, before: 0n, hashes, holders: [], owners: [], stamps: [], copies: [], claimed: {} };
}

export function encode(content: Content): Uint8Array {
  const out = new ByteWriter();
  const section = (i: number, write: () => void) => {
    const start = out.length;
    out.u32(content.tags[i]!);
    out.u32(0);
    out.u64(0);
    write();
    out.setU64(start + 8, out.length - start - 16);
    out.u64(reference.xxh64(out.bytes(start), 0n));
  };
  out.u32(content.magic);
  out.u32(content.version);
  section(0, () => {
    out.u32(content.slots.length);
    for (const entry of content.slots) writeSlot(out, entry);
    writeTuples(out, content.freeSlots);
  });
  section(1, () => {
    out.u32(content.sessions.length);
    for (const [session, lastOwnMs] of content.sessions) {
      out.u32(session);
      out.f64(lastOwnMs);
    }
    out.u32(content.freeSessions.length);
    for (const session of content.freeSessions) out.u32(session);
  });
  section(2, () => {
    out.u64(content.chains.length);
    for (const entry of content.chains) writeChain(out, entry);
  });
  section(3, () => {
    for (const counter of content.counters) out.u64(counter);
  });
  section(4, () => {});
  for (let i = 0; i < content.trailing; i++) out.u32(0);
  return out.bytes().slice();
}

function writeSlot(out: ByteWriter, entry: SlotEntry): void {
  const { slot, incarnation, mode, degraded, capacity, padding, lastStoreMs, ttlMs, counters } = entry;
  for (const value of [slot, incarnation, mode, degraded, capacity, padding]) out.u32(value);
  out.f64(lastStoreMs);
  out.f64(ttlMs);
  for (const counter of counters) out.u64(counter);
}

function writeChain(out: ByteWriter, { kind, before, hashes, claimed, ...lists }: Chain): void {
  out.u32(kind);
  out.u32(hashes.length);
  out.u64(before);
  for (const hash of hashes) out.u64(hash);
  writeTuples(out, lists.holders, claimed.holders);
  writeTuples(out, lists.owners, claimed.owners);
  out.u32(claimed.stamps ?? lists.stamps.length);
  for (const [slot, begin, end, stamp, ms] of lists.stamps) {
    for (const value of [slot, begin, end]) out.u32(value);
    out.u64(stamp);
    out.f64(ms);
  }
  writeTuples(out, lists.copies, claimed.copies);
}

function writeTuples(
  out: ByteWriter,
  tuples: readonly (readonly number[])[],
  claimed: number | undefined = tuples.length,
): void {
  out.u32(claimed);
  for (const tuple of tuples) for (const value of tuple) out.u32(value);
}
