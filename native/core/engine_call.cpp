// Do events fit their columns, and the slots that they go to?
#include "core/engine_names.hpp"

namespace kvidx {

namespace {

/// As many places from `at` on lie within `size`.
bool lies_within(int32_t at, int32_t count, size_t size) {
  return at >= 0 && count >= 0 && static_cast<size_t>(at) + static_cast<size_t>(count) <= size;
}

const char* misfit_of(const EngineCall& call, const EventRow& row) {
  const EventColumns& columns = call.columns;
  if (row.kind < EventKind::kOdd || row.kind > EventKind::kCleared) return "kind must be of EVENT_KIND";
  if (row.kind == EventKind::kOdd) return "";
  if (row.tier < -1 || row.tier >= static_cast<int32_t>(kTiers)) return "tier must be from -1 to 3";
  // A clear goes to all tiers, whichever have a slot.
  if (is_left_out(row) || row.kind == EventKind::kCleared) return "";
  if (call.slots[static_cast<size_t>(row.tier)].incarnation == 0) return "the tier must have a slot";
  if (!lies_within(row.hash_at, row.blocks, columns.hashes.size()))
    return "hashAt and blocks must lie within hashes";
  if (row.kind == EventKind::kRemoved) return "";
  if (row.parent_at != -1 && !lies_within(row.parent_at, 1, columns.hashes.size()))
    return "parentAt must be -1 or lie within hashes";
  if (!lies_within(row.token_at, row.tokens, columns.tokens.size()))
    return "tokenAt and tokens must lie within tokens";
  if (row.tokens != 0 &&
      uint64_t{call.block_size} * static_cast<uint64_t>(row.blocks) != static_cast<uint64_t>(row.tokens))
    return "tokens must be blocks x blockSize";
  return "";
}

}  // namespace

std::string misfit(const EngineCall& call) {
  if (call.first > call.end || call.end > call.columns.rows.size() / kEventPlaces)
    return "first and end must be a range of the events";
  if (!call.extra.blocks.empty() && call.end - call.first != 1) return "extra keys go with one event";
  for (size_t i = call.first; i < call.end; ++i) {
    const char* why = misfit_of(call, call.row(i));
    if (*why != '\0') return "event " + std::to_string(i) + ": " + why;
  }
  return "";
}

}  // namespace kvidx
