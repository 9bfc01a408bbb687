import type { HashSeam } from '../native/seam.js';
import { type Block, emptyState, type IndexState, type Predecessor } from './index-state.js';
import { findCycle } from './inspect.js';
import { NumberPool } from './number-pool.js';
import { ByteReader, ByteWriter, DamagedSnapshot } from './snapshot-bytes.js';

/**
 * The snapshot format "KVIX" version 1, little-endian, the same for every backend:
 *
 *   header    u32 'KVIX', u32 version
 *   section   u32 tag, u32 0, u64 payload bytes, payload, u64 XXH64(tag … payload, seed 0); five of them, in order:
 *   1 slots     u32 n, n × {u32 slot, u32 incarnation, f64 lastStoreMs}; u32 n, n × {u32 free slot, u32 incarnation}
 *   2 sessions  u32 n, n × {u32 session, f64 lastOwnMs}, least recently owning first; u32 m, m × u32 free session,
 *               ascending; together exactly 1 … n + m
 *   3 chains    u64 n, n × {u8 kind of the block before (0 root, 1 hash, 2 unknown), u8[3] 0, u32 length, u64 hash,
 *               u64[length] hashes, u32 n, n × {u32 slot, u32 begin, u32 end}, u32 n, n × {u32 session, u32 length}}
 *   4 counters  u64 duplicates, u64 unknownRemoves, u64 rejected
 *   5 end       nothing
 *
 * Each block is in one chain, each the predecessor of the next one. A slot holds intervals of a chain, sorted and not
 * touching; a session owns a leading part of it, because it owns paths from the root.
 */
const MAGIC = 0x5849564b;
const VERSION = 1;
const SECTIONS = ['slots', 'sessions', 'chains', 'counters', 'end'] as const;
const MAX_CHAIN = 4096;
const MAX_U32 = 0xffff_ffff;
const KIND = { root: 0, hash: 1, unknown: 2 } as const;

type Checksum = Pick<HashSeam, 'xxh64'>;

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

