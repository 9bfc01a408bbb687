// Reads a sketch frame: a filter, or what changed in one, on its way from a worker to routers.
//
// Idea: a frame comes from the network. It is read where it lies, nothing of its size is taken from memory, no offset is used
// before it is known to fit, and what comes out has been checked as far as that is possible without knowing who asks: the
// meaning of scheme and block size is the caller's.
//
//   0          4    5    6     8     16       24           32   40         48     50         52
//   | "KVSK"   | v  | k  | flags | epoch | sequence | timestamp | keys | target fpp | scheme | block size | z |
//     magic      u8   u8   u16     u64     u64        u64, in ms  u64    f64          u16      u16          u32
//   56
//   | u16 length, name of the worker | u16 length, name of the session | payload | u64 XXH64 of all before, seed 0 |
//
//   payload of a full frame (kind 1)   z blocks of 32 bytes, the words of a filter
//              a delta      (kind 2)   u32 n, then n × (u32 index of a block, 32 bytes)
//              a clear      (kind 3)   nothing
//
// Little-endian throughout, aligned to nothing. Rules: version 1; flags 0; epoch to keys at most 2^53 − 1 (they are Numbers
// in JavaScript); 0 < target fpp < 1; block size above 0; z from 1 (in a clear from 0) to what the caller allows; names in
// UTF-8, the worker's not empty; indices rise and are below z; nothing behind the checksum. The lengths of the parts behind z
// are believed only when all up to z is right: what has the wrong version is not called truncated.
//
// Costs: the checksum, one pass over the bytes, at some 10 GB/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvidx {

/// What is wrong, the first thing in this order.
enum class FrameFault : uint8_t {
  kOk,
  kTruncated,  // the frame ends before z does, or before the part that its own lengths ask for
  kMagic,
  kVersion,
  kKind,
  kFlags,
  kNumber,  // epoch, sequence, timestamp or keys
  kTargetFpp,
  kBlockSize,
  kZ,
  kName,
  kDelta,  // indices that do not rise, or are not below z
  kTooLong,
  kChecksum,
};

enum class FrameKind : uint8_t { kFull = 1, kDelta = 2, kClear = 3 };

/// Offsets into the frame.
struct FrameRange {
  size_t begin, end;
};

struct SketchFrame {
  FrameKind kind;
  uint64_t epoch, sequence, timestamp_ms, keys;
  double target_fpp;
  uint16_t scheme;
  uint16_t block_size;
  uint32_t z;
  FrameRange worker, session;
  FrameRange payload;  // of a delta without its n
};

/// `frame` is written only when all is well.
[[nodiscard]] FrameFault read_frame(std::span<const uint8_t> bytes, uint32_t max_blocks, SketchFrame& frame);

}  // namespace kvidx
