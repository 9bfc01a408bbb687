// Which stretch of blocks goes next: a heap of (lowest stamp, run), the lowest on top.
//
// An entry stands for the stamp item of its run whose last block has that stamp. Nothing is taken out when an item changes:
// whoever meets an entry looks whether such an item is still there. Stamps are unique, so an entry is never taken for
// another's. Items whose blocks are all pinned may have none; they get one when a pin goes.
//
// Costs: push of what was named just now O(1), as nothing is newer; pop O(log n) and a look among the items of
// its slot in the run; 16 bytes an entry.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/interval_list.hpp"

namespace kvidx {

class EvictionQueue {
 public:
  struct Entry {
    uint64_t oldest;
    uint32_t run;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  bool empty() const { return heap_.empty(); }
  std::span<const Entry> view() const { return heap_; }
  void reserve_more(size_t n) {
    if (heap_.capacity() < heap_.size() + n) heap_.reserve((heap_.size() + n) * 5 / 4);
  }
  void push(Entry entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  Entry pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Entry entry = heap_.back();
    heap_.pop_back();
    return entry;
  }
  bool overgrown() const { return heap_.size() >= limit_; }
  /// Drops what `holds` denies, and repeated entries; it is asked run by run.
  template <class Holds>
  void prune(Holds&& holds) {
    std::sort(heap_.begin(), heap_.end(), [](const Entry& a, const Entry& b) { return a.run < b.run; });
    std::erase_if(heap_, [&holds](const Entry& entry) { return !holds(entry); });
    std::sort(heap_.begin(), heap_.end());  // a heap as well
    heap_.erase(std::unique(heap_.begin(), heap_.end()), heap_.end());
    limit_ = 2 * heap_.size() + kSlack;
  }
  /// After prune(): the runs have other numbers now.
  void renumber(std::span<const uint32_t> moved_to) {
    for (Entry& entry : heap_) entry.run = moved_to[entry.run];
    heap_.shrink_to_fit();
  }
  /// Puts entries, in any order, in place of all.
  void put(std::vector<Entry> entries) {
    heap_ = std::move(entries);
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  bool is_heap() const { return std::is_heap(heap_.begin(), heap_.end(), std::greater<>()); }
  uint64_t reserved_bytes() const { return heap_bytes(heap_.capacity() * sizeof(Entry)); }

 private:
  static constexpr size_t kSlack = 64;

  std::vector<Entry> heap_;
  size_t limit_ = kSlack;
};

}  // namespace kvidx
