// The index as its definition says it, on std::map and std::set: the oracle of the core tests.
//
//   slots_    : slot → set of hashes          blocks_ : known block → predecessor, number of holders, number
//   of owners sessions_ : session → set of hashes       recency_: sessions, least recently owning first
//
// Same operations and answers as kvidx::Index, without bytes: a snapshot is a copy of the twin.
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
  Status clear(SlotRef, uint64_t& removed);

  uint32_t own(uint32_t session, SeqSpan seq, double now_ms, FeedResult&);
  uint64_t end_session(uint32_t session);
  std::vector<uint32_t> end_idle_sessions(double cutoff_ms);
  std::vector<uint32_t> session_numbers() const { return {recency_.begin(), recency_.end()}; }

  void overlap(SeqSpan seq, Mode, std::span<uint32_t> out) const;
  void exclusive_overlap(uint32_t session, SeqSpan seq, Mode, uint32_t max_owners,
                         std::span<uint32_t> out) const;
  void fair_overlap(SeqSpan seq, std::span<double> out) const;
  bool contains(SeqHash h) const { return blocks_.contains(h); }
  std::vector<SeqHash> enumerate(uint32_t slot) const;
  uint64_t resident_blocks(uint32_t slot) const;
  double last_store_ms(uint32_t slot) const;
  /// Only what is no matter of layout: runs and bytes stay 0.
  IndexStats stats() const;

  /// What restoring a snapshot of this state into an index in state `before` gives.
  Twin restored_over(const Twin& before) const;

 private:
  struct Slot {
    double last_store_ms = -1;
    std::set<SeqHash> blocks;
  };
  struct Session {
    double last_own_ms;
    std::set<SeqHash> blocks;
  };
  struct Block {
    Parent predecessor;
    uint32_t holders = 0;
    uint32_t owners = 0;
  };

  Slot* live(SlotRef);
  bool refuses(SeqSpan seq, Parent parent, FeedResult&);
  int64_t first_bad(SeqSpan seq, Parent parent) const;
  void tell(SeqSpan seq, Parent parent);
  void unhold(SeqHash);
  void forget_unknown(SeqHash);
  bool is_resident(SeqHash) const;
  bool has_resident_path(SeqHash) const;
  template <class Worth, class Out>
  void sum_counted(SeqSpan seq, Mode, Worth worth, std::span<Out> out) const;

  IndexOptions options_;
  std::map<SeqHash, Block> blocks_;
  std::map<uint32_t, Slot> slots_;
  std::vector<uint32_t> incarnations_;  // by slot number ever used
  std::map<uint32_t, Session> sessions_;
  std::list<uint32_t> recency_;
  uint64_t duplicates_ = 0, unknown_removes_ = 0, rejected_ = 0;
};

}  // namespace kvidx
