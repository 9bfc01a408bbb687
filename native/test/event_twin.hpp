// The reader of KV events once more, as plainly as its rules are written: what core/event_batch.cpp is compared with.
#pragma once

#include <optional>
#include <vector>

#include "core/event_batch.hpp"

namespace kvidx {

struct PlainBatch {
  double time;
  int32_t rank;
  std::vector<EventRow> rows;
  std::vector<uint64_t> hashes;
  std::vector<uint32_t> tokens;
};

/// As read_events, with room for all.
std::optional<PlainBatch> read_events_plainly(std::span<const uint8_t> payload);

}  // namespace kvidx
