// The rival of the run table: a flat hash table, seq hash → bitmap of slots.
//
// Idea: open addressing with linear probing; a key and its bitmap share 16 bytes, four entries a cache line;
// keys are hashes already, so their low bits are the home place; growth doubles. An empty bitmap marks a free
// place.
//
//   entries  [ key | slots ][ key | slots ][ 0 | 0 ] …
//
// Costs: one cache miss a block of a query, hidden as well as prefetching kAhead blocks ahead can.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace kvidx::bench {

class FlatTable {
 public:
  static constexpr uint32_t kSlots = 64;

  /// The slot holds these blocks.
  void insert(uint32_t slot, SeqSpan seq) {
    for (size_t i = 0; i < seq.size(); ++i) {
      if (i + kAhead < seq.size()) prefetch(seq[i + kAhead]);
      if ((used_ + 1) * 4 > entries_.size() * 3) grow();
      Entry& entry = entries_[find(raw(seq[i]))];
      if (entry.slots == 0) {
        entry.key = raw(seq[i]);
        ++used_;
      }
      entry.slots |= uint64_t{1} << slot;
    }
  }

  /// Leading blocks resident on each slot; `out` has kSlots places.
  void overlap(SeqSpan seq, std::span<uint32_t> out) const {
    for (size_t i = 0; i < seq.size() && i < kAhead; ++i) prefetch(seq[i]);
    uint64_t alive = ~uint64_t{0};
    size_t i = 0;
    for (; i < seq.size() && alive != 0; ++i) {
      if (i + kAhead < seq.size()) prefetch(seq[i + kAhead]);
      const uint64_t slots = entries_[find(raw(seq[i]))].slots;
      for (uint64_t lost = alive & ~slots; lost != 0; lost &= lost - 1) {
        out[static_cast<size_t>(std::countr_zero(lost))] = static_cast<uint32_t>(i);
      }
      alive &= slots;
    }
    for (; alive != 0; alive &= alive - 1) {
      out[static_cast<size_t>(std::countr_zero(alive))] = static_cast<uint32_t>(i);
    }
  }

  size_t size() const { return used_; }
  size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    uint64_t key = 0;
    uint64_t slots = 0;
  };

  static constexpr size_t kAhead = 32;

  size_t home(uint64_t key) const { return key & (entries_.size() - 1); }

  void prefetch(SeqHash hash) const { __builtin_prefetch(&entries_[home(raw(hash))]); }

  /// The place of `key`, or the free place where it belongs.
  size_t find(uint64_t key) const {
    size_t at = home(key);
    while (entries_[at].slots != 0 && entries_[at].key != key) at = (at + 1) & (entries_.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.slots != 0) entries_[find(entry.key)] = entry;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(1024);
  size_t used_ = 0;
};

}  // namespace kvidx::bench
