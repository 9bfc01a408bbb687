import { ByteWriter } from '../../src/reference/snapshot-bytes.js';
import { reference } from './backends.js';

/** What a snapshot says, so that it can be made to say something impossible under correct checksums. */
export interface Content {
  magic: number;
  version: number;
  slots: [slot: number, incarnation: number, lastStoreMs: number][];
  freeSlots: [slot: number, incarnation: number][];
  sessions: [session: number, lastOwnMs: number][];
  freeSessions: number[];
  chains: Chain[];
  tags: number[];
  /** Bytes after the end section. */
  trailing: number;
}

interface Chain {
  kind: number;
  before: bigint;
  hashes: bigint[];
  holders: [slot: number, begin: number, end: number][];
  owners: [session: number, length: number][];
}

/** Slots 0 and 2 live, session 5 of 1 … 6; 10 → 11 → 12, and 20 → 21 after 11; an orphan 30. */
export function possible(): Content {
  return {
    magic: 0x5849564b,
    version: 1,
    slots: [
      [0, 1, 5],
      [2, 4, -1],
    ],
    freeSlots: [[1, 3]],
    sessions: [[5, 7]],
    freeSessions: [1, 2, 3, 4, 6],
    chains: [
      {
        kind: 0,
        before: 0n,
        hashes: [10n, 11n, 12n],
        holders: [
          [0, 0, 1],
          [0, 2, 3],
          [2, 0, 3],
        ],
        owners: [[5, 2]],
      },
      { kind: 1, before: 11n, hashes: [20n, 21n], holders: [[2, 0, 2]], owners: [[5, 1]] },
      { kind: 2, before: 0n, hashes: [30n], holders: [[0, 0, 1]], owners: [] },
    ],
    tags: [1, 2, 3, 4, 5],
    trailing: 0,
  };
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
    for (const [slot, incarnation, lastStoreMs] of content.slots) {
      out.u32(slot);
      out.u32(incarnation);
      out.f64(lastStoreMs);
    }
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
    for (const { kind, before, hashes, holders, owners } of content.chains) {
      out.u32(kind);
      out.u32(hashes.length);
      out.u64(before);
      for (const hash of hashes) out.u64(hash);
      writeTuples(out, holders);
      writeTuples(out, owners);
    }
  });
  section(3, () => {
    for (const counter of [1, 2, 3]) out.u64(counter);
  });
  section(4, () => {});
  for (let i = 0; i < content.trailing; i++) out.u32(0);
  return out.bytes().slice();
}

function writeTuples(out: ByteWriter, tuples: readonly (readonly number[])[]): void {
  out.u32(tuples.length);
  for (const tuple of tuples) for (const value of tuple) out.u32(value);
}