/** The state, or the name of the first bad section. */
export function decodeSnapshot(bytes: Uint8Array, checksum: Checksum): IndexState | string {
  const reader = new ByteReader(bytes);
  const state = emptyState();
  let section = 'header';
  try {
    demand(reader.u32() === MAGIC && reader.u32() === VERSION);
    for (const [i, name] of SECTIONS.entries()) {
      section = name;
      const payload = openSection(reader, bytes, i + 1, checksum);
      READ[name](payload, state);
      demand(payload.remaining === 0);
    }
    demand(reader.remaining === 0);
  } catch (error) {
    if (error instanceof DamagedSnapshot) return section;
    throw error;
  }
  return state;
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

function demand(holds: boolean): asserts holds {
  if (!holds) throw new DamagedSnapshot();
}

// ------------------------------------------------------------------------------------------------------------ write

const WRITE: Record<(typeof SECTIONS)[number], (out: ByteWriter, state: IndexState) => void> = {
  slots(out, { slots, incarnations }) {
    const numbers = [...incarnations.keys()];
    const live = numbers.filter((slot) => slots[slot]);
    const free = numbers.filter((slot) => !slots[slot]);
    out.u32(live.length);
    for (const slot of live) {
      out.u32(slot);
      out.u32(incarnations[slot]!);
      out.f64(slots[slot]!.lastStoreMs);
    }
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
    const chains = cutIntoChains(state);
    addHolders(chains, state);
    out.u64(chains.length);
    for (const { hashes, holders, owners } of chains) {
      const { predecessor } = state.blocks.get(hashes[0]!)!;
      out.u32(typeof predecessor === 'bigint' ? KIND.hash : predecessor === null ? KIND.unknown : KIND.root);
      out.u32(hashes.length);
      out.u64(predecessor ?? 0n);
      for (const hash of hashes) out.u64(hash);
      for (const list of [holders, owners]) {
        out.u32(list.length);
        for (const entry of list) for (const value of entry) out.u32(value);
      }
    }
  },

  counters(out, { duplicates, unknownRemoves, rejected }) {
    out.u64(duplicates);
    out.u64(unknownRemoves);
    out.u64(rejected);
  },

  end() {},
};

interface Chain {
  readonly hashes: bigint[];
  readonly holders: [slot: number, begin: number, end: number][];
  readonly owners: [session: number, length: number][];
}

/** Every known block once: a block continues the chain of its predecessor unless a sibling already does. */
function cutIntoChains({ blocks }: IndexState): Chain[] {
  const next = new Map<bigint, bigint>();
  const heads: bigint[] = [];
  for (const [hash, { predecessor }] of blocks) {
    if (typeof predecessor !== 'bigint' || !blocks.has(predecessor) || next.has(predecessor))
      heads.push(hash);
    else next.set(predecessor, hash);
  }
  const chains: Chain[] = [];
  for (const head of heads) {
    let hashes: bigint[] = [];
    for (let at: bigint | undefined = head; at !== undefined; at = next.get(at)) {
      if (hashes.length === 0) chains.push({ hashes, holders: [], owners: [] });
      hashes.push(at);
      if (hashes.length === MAX_CHAIN) hashes = [];
    }
  }
  return chains;
}

/** Fills `holders` and `owners` from the sets, in time that follows their size and not slots × blocks. */
function addHolders(chains: readonly Chain[], { slots, sessions }: IndexState): void {
  const places = new Map<bigint, number>();
  const firstPlace: number[] = [];
  const chainOf: number[] = [];
  for (const [c, { hashes }] of chains.entries()) {
    firstPlace.push(places.size);
    for (const hash of hashes) {
      places.set(hash, places.size);
      chainOf.push(c);
    }
  }
  for (const [slot, holder] of slots.entries()) {
    for (const place of sortedPlaces(holder?.blocks ?? [], places)) {
      const c = chainOf[place]!;
      const at = place - firstPlace[c]!;
      const last = chains[c]!.holders.at(-1);
      if (last?.[0] === slot && last[2] === at) last[2]++;
      else chains[c]!.holders.push([slot, at, at + 1]);
    }
  }
  for (const number of [...sessions.keys()].sort((a, b) => a - b)) {
    for (const place of sortedPlaces(sessions.get(number)!.blocks, places)) {
      const { owners } = chains[chainOf[place]!]!;
      const last = owners.at(-1);
      if (last?.[0] === number) last[1]++;
      else owners.push([number, 1]);
    }
  }
}

function sortedPlaces(hashes: Iterable<bigint>, places: ReadonlyMap<bigint, number>): Uint32Array {
  return Uint32Array.from(hashes, (hash) => places.get(hash)!).sort();
}

// ------------------------------------------------------------------------------------------------------------- read

const READ: Record<(typeof SECTIONS)[number], (payload: ByteReader, state: IndexState) => void> = {
  slots(payload, { slots, incarnations }) {
    const live = payload.count(16);
    for (let i = 0; i < live; i++) {
      const slot = payload.u32();
      demand(!(slot in incarnations));
      incarnations[slot] = readIncarnation(payload);
      slots[slot] = { lastStoreMs: payload.f64(), blocks: new Set() };
    }
    const free = payload.count(8);
    for (let i = 0; i < free; i++) {
      const slot = payload.u32();
      demand(!(slot in incarnations));
      incarnations[slot] = readIncarnation(payload);
    }
    demand(incarnations.length === live + free);
  },

  sessions(payload, state) {
    const { sessions } = state;
    const live = payload.count(12);
    for (let i = 0; i < live; i++) {
      const number = payload.u32();
      demand(number !== 0 && !sessions.has(number));
      sessions.set(number, { lastOwnMs: payload.f64(), blocks: new Set() });
    }
    const free: number[] = [];
    for (let left = payload.count(4); left > 0; left--) {
      const number = payload.u32();
      demand(number > (free.at(-1) ?? 0) && !sessions.has(number));
      free.push(number);
    }
    const highest = live + free.length;
    demand((free.at(-1) ?? 0) <= highest);
    for (const number of sessions.keys()) demand(number <= highest);
    state.sessionNumbers = new NumberPool(highest, free);
  },

  chains(payload, state) {
    for (let left = payload.u64(); left > 0n; left--) readChain(payload, state);
    for (const { blocks } of state.sessions.values()) {
      for (const hash of blocks) {
        const { predecessor } = state.blocks.get(hash)!;
        demand(typeof predecessor === 'bigint' ? blocks.has(predecessor) : predecessor === undefined);
      }
    }
    demand(findCycle(state) === undefined);
  },

  counters(payload, state) {
    state.duplicates = Number(payload.u64());
    state.unknownRemoves = Number(payload.u64());
    state.rejected = Number(payload.u64());
  },

  end() {},
};

/** Restoring raises it once more. */
function readIncarnation(payload: ByteReader): number {
  const incarnation = payload.u32();
  demand(incarnation !== MAX_U32);
  return incarnation;
}

function readChain(payload: ByteReader, { blocks, slots, sessions }: IndexState): void {
  const kind = payload.u32();
  const length = payload.u32();
  const before = payload.u64();
  demand(kind === KIND.hash || (before === 0n && (kind === KIND.root || kind === KIND.unknown)));
  demand(length >= 1 && length <= MAX_CHAIN);
  let predecessor: Predecessor = kind === KIND.hash ? before : kind === KIND.root ? undefined : null;
  const hashes: bigint[] = [];
  const chain: Block[] = [];
  for (let i = 0; i < length; i++) {
    const hash = payload.u64();
    demand(!blocks.has(hash));
    const block: Block = { predecessor, holders: 0, owners: 0 };
    blocks.set(hash, block);
    hashes.push(hash);
    chain.push(block);
    predecessor = hash;
  }

  let last = { slot: -1, end: 0 };
  for (let left = payload.count(12); left > 0; left--) {
    const slot = payload.u32();
    const begin = payload.u32();
    const end = payload.u32();
    demand(slot > last.slot || (slot === last.slot && begin > last.end));
    const holder = slots[slot];
    demand(holder !== undefined && begin < end && end <= length);
    for (let i = begin; i < end; i++) {
      holder.blocks.add(hashes[i]!);
      chain[i]!.holders++;
    }
    last = { slot, end };
  }

  let lastOwner = 0;
  for (let left = payload.count(8); left > 0; left--) {
    const number = payload.u32();
    const owned = payload.u32();
    const owner = sessions.get(number);
    demand(owner !== undefined && number > lastOwner && owned >= 1 && owned <= length);
    for (let i = 0; i < owned; i++) {
      owner.blocks.add(hashes[i]!);
      chain[i]!.owners++;
    }
    lastOwner = number;
  }
  for (const { holders, owners } of chain) demand(holders + owners > 0);
}
