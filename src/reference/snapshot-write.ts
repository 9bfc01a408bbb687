import type { IndexState } from './index-state.js';
import { ByteWriter } from './snapshot-bytes.js';
import { chainsOf } from './snapshot-chains.js';
import { type Checksum, KIND, MAGIC, SECTIONS, type Section, VERSION } from './snapshot-format.js';

export function encodeSnapshot(state: IndexState, checksum: Checksum): Uint8Array {
  const out = new ByteWriter();
  out.u32(MAGIC);
  out.u32(VERSION);
  for (const [i, name] of SECTIONS.entries()) {
    const start = out.length;
    out.u32(i + 1);
    out.u32(0);
    out.u64(0);
    const payload = out.length;
    WRITE[name](out, state);
    out.setU64(start + 8, out.length - payload);
    out.u64(checksum.xxh64(out.bytes(start), 0n));
  }
  return out.bytes().slice();
}

const WRITE: Record<Section, (out: ByteWriter, state: IndexState) => void> = {
  slots(out, { slots, incarnations }) {
    const numbers = [...incarnations.keys()];
    const live = numbers.filter((slot) => slots[slot]);
    out.u32(live.length);
    for (const slot of live) {
      const holder = slots[slot]!;
      out.u32(slot);
      out.u32(incarnations[slot]!);
      out.u32(holder.mode);
      out.u32(holder.degraded ? 1 : 0);
      out.u32(holder.capacity);
      out.u32(0);
      out.f64(holder.lastStoreMs);
      out.f64(holder.ttlMs);
      out.u64(holder.evictedByCapacity);
      out.u64(holder.evictedByBound);
      out.u64(holder.expired);
    }
    const free = numbers.filter((slot) => !slots[slot]);
    out.u32(free.length);
    for (const slot of free) {
      out.u32(slot);
      out.u32(incarnations[slot]!);
    }
  },

  sessions(out, { sessions, sessionNumbers }) {
    out.u32(sessions.size);
    for (const [number, { lastOwnMs }] of sessions) {
      out.u32(number);
      out.f64(lastOwnMs);
    }
    const free = sessionNumbers.free();
    out.u32(free.length);
    for (const number of free) out.u32(number);
  },

  chains(out, state) {
    const chains = chainsOf(state);
    out.u64(chains.length);
    for (const { hashes, holders, owners, stamps, copies } of chains) {
      const { predecessor } = state.blocks.get(hashes[0]!)!;
      out.u32(typeof predecessor === 'bigint' ? KIND.hash : predecessor === null ? KIND.unknown : KIND.root);
      out.u32(hashes.length);
      out.u64(predecessor ?? 0n);
      for (const hash of hashes) out.u64(hash);
      writeList(out, holders, ({ slot, begin, end }) => writeU32s(out, slot, begin, end));
      writeList(out, owners, ({ session, length }) => writeU32s(out, session, length));
      writeList(out, stamps, ({ slot, begin, end, stamp, ms }) => {
        writeU32s(out, slot, begin, end);
        out.u64(stamp);
        out.f64(ms);
      });
      writeList(out, copies, ({ slot, begin, end, further }) => writeU32s(out, slot, begin, end, further));
    }
  },

  counters(out, state) {
    out.u64(state.duplicates);
    out.u64(state.unknownRemoves);
    out.u64(state.rejected);
    out.u64(state.evictedByCapacity);
    out.u64(state.evictedByBound);
    out.u64(state.expired);
    out.u64(state.nextStamp);
  },

  end() {},
};

function writeList<T>(out: ByteWriter, list: readonly T[], write: (entry: T) => void): void {
  out.u32(list.length);
  for (const entry of list) write(entry);
}

function writeU32s(out: ByteWriter, ...values: number[]): void {
  for (const value of values) out.u32(value);
}
