// The memory that events are read into and applied from; layout in the seam.
#pragma once

#include "binding/convert.hpp"
#include "core/event_batch.hpp"

namespace kvidx::binding {

/// HEAD of the seam.
struct EventHead {
  double time, now_ms;
  uint64_t root;
  int32_t rank, events, hashes, tokens;
  int32_t event_room, hash_room, token_room;
  int32_t first, end, block_size;
  uint32_t slots[8];
  int32_t applied[9];
};
static_assert(sizeof(EventHead) == 136 && offsetof(EventHead, slots) == 64 &&
              offsetof(EventHead, applied) == 96);

struct EventMemory {
  EventHead* head;
  EventColumns columns;
};

/// A Uint8Array whose parts lie within it, aligned.
inline EventMemory event_memory(Napi::Value value) {
  const auto bytes = array<uint8_t>(value, "memory");
  if (bytes.size() < sizeof(EventHead) || reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0)
    fail_range(value.Env(), "memory must be aligned and have a head");
  auto* head = reinterpret_cast<EventHead*>(bytes.data());
  if (head->event_room < 0 || head->hash_room < 0 || head->token_room < 0)
    fail_range(value.Env(), "room must not be negative");
  const auto rows = static_cast<size_t>(head->event_room) * kEventPlaces;
  const auto hashes = static_cast<size_t>(head->hash_room), tokens = static_cast<size_t>(head->token_room);
  const size_t hashes_at = sizeof(EventHead), rows_at = hashes_at + hashes * sizeof(uint64_t),
               tokens_at = rows_at + rows * sizeof(int32_t);
  if (tokens_at + tokens * sizeof(uint32_t) > bytes.size())
    fail_range(value.Env(), "memory must have the room that its head tells");
  uint8_t* base = bytes.data();
  return {head,
          {{reinterpret_cast<int32_t*>(base + rows_at), rows},
           {reinterpret_cast<uint64_t*>(base + hashes_at), hashes},
           {reinterpret_cast<uint32_t*>(base + tokens_at), tokens}}};
}

}  // namespace kvidx::binding
