import type { CoreStats } from '../native/seam.js';
import type { IndexState } from './index-state.js';
import { countOrphans } from './predecessors.js';

/**
 * What one entry costs in V8 on 64 bits, roughly: V8 does not tell. A block is a map entry (20 bytes of table at its
 * usual load), a BigInt (24) and an object (48) with its BigInt predecessor shared; a set entry is table alone, as is one
 * of a map to small integers; an entry by age is a map entry and its object (48), with another (40) for stamp and time or
 * a BigInt (32) as key of its own.
 */
const BYTES_PER_BLOCK = 112;
const BYTES_PER_SET_ENTRY = 24;
const BYTES_PER_SESSION = 200;
const BYTES_PER_AGED = 80;
const BYTES_PER_STAMP = 120;
const BYTES_PER_EVICTION = 112;

export function readStats(state: IndexState): CoreStats {
  const { blocks, known, slots, sessions, history } = state;
  let held = 0;
  let liveSlots = 0;
  let slotBytes = 0;
  for (const slot of slots) {
    if (!slot) continue;
    liveSlots++;
    held += slot.blocks.size;
    slotBytes += slot.stamps.size * BYTES_PER_STAMP;
    slotBytes += (slot.blocks.size + slot.copies.size + slot.pins.size) * BYTES_PER_SET_ENTRY;
  }
  let owned = 0;
  for (const session of sessions.values()) owned += session.blocks.size;
  const ownershipBytes = sessions.size * BYTES_PER_SESSION + owned * BYTES_PER_SET_ENTRY;
  const indexBytes =
    blocks.size * BYTES_PER_BLOCK + known.size * BYTES_PER_AGED + history.size * BYTES_PER_EVICTION;
  const usedBytes = indexBytes + slotBytes + ownershipBytes;
  return {
    blocks: blocks.size,
    // Nothing is compressed here: every block is a run of its own.
    runs: blocks.size,
    runHolders: held,
    slots: liveSlots,
    sessions: sessions.size,
    usedBytes,
    reservedBytes: usedBytes,
    ownershipBytes,
    duplicates: state.duplicates,
    unknownRemoves: state.unknownRemoves,
    rejected: state.rejected,
    orphans: countOrphans(state),
    evictedByCapacity: state.evictedByCapacity,
    evictedByBound: state.evictedByBound,
    expired: state.expired,
  };
}
