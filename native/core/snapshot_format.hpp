// Snapshots, format "KVIX" version 2, little-endian; every backend reads and writes the same:
//
//   header    u32 'KVIX', u32 version
//   section   u32 tag, u32 0, u64 payload bytes, payload, u64 XXH64(tag … payload, seed 0)
//
// Five sections, in this order:
//   1 slots     u32 n, n × {u32 slot, u32 incarnation, u32 mode (0 plain, 1 bounded, 2 counted), u32 degraded, u32 capacity,
//               u32 0, f64 last store ms, f64 ttl ms, u64 evicted by capacity, u64 evicted by bound, u64 expired};
//               u32 n, n × {u32 free slot, u32 incarnation}
//   2 sessions  u32 n, n × {u32 session, f64 last own ms}, least recently owning first; u32 n, n × u32 free number
//   3 chains    u64 n, n × {u8 kind of the block before (0 root, 1 hash, 2 unknown), u8[3] 0, u32 length, u64 hash,
//               u64[length] hashes, u32 n, n × {u32 slot, u32 begin, u32 end}, u32 n, n × {u32 session, u32 length},
//               u32 n, n × {u32 slot, u32 begin, u32 end, u64 stamp of the block at begin, f64 ms},
//               u32 n, n × {u32 slot, u32 begin, u32 end, u32 further copies}}
//   4 counters  u64 duplicates, unknown removes, rejected, evicted by capacity, evicted by bound, expired, next stamp
//   5 end       nothing
//
// Stamps of slot 0xffffffff are those of the blocks themselves: all have one, or none. Pins are not saved, nor is the history
// of evictions. A chain becomes a run as it is; restore() merges neighbours. Nothing in a file is trusted: lengths are
// checked before memory is taken, and a file whose checksums hold still has to pass the checks of restore.cpp.
#pragma once

#include <cstdint>

namespace kvidx {

constexpr uint32_t kSnapshotMagic = 0x5849564b, kSnapshotVersion = 2;
/// So that every backend can count stamps exactly, and never comes to the end.
constexpr uint64_t kMostStamps = uint64_t{1} << 52;
enum SnapshotSection : uint32_t { kHeader, kSlots, kSessions, kChains, kCounters, kEnd };
/// By section: what restore() answers when one is damaged.
constexpr const char* kSectionNames[] = {"header", "slots", "sessions", "chains", "counters", "end"};

}  // namespace kvidx
