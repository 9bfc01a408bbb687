import type { HashSeam } from '../native/seam.js';

/**
 * The snapshot format "KVIX" version 2, little-endian, the same for every backend:
 *
 *   header    u32 'KVIX', u32 version
 *   section   u32 tag, u32 0, u64 payload bytes, payload, u64 XXH64(tag … payload, seed 0); five of them, in order:
 *   1 slots     u32 n, n × {u32 slot, u32 incarnation, u32 mode (0 plain, 1 bounded, 2 counted), u32 degraded (0, 1),
 *               u32 capacity (0 unless bounded), u32 0, f64 lastStoreMs, f64 ttlMs (0 unless bounded),
 *               u64 evictedByCapacity, u64 evictedByBound, u64 expired}; u32 n, n × {u32 free slot, u32 incarnation}
 *   2 sessions  u32 n, n × {u32 session, f64 lastOwnMs}, least recently owning first; u32 m, m × u32 free session,
 *               ascending; together exactly 1 … n + m
 *   3 chains    u64 n, n × {u32 kind of the block before (0 root, 1 hash, 2 unknown), u32 length, u64 hash before,
 *               u64[length] hashes, and four lists, each with its u32 length in front:
 *                 holders {u32 slot, u32 begin, u32 end}
 *                 owners  {u32 session, u32 length}
 *                 stamps  {u32 slot, u32 begin, u32 end, u64 stamp of block `begin`, f64 ms}
 *                 copies  {u32 slot, u32 begin, u32 end, u32 copies beyond the first}}
 *   4 counters  u64 duplicates, u64 unknownRemoves, u64 rejected, u64 evictedByCapacity, u64 evictedByBound, u64 expired,
 *               u64 next stamp
 *   5 end       nothing
 *
 * Each block is in one chain, each the predecessor of the next one. A slot holds intervals of a chain, sorted and not
 * touching; a session owns a leading part of it. Along an interval stamps fall by one a block: bounded slots have them for
 * exactly what they hold, and slot `KNOWN` stands for the stamps of known blocks, which all have, or none. Intervals of
 * stamps and of copies are sorted by slot, then begin, and do not overlap.
 */
export const MAGIC = 0x5849564b;
export const VERSION = 2;
export const SECTIONS = ['slots', 'sessions', 'chains', 'counters', 'end'] as const;
export const MAX_CHAIN = 4096;
export const MAX_U32 = 0xffff_ffff;
export const KIND = { root: 0, hash: 1, unknown: 2 } as const;
/** In the place of a slot: the stamps of known blocks. */
export const KNOWN = MAX_U32;
/** Stamps are below it; far below 2^53, so that no call that follows can come near that. */
export const MAX_STAMP = 2n ** 52n;
/** Bytes of an entry, so that a count can be held against what is left of the file. */
export const BYTES = {
  slot: 64,
  freeSlot: 8,
  session: 12,
  freeSession: 4,
  holder: 12,
  owner: 8,
  stamp: 28,
  copies: 16,
} as const;

export type Section = (typeof SECTIONS)[number];
export type Checksum = Pick<HashSeam, 'xxh64'>;
