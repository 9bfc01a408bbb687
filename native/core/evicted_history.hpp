// The latest evictions, for people who ask where a block went. Off unless given a size.
//
// An entry is there exactly as long as the block has not come back to the slot and fewer than `most` others were evicted
// since. Costs: O(1) an eviction or a block that becomes resident, a walk over all when a slot that lost blocks goes; about 110 bytes an entry.
#pragma once

#include <list>
#include <unordered_map>

#include "core/interval_list.hpp"
#include "core/types.hpp"

namespace kvidx {

/// Why a block was evicted.
enum class Cause : uint8_t { kNone, kCapacity, kBound, kTtl };

class EvictedHistory {
 public:
  explicit EvictedHistory(uint32_t most) : most_(most) {}

  bool on() const { return most_ != 0; }
  void record(uint32_t slot, SeqHash hash, Cause cause) {
    forget(slot, hash);
    if (entries_.size() == most_) forget(entries_.front().key.slot, entries_.front().key.hash);
    entries_.push_back({{slot, hash}, cause});
    try {
      places_[{slot, hash}] = std::prev(entries_.end());
    } catch (...) {  // an entry without a place would never be forgotten
      entries_.pop_back();
      throw;
    }
  }
  void forget(uint32_t slot, SeqHash hash) {
    const auto place = places_.find({slot, hash});
    if (place == places_.end()) return;
    entries_.erase(place->second);
    places_.erase(place);
  }
  void forget_slot(uint32_t slot) {
    std::erase_if(entries_, [this, slot](const Entry& entry) {
      if (entry.key.slot != slot) return false;
      places_.erase(entry.key);
      return true;
    });
  }
  void shrink() { places_.rehash(0); }
  Cause find(uint32_t slot, SeqHash hash) const {
    const auto place = places_.find({slot, hash});
    return place == places_.end() ? Cause::kNone : place->second->cause;
  }
  uint64_t used_bytes() const { return entries_.size() * kEntryBytes; }
  uint64_t reserved_bytes() const {
    return used_bytes() +
           (places_.bucket_count() > 1 ? heap_bytes(places_.bucket_count() * sizeof(void*)) : 0);
  }

 private:
  struct Key {
    uint32_t slot;
    SeqHash hash;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Mix {
    size_t operator()(const Key& key) const { return raw(key.hash) * 0x9E3779B97F4A7C15 + key.slot; }
  };
  struct Entry {
    Key key;
    Cause cause;
  };
  using Entries = std::list<Entry>;
  static constexpr uint64_t kEntryBytes =
      heap_bytes(sizeof(Entry) + 2 * sizeof(void*)) + heap_bytes(sizeof(Key) + 3 * sizeof(void*));

  uint32_t most_;
  Entries entries_;  // oldest first
  std::unordered_map<Key, Entries::iterator, Mix> places_;
};

}  // namespace kvidx
