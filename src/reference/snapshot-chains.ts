import type { IndexState, Slot, Stamp } from './index-state.js';
import { KNOWN, MAX_CHAIN } from './snapshot-format.js';

/** A chain as a snapshot says it. */
export interface SnapshotChain {
  readonly hashes: bigint[];
  readonly holders: Interval[];
  readonly owners: { readonly session: number; length: number }[];
  readonly stamps: (Interval & Stamp)[];
  readonly copies: (Interval & { readonly further: number })[];
}

interface Interval {
  readonly slot: number;
  readonly begin: number;
  end: number;
}

/** Where a block is. */
interface Place {
  readonly chain: SnapshotChain;
  readonly at: number;
}

/** Every known block in one chain, with all that is known of it; in time that follows its size, not slots × blocks. */
export function chainsOf(state: IndexState): SnapshotChain[] {
  const chains = cutIntoChains(state);
  const places = new Places(chains);
  for (const [slot, holder] of state.slots.entries()) if (holder) addSlot(places, slot, holder);
  for (const session of [...state.sessions.keys()].sort((a, b) => a - b)) {
    for (const { chain } of places.sorted(state.sessions.get(session)!.blocks)) {
      const last = chain.owners.at(-1);
      if (last?.session === session) last.length++;
      else chain.owners.push({ session, length: 1 });
    }
  }
  if (state.known.size > 0) {
    for (const chain of chains) {
      for (const [at, hash] of chain.hashes.entries()) {
        addStamp(chain, KNOWN, at, { stamp: state.known.get(hash)!, ms: 0 });
      }
    }
  }
  return chains;
}

function addSlot(places: Places, slot: number, holder: Slot): void {
  for (const { chain, at } of places.sorted(holder.blocks)) {
    const hash = chain.hashes[at]!;
    const last = chain.holders.at(-1);
    if (last?.slot === slot && last.end === at) last.end++;
    else chain.holders.push({ slot, begin: at, end: at + 1 });

    const stamp = holder.stamps.get(hash);
    if (stamp) addStamp(chain, slot, at, stamp);
    const further = holder.copies.get(hash);
    if (further) addCopies(chain, slot, at, further);
  }
}

function addStamp({ stamps }: SnapshotChain, slot: number, at: number, { stamp, ms }: Stamp): void {
  const last = stamps.at(-1);
  const goesOn =
    last?.slot === slot && last.end === at && last.ms === ms && last.stamp - stamp === at - last.begin;
  if (goesOn) last.end++;
  else stamps.push({ slot, begin: at, end: at + 1, stamp, ms });
}

function addCopies({ copies }: SnapshotChain, slot: number, at: number, further: number): void {
  const last = copies.at(-1);
  if (last?.slot === slot && last.end === at && last.further === further) last.end++;
  else copies.push({ slot, begin: at, end: at + 1, further });
}

/**
 * A block continues the chain of its predecessor unless a sibling already does, or somebody owns it without owning its
 * predecessor, which `maxBlocks` may have taken away.
 */
function cutIntoChains(state: IndexState): SnapshotChain[] {
  const { blocks } = state;
  const cut = ownedBehindGaps(state);
  const next = new Map<bigint, bigint>();
  const heads: bigint[] = [];
  for (const [hash, { predecessor }] of blocks) {
    const isHead =
      typeof predecessor !== 'bigint' || !blocks.has(predecessor) || next.has(predecessor) || cut.has(hash);
    if (isHead) heads.push(hash);
    else next.set(predecessor, hash);
  }
  const chains: SnapshotChain[] = [];
  for (const head of heads) {
    let hashes: bigint[] = [];
    for (let at: bigint | undefined = head; at !== undefined; at = next.get(at)) {
      if (hashes.length === 0) chains.push({ hashes, holders: [], owners: [], stamps: [], copies: [] });
      hashes.push(at);
      if (hashes.length === MAX_CHAIN) hashes = [];
    }
  }
  return chains;
}

/** Blocks that somebody owns without the block before. */
function ownedBehindGaps({ blocks, sessions }: IndexState): Set<bigint> {
  const behind = new Set<bigint>();
  for (const { blocks: owned } of sessions.values()) {
    for (const hash of owned) {
      const { predecessor } = blocks.get(hash)!;
      if (typeof predecessor === 'bigint' && !owned.has(predecessor)) behind.add(hash);
    }
  }
  return behind;
}

/** Numbers the blocks of all chains in the order in which a snapshot says them. */
class Places {
  readonly #numbers = new Map<bigint, number>();
  readonly #places: Place[] = [];

  constructor(chains: readonly SnapshotChain[]) {
    for (const chain of chains) {
      for (const [at, hash] of chain.hashes.entries()) {
        this.#numbers.set(hash, this.#places.length);
        this.#places.push({ chain, at });
      }
    }
  }

  *sorted(hashes: Iterable<bigint>): Generator<Place, void> {
    const numbers = Uint32Array.from(hashes, (hash) => this.#numbers.get(hash)!).sort();
    for (const number of numbers) yield this.#places[number]!;
  }
}
