import { type CoreIndexOptions, SLOT_MODE } from '../native/seam.js';
import { emptySlot, emptyState, type IndexState } from './index-state.js';
import { findCycle } from './inspect.js';
import { NumberPool } from './number-pool.js';
import { ByteReader, DamagedSnapshot, demand } from './snapshot-bytes.js';
import { ChainReader } from './snapshot-chain-reader.js';
import {
  BYTES,
  type Checksum,
  MAGIC,
  MAX_STAMP,
  MAX_U32,
  SECTIONS,
  type Section,
  VERSION,
} from './snapshot-format.js';

/** The state, or the name of the first bad section. */
export function decodeSnapshot(
  bytes: Uint8Array,
  options: CoreIndexOptions,
  checksum: Checksum,
): IndexState | string {
  const reader = new ByteReader(bytes);
  const reading: Reading = { state: emptyState(options), newestStamp: -1 };
  let section = 'header';
  try {
    demand(reader.u32() === MAGIC && reader.u32() === VERSION);
    for (const [i, name] of SECTIONS.entries()) {
      section = name;
      const payload = openSection(reader, bytes, i + 1, checksum);
      READ[name](payload, reading);
      demand(payload.remaining === 0);
    }
    demand(reader.remaining === 0);
  } catch (error) {
    if (error instanceof DamagedSnapshot) return section;
    throw error;
  }
  return reading.state;
}

interface Reading {
  readonly state: IndexState;
  /** −1: no block has a stamp. */
  newestStamp: number;
}

function openSection(reader: ByteReader, bytes: Uint8Array, tag: number, checksum: Checksum): ByteReader {
  const start = reader.at;
  demand(reader.u32() === tag && reader.u32() === 0);
  const length = reader.u64();
  demand(length <= BigInt(reader.remaining));
  const payload = reader.bytes(Number(length));
  const end = reader.at;
  demand(reader.u64() === checksum.xxh64(bytes.subarray(start, end), 0n));
  return new ByteReader(payload);
}

const READ: Record<Section, (payload: ByteReader, reading: Reading) => void> = {
  slots(payload, { state: { slots, incarnations } }) {
    const live = payload.count(BYTES.slot);
    for (let i = 0; i < live; i++) {
      const slot = readNewSlot(payload, incarnations);
      incarnations[slot] = readIncarnation(payload);
      const holder = emptySlot();
      holder.mode = payload.u32();
      const degraded = payload.u32();
      holder.degraded = degraded === 1;
      holder.capacity = payload.u32();
      const padding = payload.u32();
      holder.lastStoreMs = payload.f64();
      holder.ttlMs = payload.f64();
      holder.evictedByCapacity = Number(payload.u64());
      holder.evictedByBound = Number(payload.u64());
      holder.expired = Number(payload.u64());
      demand(holder.mode <= SLOT_MODE.counted && degraded <= 1 && padding === 0);
      demand(Number.isFinite(holder.ttlMs) && holder.ttlMs >= 0);
      if (holder.mode === SLOT_MODE.bounded) demand(holder.capacity >= 1);
      else demand(holder.capacity === 0 && holder.ttlMs === 0);
      slots[slot] = holder;
    }
    const free = payload.count(BYTES.freeSlot);
    for (let i = 0; i < free; i++) {
      const slot = readNewSlot(payload, incarnations);
      incarnations[slot] = readIncarnation(payload);
    }
    demand(incarnations.length === live + free);
  },

  sessions(payload, { state }) {
    const { sessions } = state;
    const live = payload.count(BYTES.session);
    for (let i = 0; i < live; i++) {
      const number = payload.u32();
      demand(number !== 0 && !sessions.has(number));
      sessions.set(number, { lastOwnMs: payload.f64(), blocks: new Set() });
    }
    const free: number[] = [];
    for (let left = payload.count(BYTES.freeSession); left > 0; left--) {
      const number = payload.u32();
      demand(number > (free.at(-1) ?? 0) && !sessions.has(number));
      free.push(number);
    }
    const highest = live + free.length;
    demand((free.at(-1) ?? 0) <= highest);
    for (const number of sessions.keys()) demand(number <= highest);
    state.sessionNumbers = new NumberPool(highest, free);
  },

  chains(payload, reading) {
    const chains = new ChainReader(reading.state);
    for (let left = payload.u64(); left > 0n; left--) chains.read(payload);
    reading.newestStamp = chains.finish();
    demand(findCycle(reading.state) === undefined);
  },

  counters(payload, { state, newestStamp }) {
    state.duplicates = Number(payload.u64());
    state.unknownRemoves = Number(payload.u64());
    state.rejected = Number(payload.u64());
    state.evictedByCapacity = Number(payload.u64());
    state.evictedByBound = Number(payload.u64());
    state.expired = Number(payload.u64());
    const nextStamp = payload.u64();
    demand(nextStamp > newestStamp && nextStamp <= MAX_STAMP);
    state.nextStamp = Number(nextStamp);
  },

  end() {},
};

/** The largest number is no place of an array. */
function readNewSlot(payload: ByteReader, incarnations: readonly number[]): number {
  const slot = payload.u32();
  demand(slot !== MAX_U32 && !(slot in incarnations));
  return slot;
}

/** Restoring raises it once more. */
function readIncarnation(payload: ByteReader): number {
  const incarnation = payload.u32();
  demand(incarnation !== MAX_U32);
  return incarnation;
}
