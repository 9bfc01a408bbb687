// What one rank of an engine calls its blocks, and how its events change the index.
//
// Idea: an engine names blocks by hashes of its own, and later speaks of them by name alone. Token ids come once, with the
// store: they are hashed here as ours, and name → seq hash is kept for as long as some tier has a copy (name_table.hpp), and
// a while longer (departed_names.hpp).
//
//   stored    names  n0 n1 n2 n3 n4          parent's name → seed and predecessor; token ids → s0 … s4
//             places  c  c  h  c  c          c: claimed, h: the tier has a copy already
//                    └───┘     └───┘         each maximal run of claimed blocks is one store of the index
//   removed   names → seq hashes, one remove of the index
//   cleared   clear of every tier's slot; no names
//
// A block's name is entered before the index takes the block, in the same probe that asks for it, and taken out again where
// the index refuses: what may fail for want of memory fails while it can be undone. Names that mean another block so far,
// that stand in the event twice, or whose block the index let go, are rare: the first such stops the claims and undoes them,
// other blocks under the event's names are released, copies of what the index let go are dropped, and claims are made once
// more, where a name met again is left without one. Only where a name has a copy already is the index asked.
//
// Invariants: those of the name table; a store whose memory runs out leaves names and index agreeing, with the runs before
// applied.
// Costs, n blocks: hashing, one table line a name (asked for well ahead, also across events) and the index' own; no
// allocation but for growth. A sweep looks at every name, and follows on at least 4096 names that are new or had gone stale since the last.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/block_hash.hpp"
#include "core/departed_names.hpp"
#include "core/event_batch.hpp"
#include "core/index.hpp"
#include "core/name_table.hpp"

namespace kvidx {

/// Seed of XXH64 over the name of a parent that is not known.
constexpr uint64_t kOrphanSeed = 0x6b766f727068616e;

using TierSlots = std::array<SlotRef, kTiers>;  // incarnation 0: the tier has no slot

/// Events first … end − 1 of the columns.
struct EngineCall {
  EventColumns columns;
  size_t first, end;
  TierSlots slots;
  SeqHash root;
  uint32_t block_size;
  ExtraKeys extra;
  double now_ms;

  EventRow row(size_t event) const {
    EventRow row;
    std::memcpy(static_cast<void*>(&row), &columns.rows[event * kEventPlaces], sizeof row);
    return row;
  }
};

/// Odd, or of no tier.
inline bool is_left_out(const EventRow& row) {
  return row.kind == EventKind::kOdd || row.tier < 0;
}

/// In blocks; see APPLIED in the seam.
struct EngineResult {
  uint64_t stored = 0, duplicate = 0, orphaned = 0, rejected = 0, evicted = 0;
  uint64_t unresolved = 0, removed = 0, unknown = 0, cleared = 0;
};

/// "", or why the events cannot be applied: a place that does not fit the columns, or a tier without a slot.
std::string misfit(const EngineCall&);

class EngineNames {
 public:
  /// `seed` should be nobody's guess.
  EngineNames(bool counts_copies, uint64_t seed)
      : counts_copies_(counts_copies), table_(seed), departed_(seed) {}

  /// Of a call that fits. kUnknownWorker (a slot's life is over) and kOtherMode (a slot is bounded) have changed nothing.
  Status apply(Index&, const EngineCall&, EngineResult&);

  uint64_t size() const { return table_.size(); }
  uint64_t used_bytes() const { return table_.used_bytes() + departed_.used_bytes(); }
  uint64_t reserved_bytes() const { return table_.reserved_bytes() + departed_.used_bytes(); }
  /// Ascending by name.
  std::vector<NameTable::Entry> entries() const;
  /// Replaces all; each has a copy, none is named twice.
  void load(std::span<const NameTable::Entry>);
  /// "" or the first broken invariant.
  std::string validate() const {
    const std::string broken = table_.validate();
    return broken.empty() ? departed_.validate() : broken;
  }

 private:
  enum class Claim : uint8_t {
    kNone,   // does not go to the index: the tier has a copy; or the index refused it
    kMade,   // goes to the index, and its name stands for it
    kAgain,  // goes to the index, but its name stands for an earlier block of the event
  };
  /// A stored or removed event.
  struct Event {
    size_t tier;
    size_t name_at;  // in the column
    std::span<const uint64_t> names;
  };
  /// What a chain is hashed from, and what it follows.
  struct ChainStart {
    SeqHash seed;
    Parent parent;
  };
  /// One call under way.
  struct Call {
    Index& index;
    const EngineCall& told;
    EngineResult& result;
    SlotRef slot(size_t tier) const { return told.slots[tier]; }
    bool has_slot(size_t tier) const { return told.slots[tier].incarnation != 0; }
  };

  void store(Call, const Event&, int32_t parent_at, std::span<const Token>);
  void store_by_name(Call, const Event&);
  void remove(Call, const Event&);
  void clear(Call);

  ChainStart chain_start(const EngineCall&, int32_t parent_at);
  bool claim(Call, const Event&, bool is_first);
  void unclaim(const Event&, size_t from, size_t to);
  void release_others(Call, const Event&);
  void drop_stale_copies(const Call&, const Event&);
  void settle_again(Call, const Event&);
  bool wants_copy(uint16_t copies) const { return counts_copies_ ? copies < UINT16_MAX : copies == 0; }
  bool keep_copies(NameTable::Entry*, size_t tier, uint16_t copies);
  bool drop_copy(NameTable::Entry* entry, size_t tier) {
    return keep_copies(entry, tier, static_cast<uint16_t>(entry->copies[tier] - 1));
  }
  static bool is_stale(const Call&, const NameTable::Entry&, size_t tier);
  void ask_ahead(const EngineCall&, size_t name_at);
  static bool store_run(Call, size_t tier, SeqSpan, Parent);
  static void remove_from_index(Call, size_t tier, SeqSpan);
  void sweep(const Index&, const TierSlots&);
  void sweep_segment(const Index&, const TierSlots&, size_t segment);

  bool counts_copies_;
  NameTable table_;
  DepartedNames departed_;
  uint64_t kept_ = 0;  // names that the last sweep left

  // Scratch, so that calls do not allocate.
  std::vector<SeqHash> seqs_;
  std::vector<Claim> claims_;  // of an event's blocks
  size_t asked_ = 0;           // names of the columns that are on their way into the cache
};

}  // namespace kvidx
