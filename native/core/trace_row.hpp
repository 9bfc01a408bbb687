// Reads the block ids out of one line of a JSONL trace, exactly.
//
// Idea: a trace is nearly all `hash_ids`, and JSON.parse rounds what it cannot hold in a double. So the one
// big array is read here, straight into u64, and the small rest of the line (the array cut out) is left to a
// JSON parser, which judges everything that this scan only steps over.
//
//   {"chat_id":1, "meta":{"hash_ids":[9]}, "hash_ids":[ 1, -2, 18446744073709551615 ], "turn":0}
//                        stepped over: nested          ^array_start                   ^array_end, one past the bracket
//
// What the scan checks itself: the outermost braces, the names, colons and commas between the members,
// strings (by their escapes), and every byte of the array. What it steps over: nested values by depth,
// scalars up to the next delimiter. A line is JSON if and only if the scan accepts it and the line with the
// array replaced by `[]` is JSON.
//
// Rules: only the outermost object's member counts; names are compared byte for byte (an escaped spelling is
// another name); a second `hash_ids` is refused; ids are JSON integers in -2^63 … 2^64 - 1 (negative ones in
// two's complement; no fraction, exponent, leading zero or plus sign).
//
// Cost: one pass without allocation, well under a nanosecond a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvidx {

enum class RowStatus : int8_t {
  kOk = 0,
  kNoMember = -1,   // an object without hash_ids
  kBadIds = -2,     // hash_ids is not an array of integers in range
  kNoObject = -3,   // no JSON object as far as the scan reaches
  kDuplicate = -4,  // hash_ids stands twice
};

struct RowScan {
  RowStatus status = RowStatus::kNoObject;
  size_t id_count = 0;  // also when larger than the room given: the first ones are stored
  size_t array_start = 0, array_end = 0;
  size_t error_at = 0;  // offset of the first byte that is wrong; line.size(): the line ends too early
};

RowScan scan_trace_row(std::span<const uint8_t> line, std::span<uint64_t> ids);

}  // namespace kvidx
