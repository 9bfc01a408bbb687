// What slots know of a run beyond holding it. Most runs have none of it, so it stands beside the run and not in it: a query
// never reads it, and an unbounded slot pays nothing.
//
//   stamps   when each block was last named, so that the oldest can go first: on bounded slots, and under the id kEverybody
//            of the block itself where the whole index is bounded. Newer stamps are higher and fall by one along a call, so
//            that what one call named is one item.
//   copies   beyond the first, on slots that count references
//   pins     how many requests use the block on that slot
//
// Costs: 8 bytes a run once any run has a side; 72 bytes a side, 24 bytes a stamp item, 12 a copy or pin item.
#pragma once

#include <memory>

#include "core/run.hpp"
#include "core/valued_list.hpp"

namespace kvidx {

/// Not a slot: all who know a block, as one.
constexpr uint32_t kEverybody = UINT32_MAX;

struct Stamp {
  uint64_t order = 0;  // unique for its id; what is named later is higher
  double ms = 0;       // when, for the ttl
  Stamp advanced(uint32_t n) const { return {order - n, ms}; }
  friend bool operator==(const Stamp&, const Stamp&) = default;
};
using StampItem = Valued<Stamp>;
/// The lowest stamp of an item: its last block goes first.
inline uint64_t oldest(const StampItem& item) {
  return item.value.order - (item.size() - 1);
}

struct Count {
  uint32_t n = 0;
  Count advanced(uint32_t) const { return *this; }
  friend bool operator==(const Count&, const Count&) = default;
};

struct RunSide {
  ValuedList<Stamp> stamps;
  ValuedList<Count> copies, pins;

  bool empty() const { return stamps.empty() && copies.empty() && pins.empty(); }
  template <class Fn>
  void each_list(Fn&& fn) {
    fn(stamps);
    fn(copies);
    fn(pins);
  }
};

/// Sides by the number of their run.
class SideTable {
 public:
  RunSide* find(uint32_t run) const { return run < sides_.size() ? sides_[run].get() : nullptr; }
  RunSide& get(uint32_t run) {
    if (run >= sides_.size()) sides_.resize(std::max<size_t>(run + 1, sides_.size() * 5 / 4));
    if (!sides_[run]) sides_[run] = std::make_unique<RunSide>();
    return *sides_[run];
  }
  void drop(uint32_t run) noexcept {
    if (run < sides_.size()) sides_[run].reset();
  }
  void drop_if_empty(uint32_t run) noexcept {
    if (const RunSide* side = find(run); side && side->empty()) drop(run);
  }
  /// Takes the side of a run away.
  std::unique_ptr<RunSide> take(uint32_t run) noexcept {
    return run < sides_.size() ? std::move(sides_[run]) : nullptr;
  }
  /// Puts a side in a place that resize() made.
  void put(uint32_t run, std::unique_ptr<RunSide> side) noexcept { sides_[run] = std::move(side); }
  void resize(uint32_t runs) { sides_.resize(runs); }
  template <class Fn>
  void each(Fn&& fn) const {
    for (uint32_t run = 0; run < sides_.size(); ++run) {
      if (sides_[run]) fn(run, *sides_[run]);
    }
  }
  uint64_t reserved_bytes() const { return heap_bytes(sides_.capacity() * sizeof(sides_[0])); }

 private:
  std::vector<std::unique_ptr<RunSide>> sides_;
};

}  // namespace kvidx
