// How much of a trace a prefix cache could answer: without bound, within a session, and in an LRU cache of any size.
//
// Requests come in order. Everything seen stays in an Index as owned by its session, so "seen before by
// anybody" is the known part of a request and "by this session" the owned part. The LRU cache is Mattson's:
// one stack ordered by last use, for all capacities at once. A request uses its whole path, head newest, so
// the stack order is (newest request, then depth) and the blocks that still carry request t's stamp are the
// end of t's path:
//
//   stack rank of the block at depth j, stamped t
//     =  blocks stamped later than t  +  j − (first depth stamped t) + 1
//
// It rises with j, so each capacity cuts a stretch in one place, and stamps are kept per stretch, never per
// block.
//
// Chaining is most of the work, and a request of a session mostly goes on from the last one: the ids and seq hashes of the
// last requests of some sessions are kept, and only what is new behind them is chained.
//
// Cost of a request: one query and one own of the index, and O(log requests) for each stamp met.
#pragma once

#include <span>
#include <vector>

#include "core/index.hpp"

namespace kvidx {

/// How many blocks carry a stamp, and how many carry a later one.
class StampCounts {
 public:
  uint32_t count(uint32_t stamp) const { return counts_[stamp]; }
  uint64_t later_than(uint32_t stamp) const { return total_ - up_to(stamp); }
  void push(uint32_t count);
  void take(uint32_t stamp, uint32_t count);

 private:
  uint64_t up_to(uint32_t stamp) const;
  std::vector<uint32_t> counts_;
  std::vector<uint64_t> tree_;  // Fenwick tree over counts_, from 1
  uint64_t total_ = 0;
};

class ApcCounter {
 public:
  /// Capacities in blocks, ascending.
  explicit ApcCounter(std::span<const double> capacities);

  /// Chains the ids and counts one request. Session 0: none. hits: leading blocks seen before by anybody,
  /// seen before by this session, then leading blocks still cached at each capacity.
  void add(uint32_t session, std::span<const uint64_t> ids, std::span<uint32_t> hits);
  uint64_t unique_blocks() const { return unique_; }

 private:
  struct Stamped {
    Pos end;
    uint32_t stamp;
  };
  /// The ids of a request, and what they chain to.
  struct Prompt {
    std::vector<uint64_t> ids;
    std::vector<SeqHash> seq;
    void become(std::span<const uint64_t> next);
  };
  void count_cached(std::span<uint32_t> hits);
  void stamp_path(uint32_t blocks);

  std::vector<uint64_t> capacities_;
  Index index_;
  uint64_t unique_ = 0;
  std::vector<uint32_t> numbers_;  // the index's number of each session
  /// Session s has place s mod kPrompts: memory does not grow with sessions. Place 0 has those of none, too.
  static constexpr size_t kPrompts = 64;
  std::vector<Prompt> prompts_{kPrompts};

  StampCounts counts_;
  std::vector<uint32_t> path_blocks_;         // of each request
  std::vector<std::vector<Stamped>> stamps_;  // by run, ends rising, stamps falling
  std::vector<Stretch> path_;
};

}  // namespace kvidx
