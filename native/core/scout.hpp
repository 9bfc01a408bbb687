// Scout goes ahead of the walk that cuts a request into stretches (Index::each_known_stretch); Equal says how much of two chains
// that walk has to compare.
//
//   request   q0 … q499 | q500 … q567 | q568 … q635 | …        run 0: q0 … q499 z …   run 4: q500 … q567 y   run 9: …
//                          scout:  ^ q512       ^ q576
//
// Finding a run takes several misses in turn (its bucket in the table, its first block and its header, its other blocks), and
// where the next one begins is known only when the run was compared. In a long run that is nothing. Where runs are short a
// scout goes ahead: it asks the table for every kStride-th block, many at once, and has runs and blocks fetched. A block that
// the scout found in a run tells where the blocks before it would lie, too: when the walk arrives, one comparison shows
// whether they do, and no look-up is needed.
//
// Invariants: fetched_ ≤ read_ ≤ asked_. Probes behind the walk's last place and below read_ have their answer in refs_, as read_
// is less than kMost ahead. An answer may be wrong (BlockTable::guess): find() compares before it says so.
//
// Costs: a stretch one look-up, or one comparison where the scout has been; kStride blocks of a request with short runs one
// look-up that nobody waits for.
#pragma once

#include <algorithm>
#include <array>

#include "core/block_table.hpp"
#include "core/run.hpp"

namespace kvidx {

/// What makes two chains equal.
enum class Equal : uint8_t {
  kEach,  // every hash is looked at
  kLast,  // both were chained block by block from tokens: where two hashes are equal, all before them are
};

class Scout {
 public:
  Scout(const BlockTable& table, const RunSlab& runs, SeqSpan seq) : table_(table), runs_(runs), seq_(seq) {}

  /// The walk has come to block i, in a run that has at most n blocks for it. Always inlined, as all that only prefetches:
  /// the compiler takes such a call for one without effect, and drops it.
  [[gnu::always_inline]] inline void look_ahead(uint64_t i, uint32_t n) {
    if (n >= kShort || i + n >= seq_.size()) {
      window_ = 0;
      return;
    }
    window_ = std::min(kMost, 2 * window_ + kLeast);
    const uint64_t last = (seq_.size() - 1) / kStride;  // probe
    const uint64_t next = i / kStride + 1;
    const auto until = [&](uint32_t probes) { return std::min(last + 1, next + probes); };
    asked_ = std::max(asked_, next);
    read_ = std::max(read_, next);
    fetched_ = std::max(fetched_, next);
    for (; asked_ < until(window_); ++asked_) table_.prefetch(seq_[asked_ * kStride]);
    for (; read_ < until(window_ * 3 / 4); ++read_) {
      const BlockRef ref = table_.guess(seq_[read_ * kStride]);
      if (ref.found()) runs_.prefetch(ref.run);
      refs_[read_ % kMost] = ref;
    }
    for (; fetched_ < until(window_ / 2); ++fetched_) fetch(refs_[fetched_ % kMost]);
  }

  /// Where block i lies, when the scout has been there.
  BlockRef find(uint64_t i) const {
    const uint64_t probe = (i + kStride - 1) / kStride;
    if (probe >= read_ || window_ == 0) return {};
    const BlockRef ref = refs_[probe % kMost];
    if (!ref.found()) return {};
    const Run& run = runs_[ref.run];
    const auto back = static_cast<uint32_t>(probe * kStride - i);
    if (static_cast<uint32_t>(ref.at - run.first) < back) return {};
    const Pos at = pos(ref.at - back);
    return run.blocks[at] == seq_[i] ? BlockRef{ref.run, at} : BlockRef{};
  }

 private:
  static constexpr uint32_t kStride = 64, kShort = 256, kLeast = 8, kMost = 16;

  /// The blocks of its run from the probe before this one to the one behind it.
  [[gnu::always_inline]] inline void fetch(BlockRef ref) const {
    constexpr uint32_t kLine = 64 / sizeof(SeqHash);
    if (!ref.found()) return;
    const Run& run = runs_[ref.run];
    const uint32_t from = std::max<uint32_t>(run.first, ref.at < kStride ? 0 : ref.at - kStride);
    const uint32_t to = std::min<uint32_t>(run.end, ref.at + kStride);
    for (uint32_t at = from; at < to; at += kLine) __builtin_prefetch(run.blocks + at, 0, 2);
  }

  const BlockTable& table_;
  const RunSlab& runs_;
  const SeqSpan seq_;
  uint32_t window_ = 0;
  // Probes whose bucket was asked for, is read, and whose blocks were asked for.
  uint64_t asked_ = 0, read_ = 0, fetched_ = 0;
  std::array<BlockRef, kMost> refs_;
};

}  // namespace kvidx
