// The index as its definition says it, on std::map and std::set: the oracle of the core tests.
//
//   slots_    : slot → held blocks (copies, stamp), pins, figures     sessions_: session → set of hashes
//   blocks_   : known block → predecessor, number of holders, number of owners, stamp
//   evicted_  : (slot, block) → cause                                 recency_ : sessions, least recently owning first
//
// Stamps number the blocks of accepted calls, the last block of a call first: a higher stamp is newer, and heads
// outlive tails. Beside every map of stamped things stands one from stamp to hash, so that evicting is no search.
//
// Same operations and answers as kvidx::Index, without bytes: a snapshot is a copy of the twin. Chains and
// predecessors are in twin_chains.cpp, bounds in twin_bounds.cpp, what changes nothing in twin_queries.cpp.
#pragma once

#include <list>
#include <map>
#include <set>

#include "core/index.hpp"

namespace kvidx {

class Twin {
 public:
  explicit Twin(IndexOptions options = {}) : options_(options) {}

  SlotRef add_slot();
  Status remove_slot(SlotRef);
  uint32_t slot_count() const;
  uint32_t incarnation(uint32_t slot) const { return incarnations_.at(slot); }
  std::vector<uint32_t> slot_numbers() const;

  Status store(SlotRef, SeqSpan seq, Parent parent, double now_ms, FeedResult&);
  Status remove(SlotRef, SeqSpan seq, FeedResult&);
  Status replace(SlotRef, std::span<const ToldChain>, double now_ms, FeedResult&);
  Status clear(SlotRef, uint64_t& removed);

  Status set_capacity(SlotRef, uint32_t blocks, double ttl_ms, FeedResult&);
  Status count_references(SlotRef);
  Status refresh(SlotRef, SeqSpan seq, double now_ms, FeedResult&);
  Status pin(SlotRef, SeqSpan seq, FeedResult&);
  Status unpin(SlotRef, SeqSpan seq, FeedResult&);
  uint64_t expire(double now_ms);
  Cause evicted_by(uint32_t slot, SeqHash) const;
  /// All that evicted_by() remembers.
  std::vector<std::pair<uint32_t, SeqHash>> evicted() const;

  uint32_t own(uint32_t session, SeqSpan seq, double now_ms, FeedResult&);
  uint64_t end_session(uint32_t session);
  std::vector<uint32_t> end_idle_sessions(double cutoff_ms);
  std::vector<uint32_t> session_numbers() const { return {recency_.begin(), recency_.end()}; }

  void overlap(SeqSpan seq, Mode, std::span<uint32_t> out) const;
  void exclusive_overlap(uint32_t session, SeqSpan seq, Mode, uint32_t max_owners,
                         std::span<uint32_t> out) const;
  void overlap_many(std::span<const SeqSpan> requests, Mode, std::span<uint32_t> out) const;
  void fair_overlap(SeqSpan seq, std::span<double> out) const;
  void exclusive_within(uint32_t session, SeqSpan seq, uint32_t max_owners, std::span<const uint32_t> lengths,
                        std::span<uint32_t> out) const;
  void fair_within(SeqSpan seq, std::span<const uint32_t> lengths, std::span<double> out) const;
  bool contains(SeqHash h) const { return blocks_.contains(h); }
  uint64_t known_blocks() const { return blocks_.size(); }
  std::vector<SeqHash> enumerate(uint32_t slot) const;
  std::vector<SeqHash> enumerate_exclusive(uint32_t slot, uint32_t session) const;
  SlotFigures slot_figures(uint32_t slot) const;
  /// Only what is no matter of layout: runs and bytes stay 0.
  IndexStats stats() const;

  /// What restoring a snapshot of this state into an index in state `before` gives. When only `before` has max_blocks,
  /// that depends on the order of the file's chains, which the twin does not know.
  Twin restored_over(const Twin& before) const;

