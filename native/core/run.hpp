// A run: consecutive blocks in one array, the compressed edge of the radix trie; and the slab that runs live in.
//
//   blocks:  · · b2 b3 b4 b5 · ·        first = 2, end = 6, capacity = 8
//            predecessor of b2 is `pred`; of every other block the one before it
//
// Positions are absolute in the array. Blocks that die at the front only move `first`, so that nothing that
// points into the run has to be rewritten. Other runs may branch off at any position: children find their
// parent by hash.
//
// Invariants: first < end <= capacity <= kMaxRun; holders and owners lie within [first, end); an owner holds
// a prefix; every position is held or owned. Costs: 72 bytes a run, 8 bytes a place in `blocks`.
#pragma once

#include <memory>
#include <vector>

#include "core/arena.hpp"
#include "core/interval_list.hpp"
#include "core/owner_steps.hpp"
#include "core/types.hpp"

namespace kvidx {

/// A cap, so that a split, a merge or a move rewrites a bounded number of table entries.
constexpr uint32_t kMaxRun = 4096;
/// So many runs can be told apart in a table entry.
constexpr uint32_t kMaxRuns = 1u << 28;
constexpr uint32_t kNoRun = UINT32_MAX;

enum class PredKind : uint8_t { kRoot, kHash, kUnknown };

/// One cache line, so that a query waits once for it.
struct alignas(64) Run {
  SeqHash* blocks = nullptr;  // in the slab's arena; set by RunSlab::set_blocks alone
  SeqHash pred{};
  Pos first = 0, end = 0, capacity = 0;
  PredKind pred_kind = PredKind::kUnknown;
  bool growing = false;  // a call under way has written blocks behind `end`
  IntervalList holders;  // ids are slots
  IntervalList owners;   // ids are sessions
  OwnerSteps steps;      // empty below two owners

  uint32_t size() const { return static_cast<uint32_t>(end - first); }
  bool live() const { return end > first; }
  /// First position that no session owns.
  Pos owned_end() const {
    if (owners.size() <= 1) return owners.empty() ? first : owners.view()[0].end;
    return steps.view().back().end;
  }
  /// Calls fn(step) for each owner step, ends rising.
  template <class Fn>
  void each_step(Fn&& fn) const {
    if (owners.size() == 1) {
      fn(OwnerStep{1, owners.view()[0].id, owners.view()[0].end});
    } else {
      for (const OwnerStep& step : steps.view()) fn(step);
    }
  }
};

static_assert(sizeof(Run) == 64);

/// Where a block is.
struct BlockRef {
  uint32_t run = kNoRun;
  Pos at = 0;
  bool found() const { return run != kNoRun; }
  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

/// Runs by number, in pages that never move. Pages and blocks lie in one arena.
class RunSlab {
 public:
  RunSlab() = default;
  ~RunSlab() {
    for (Run* page : pages_) std::destroy_n(page, kPage);
  }
  RunSlab(RunSlab&& o) noexcept { *this = std::move(o); }
  RunSlab& operator=(RunSlab&& o) noexcept {
    std::swap(arena_, o.arena_);
    std::swap(pages_, o.pages_);
    std::swap(free_, o.free_);
    std::swap(blocks_, o.blocks_);
    std::swap(used_, o.used_);
    return *this;
  }

  Run& operator[](uint32_t id) { return pages_[id / kPage][id % kPage]; }
  const Run& operator[](uint32_t id) const { return pages_[id / kPage][id % kPage]; }
  /// Reads the block without waiting for the run.
  SeqHash hash(BlockRef ref) const { return blocks_[ref.run][ref.at]; }
  /// Always inlined, or the compiler drops the call, which has no result.
  [[gnu::always_inline]] inline void prefetch(uint32_t id) const { __builtin_prefetch(&(*this)[id]); }
  void set_blocks(uint32_t id, SeqHash* blocks) { (*this)[id].blocks = blocks_[id] = blocks; }

  /// Numbers below this were in use at some time.
  uint32_t used() const { return used_; }
  uint32_t live() const { return used_ - static_cast<uint32_t>(free_.size()); }

  /// Of the runs' blocks, and of whatever else should lie close.
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }

  uint32_t take() {
    if (!free_.empty()) {
      const uint32_t id = free_.back();
      free_.pop_back();
      return id;
    }
    if (used_ == kMaxRuns) throw std::bad_alloc();
    if (free_.capacity() <= used_) free_.reserve(used_ + used_ / 2 + 1);  // so that give() cannot fail
    if (used_ == pages_.size() * kPage) add_page();
    blocks_.push_back(nullptr);
    return used_++;
  }
  void give(uint32_t id) noexcept {
    arena_.release((*this)[id].blocks);
    (*this)[id] = Run{};
    blocks_[id] = nullptr;
    free_.push_back(id);
  }
  uint64_t reserved_bytes() const {
    return arena_.reserved_bytes() + heap_bytes(pages_.capacity() * sizeof(pages_[0])) +
           heap_bytes(free_.capacity() * sizeof(uint32_t)) +
           heap_bytes(blocks_.capacity() * sizeof(SeqHash*));
  }

 private:
  static constexpr uint32_t kPage = 256;

  void add_page() {
    if (pages_.size() == pages_.capacity()) pages_.reserve(pages_.size() * 2 + 8);  // push_back cannot fail
    auto* page = static_cast<Run*>(arena_.allocate(kPage * sizeof(Run)));
    std::uninitialized_value_construct_n(page, kPage);
    pages_.push_back(page);
  }

  Arena arena_;
  std::vector<Run*> pages_;
  std::vector<uint32_t> free_;
  // Each run's blocks once more, close together: a look-up then waits for a block and its run at once, not in turn.
  std::vector<SeqHash*> blocks_;
  uint32_t used_ = 0;
};

}  // namespace kvidx
