#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace kvidx {

/// The block before the first block of a call.
struct Parent {
  enum class Kind : uint8_t { kRoot, kHash, kUnknown };
  Kind kind = Kind::kRoot;
  SeqHash hash{};

  static constexpr Parent root() { return {}; }
  static constexpr Parent unknown() { return {Kind::kUnknown, SeqHash{}}; }
  static constexpr Parent of(SeqHash h) { return {Kind::kHash, h}; }
};

/// One life of a slot. A stale incarnation is refused by every feeding call.
struct SlotRef {
  uint32_t slot;
  uint32_t incarnation;
};

enum class [[nodiscard]] Status : uint8_t { kOk, kUnknownWorker };
enum class Mode : uint8_t { kPrefix, kSet };

/// What a feeding call did. first_bad is -1 when nothing was bad; of a rejected call it is the smallest index whose
/// told predecessor contradicts a known one, else the smallest index that repeats an earlier hash of the call, else
/// (the call would close a cycle) 0; of a remove the first hash that was not resident.
struct FeedResult {
  uint64_t applied = 0;
  uint64_t duplicate = 0;
  uint64_t unknown = 0;
  uint64_t orphaned = 0;
  uint64_t rejected = 0;
  int64_t first_bad = -1;
  uint32_t ended_session = 0;
};

struct IndexOptions {
  uint32_t max_sessions = 0;  // 0: no bound
};

struct IndexStats {
  uint64_t blocks = 0, runs = 0, run_holders = 0, slots = 0, sessions = 0;
  uint64_t used_bytes = 0, reserved_bytes = 0, ownership_bytes = 0;
  uint64_t duplicates = 0, unknown_removes = 0, rejected = 0, orphans = 0;
};

class Index {
 public:
  explicit Index(IndexOptions options = {});
  ~Index();
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;

  // Slots ---------------------------------------------------------------------------------------------------------
  SlotRef add_slot();
  Status remove_slot(SlotRef);
  uint32_t slot_count() const;  // highest live slot + 1
  uint32_t incarnation(uint32_t slot) const;
  std::vector<uint32_t> slot_numbers() const;

  // Residency -----------------------------------------------------------------------------------------------------
  Status store(SlotRef, SeqSpan seq, Parent parent, double now_ms, FeedResult&);
  Status remove(SlotRef, SeqSpan seq, FeedResult&);
  Status clear(SlotRef, uint64_t& removed);

  // Ownership -----------------------------------------------------------------------------------------------------
  uint32_t own(uint32_t session, SeqSpan seq, double now_ms, FeedResult&);
  uint64_t end_session(uint32_t session);
  std::vector<uint32_t> end_idle_sessions(double cutoff_ms);
  std::vector<uint32_t> session_numbers() const;  // least recently owning first

  // Queries; `out` has slot_count() places ------------------------------------------------------------------------
  void overlap(SeqSpan seq, Mode, std::span<uint32_t> out) const;
  void exclusive_overlap(uint32_t session, SeqSpan seq, Mode, uint32_t max_owners, std::span<uint32_t> out) const;
  void fair_overlap(SeqSpan seq, std::span<double> out) const;
  bool contains(SeqHash) const;
  std::vector<SeqHash> enumerate(uint32_t slot) const;  // ascending
  uint64_t resident_blocks(uint32_t slot) const;
  double last_store_ms(uint32_t slot) const;  // -1: none
  IndexStats stats() const;

  // Whole-index ---------------------------------------------------------------------------------------------------
  std::vector<uint8_t> snapshot() const;
  std::string restore(std::span<const uint8_t> bytes);  // "" or the first bad section
  void compact();
  std::string validate() const;  // "" or the first broken invariant
  std::string dump() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> x_;
};

}  // namespace kvidx