 private:
  static constexpr uint64_t kNoStamp = UINT64_MAX;
  using ByStamp = std::map<uint64_t, SeqHash>;

  struct Held {
    uint64_t copies = 1;
    uint64_t stamp = kNoStamp;  // on bounded slots
    double stamp_ms = 0;
  };
  struct Slot {
    SlotFigures figures;  // resident and pinned are counted when they are asked for
    std::map<SeqHash, Held> blocks;
    std::map<SeqHash, uint64_t> pins;
    ByStamp by_stamp;  // on bounded slots

    bool is_bounded() const { return figures.mode == SlotMode::kBounded; }
    bool refuses(Parent parent) const { return is_bounded() && parent != Parent::root(); }
  };
  struct Session {
    double last_own_ms;
    std::set<SeqHash> blocks;
  };
  struct Block {
    Parent predecessor;
    uint32_t holders = 0;
    uint32_t owners = 0;
    uint64_t stamp = kNoStamp;  // under max_blocks
  };
  /// What the bounds have to know of the call after which they are enforced.
  struct Call {
    FeedResult& result;
    uint32_t number = 0;  // of the slot
    Slot* slot = nullptr;
    /// Position of each block that the call made resident (owned) and that is still there; -1 in a full report.
    std::map<SeqHash, int64_t> fresh = {};
  };
  using SlotBlock = std::pair<uint32_t, SeqHash>;
  struct Eviction {
    uint64_t number;
    Cause cause;
  };

  Slot* live(SlotRef);
  void hold(uint32_t number, SeqSpan seq, Parent parent, double now_ms);
  void release(Slot&, SeqHash);
  void disown(Session&, SeqHash);

  // twin_chains.cpp
  bool refuses(SeqSpan seq, Parent parent, FeedResult&);
  int64_t first_bad(SeqSpan seq, Parent parent) const;
  void tell(SeqSpan seq, Parent parent);
  void forget_unknown(SeqHash);
  bool is_resident(SeqHash) const;
  bool has_resident_path(SeqHash) const;

  // twin_bounds.cpp
  void stamp(SeqSpan seq, Slot* slot, double now_ms);
  void enforce(Call);
  void enforce_capacity(Call&);
  void enforce_max_blocks(Call&);
  bool take_back(Call&, SeqHash);
  bool is_pinned(SeqHash) const;
  uint64_t expire(uint32_t number, Slot&, double now_ms);
  void remember(uint32_t slot, SeqHash, Cause);
  void forget_eviction(SlotBlock);
  void forget_evictions(uint32_t slot);

  // twin_queries.cpp
  uint32_t owners(SeqHash) const;
  bool owns(uint32_t session, SeqHash) const;
  bool is_exclusive(uint32_t session, uint32_t max_owners, SeqHash) const;
  uint32_t fair_share(SeqHash) const;
  template <class Worth, class Out>
  void sum_counted(SeqSpan seq, Mode, Worth worth, std::span<Out> out) const;
  template <class Worth, class Out>
  static void sum_within(SeqSpan seq, std::span<const uint32_t> lengths, Worth worth, std::span<Out> out);

  IndexOptions options_;
  std::map<SeqHash, Block> blocks_;
  ByStamp by_stamp_;  // the known blocks, under max_blocks
  uint64_t next_stamp_ = 0;
  std::map<uint32_t, Slot> slots_;
  std::vector<uint32_t> incarnations_;  // by slot number ever used
  std::map<uint32_t, Session> sessions_;
  std::list<uint32_t> recency_;
  std::map<SlotBlock, Eviction> evicted_;
  std::map<uint64_t, SlotBlock> evicted_by_age_;
  uint64_t next_eviction_ = 0;
  uint64_t duplicates_ = 0, unknown_removes_ = 0, rejected_ = 0;
  uint64_t evicted_by_capacity_ = 0, evicted_by_bound_ = 0, expired_ = 0;
};

}  // namespace kvidx
