// The index: which slot holds which blocks, and which session owns them.
//
// It is an acceleration of three maps (slot → resident hashes, session → owned hashes, known block →
// predecessor) and answers exactly as they would. Blocks live in runs (run.hpp), found through one table
// (block_table.hpp):
//
//   run 0 [ b0 … b499 s0 … s2317 ]   slots 0–63: 0–500, slot 0: 0–2818     owners: (500: many) (2818: s1)
//   run 7 [ t0 … t2317 ], behind b499   slot 2: 0–2318                     owners: (2318: s2)
//
// A *stretch* is the consecutive blocks of a request that lie in one run. Every operation works stretch by
// stretch: one table look-up and a memcmp each, then the run's few intervals. A run grows in place when its
// last block gets a successor; where chains diverge the later one starts a run of its own, and the older run
// stays whole.
//
// Invariants (validate() checks them and names the first broken one)
//   I1  no run is empty                                  I4  every block of every run is held or owned
//   I2  the table has exactly one entry a known block    I5  counters equal what a walk counts
//   I3  holders, owners and steps stay within the run    I6  an emptied index is the empty index
//   I7  predecessors lead upwards without a cycle        I8  bounds hold
//   I9  a bounded slot has one stamp for each block it holds, a bounded index one for each known block, and every stretch
//       that may go is queued; pins and copies lie on held blocks
//
// Bounds (run_side.hpp, eviction_queue.hpp): a call stamps what it names, and when a bound is exceeded the oldest stretch
// goes, last block first. Slots and indexes without a bound keep none of it.
//
// Costs, S stretches, D blocks, H holders of a run: query O(D) memcmp + S look-ups + Σ H; exclusive and fair overlap
// the same + the run's owner steps; within W lengths O(longest) memcmp + S look-ups + Σ owner steps + W log(owner steps),
// and O(1) an unknown block; store the same plus one table insert a new block, and with a parent one look-up for
// each run above it; own of a new session O(owners of the run) memmove; remove one table erase a block that nobody holds
// any more; a call on a bounded slot one stamp item a stretch more, an eviction O(log items) and a remove; stats, validate,
// snapshot and compact walk everything.
//
// Not thread-safe: queries use scratch space of the index.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/block_table.hpp"
#include "core/evicted_history.hpp"
#include "core/eviction_queue.hpp"
#include "core/prefix_weights.hpp"
#include "core/run.hpp"
#include "core/run_side.hpp"
#include "core/scout.hpp"
#include "core/types.hpp"

namespace kvidx {

/// Off only in a build that `kvidx bench ingest` compares with: what bounds cost those who have none.
#ifdef KVIDX_WITHOUT_BOUNDS
constexpr bool kWithBounds = false;
#else
constexpr bool kWithBounds = true;
#endif

/// The block before the first block of a call.
struct Parent {
  PredKind kind = PredKind::kRoot;
  SeqHash hash{};

  static constexpr Parent root() { return {}; }
  static constexpr Parent unknown() { return {PredKind::kUnknown, SeqHash{}}; }
  static constexpr Parent of(SeqHash h) { return {PredKind::kHash, h}; }
  friend bool operator==(const Parent&, const Parent&) = default;
};

/// One life of a slot. A stale incarnation is refused by every feeding call.
struct SlotRef {
  uint32_t slot;
  uint32_t incarnation;
};

/// Anything but kOk has changed nothing.
enum class [[nodiscard]] Status : uint8_t{
    kOk,
    kUnknownWorker,
    kParentOnBounded,  // a bounded slot takes chains from the root alone
    kNotEmpty,         // only an empty slot becomes bounded or reference-counted
    kOtherMode,        // a slot is bounded or reference-counted, never both
    kPinned,           // more blocks are pinned than the bound would allow
};
enum class Mode : uint8_t { kPrefix, kSet };
/// How a slot keeps its blocks: as told; the most recently named ones; or with a count of copies each.
enum class SlotMode : uint8_t { kPlain, kBounded, kCounted };
/// A chain of a full report.
struct ToldChain {
  SeqSpan seq;
  Parent parent;
};

/// What a feeding call did. first_bad is -1 when nothing was bad; of a rejected call it is the smallest index
/// whose told predecessor contradicts a known one, else the smallest index that repeats an earlier hash of
/// the call, else (the call would close a cycle) 0; of a remove, refresh, pin or unpin the first hash that was unknown; of a
/// full report the first chain left out; else the first new block that did not stay.
struct FeedResult {
  uint64_t applied = 0;
  uint64_t duplicate = 0;
  uint64_t unknown = 0;
  uint64_t orphaned = 0;
  uint64_t rejected = 0;
  int64_t first_bad = -1;
  uint32_t ended_session = 0;
  uint64_t evicted = 0;
};

struct IndexOptions {
  uint32_t max_sessions = 0;     // 0: no bound
  uint64_t max_blocks = 0;       // known blocks; 0: no bound
  uint32_t evicted_history = 0;  // (slot, block) pairs that evicted_by() remembers
};

/// What one slot is and has been through in its present life.
struct SlotFigures {
  SlotMode mode = SlotMode::kPlain;
  uint32_t capacity = 0;  // 0 unless bounded
  double ttl_ms = 0;      // 0: none
  uint64_t resident = 0;
  double last_store_ms = -1;  // -1: none
  uint64_t pinned = 0;        // blocks with at least one pin
  uint64_t evicted_by_capacity = 0, evicted_by_bound = 0, expired = 0;
  bool degraded =
      false;  // max_blocks took blocks from it, or refused it some, though it is not bounded itself
};

struct IndexStats {
  uint64_t blocks = 0, runs = 0, run_holders = 0, slots = 0, sessions = 0;
  uint64_t used_bytes = 0, reserved_bytes = 0, ownership_bytes = 0;
  uint64_t duplicates = 0, unknown_removes = 0, rejected = 0, orphans = 0;
  uint64_t evicted_by_capacity = 0, evicted_by_bound = 0, expired = 0;
};

/// n blocks of a call, from index `i` on, that lie in one run from `at` on.
struct Stretch {
  uint64_t i;
  uint32_t n;
  uint32_t run;
  Pos at;
  Pos end() const { return pos(at + n); }
  /// Of a position of the run in the call.
  uint64_t place(Pos p) const { return i + static_cast<uint64_t>(p - at); }
};

class Index {
 public:
  explicit Index(IndexOptions options = {});

  // Slots
  // ---------------------------------------------------------------------------------------------------------
  /// The smallest free slot number; its incarnation has never been used before.
  SlotRef add_slot();
  Status remove_slot(SlotRef);
  /// Highest live slot + 1: the length of every output indexed by slot.
  uint32_t slot_count() const;
  /// 0 when the slot is not live.
  uint32_t incarnation(uint32_t slot) const {
    return slot < slots_.size() && slots_[slot].live ? incarnations_[slot] : 0;
  }
  std::vector<uint32_t> slot_numbers() const;

  // Residency
  // -----------------------------------------------------------------------------------------------------
  Status store(SlotRef, SeqSpan seq, Parent parent, double now_ms, FeedResult&);
  /// Asks for the table lines that calls with these blocks look up, for who has other work before.
  void prefetch(SeqSpan seq) const {
    for (const SeqHash hash : seq) table_.prefetch(hash);
  }
  Status remove(SlotRef, SeqSpan seq, FeedResult&);
  /// A full report: the slot holds exactly these chains, one copy of each block.
  Status replace(SlotRef, std::span<const ToldChain>, double now_ms, FeedResult&);
  Status clear(SlotRef, uint64_t& removed);

  // Bounds
  // -----------------------------------------------------------------------------------------------------------
  Status set_capacity(SlotRef, uint32_t blocks, double ttl_ms, FeedResult&);
  Status count_references(SlotRef);
  /// Stamps what is resident here.
  Status refresh(SlotRef, SeqSpan seq, double now_ms, FeedResult&);
  Status pin(SlotRef, SeqSpan seq, FeedResult&);
  Status unpin(SlotRef, SeqSpan seq, FeedResult&);
  /// How many (slot, block) had outlived their slot's ttl.
  uint64_t expire(double now_ms);
  Cause evicted_by(uint32_t slot, SeqHash) const;

  // Ownership
  // -----------------------------------------------------------------------------------------------------
  /// `session` 0 opens a new one under the smallest free number. Answers its number, 0 when there is none.
  uint32_t own(uint32_t session, SeqSpan seq, double now_ms, FeedResult&);
  /// Blocks that were owned.
  uint64_t end_session(uint32_t session);
  /// Ends sessions whose last own was at cutoff_ms or earlier.
  std::vector<uint32_t> end_idle_sessions(double cutoff_ms);
  /// Least recently owning first.
  std::vector<uint32_t> session_numbers() const;

  // Queries; `out` has slot_count() places
  // ------------------------------------------------------------------------
  void overlap(SeqSpan seq, Mode, std::span<uint32_t> out, Equal = Equal::kEach) const;
  /// Row k of `out`, slot_count() places each, is what overlap says of request k.
  void overlap_many(std::span<const SeqSpan> requests, Mode, std::span<uint32_t> out) const;
  void exclusive_overlap(uint32_t session, SeqSpan seq, Mode, uint32_t max_owners, std::span<uint32_t> out,
                         Equal = Equal::kEach) const;
  /// In units of 2^-20 block.
  void fair_overlap(SeqSpan seq, std::span<double> out, Equal = Equal::kEach) const;
  /// What the overlaps would count of the first lengths[w] blocks where all are resident; out[w]. No length is beyond seq.
  void exclusive_within(uint32_t session, SeqSpan seq, uint32_t max_owners, std::span<const uint32_t> lengths,
                        std::span<uint32_t> out) const;
  void fair_within(SeqSpan seq, std::span<const uint32_t> lengths, std::span<double> out) const;
  bool contains(SeqHash) const;
  /// out[i] = 1 where the slot holds seq[i], else 0.
  void resident(uint32_t slot, SeqSpan seq, std::span<uint8_t> out) const;
  /// Ascending, or as they lie: sorting is nine tenths of the time.
  std::vector<SeqHash> enumerate(uint32_t slot, bool sorted = true) const;
  /// Of these, the ones whose one owner is the session.
  std::vector<SeqHash> enumerate_exclusive(uint32_t slot, uint32_t session) const;
  SlotFigures slot_figures(uint32_t slot) const;
  IndexStats stats() const;
  uint64_t known_blocks() const { return table_.size(); }
  /// Blocks, runs and table, at no cost; stats() counts the rest as well.
  uint64_t reserved_bytes() const { return runs_.arena().reserved_bytes(); }

  /// Leading blocks of seq that are known, as stretches: calls fn(Stretch, Run) until one is missing.
  template <class Fn>
  void each_known_stretch(SeqSpan seq, Fn&& fn, Equal = Equal::kEach) const;

  // Whole index
  // ---------------------------------------------------------------------------------------------------
  uint64_t snapshot_bytes() const;
  /// `out` has snapshot_bytes() places.
  void snapshot(std::span<uint8_t> out) const;
  std::vector<uint8_t> snapshot() const {
    std::vector<uint8_t> bytes(snapshot_bytes());
    snapshot(bytes);
    return bytes;
  }
  /// "" or the name of the first bad section, and then nothing has changed.
  std::string restore(std::span<const uint8_t> bytes);
  void compact();
  /// "" or the first broken invariant.
  std::string validate() const;
  std::string dump() const;

 private:
  /// Runs in which a slot or session has blocks. May name runs that it has left, or one twice; never misses
  /// one.
  class RunList {
   public:
    void gained(uint32_t run) {
      ids_.push_back(run);
      ++live_;
    }
    void lost() { --live_; }
    uint32_t live() const { return live_; }
    bool overgrown() const { return ids_.size() > 2 * size_t{live_} + 16; }
    std::vector<uint32_t>& ids() { return ids_; }
    const std::vector<uint32_t>& ids() const { return ids_; }
    void reserve_more(size_t n) {
      if (ids_.capacity() < ids_.size() + n) ids_.reserve((ids_.size() + n) * 5 / 4);
    }
    uint64_t reserved_bytes() const { return heap_bytes(ids_.capacity() * sizeof(uint32_t)); }

   private:
    std::vector<uint32_t> ids_;
    uint32_t live_ = 0;
  };
  struct Slot : SlotFigures {
    bool live = false;
    RunList runs;
    EvictionQueue queue;                                         // when bounded
    double oldest_ms = std::numeric_limits<double>::infinity();  // no stamp is older
  };
  struct Session {
    bool live = false;
    uint32_t older = 0, newer = 0;  // neighbours in the order of the last own; 0: none
    uint64_t owned = 0;
    double last_own_ms = 0;
    RunList runs;
  };
  /// A stretch of a feeding call.
  struct Placed : Stretch {
    bool fresh;   // its blocks are not known yet
    bool learns;  // its first block's predecessor was unknown and is told now
  };
  struct Range {
    Pos begin, end;
  };
  /// Positions of a call.
  struct CallRange {
    uint64_t begin, end;
  };
  /// A call whose own blocks may have to go again.
  struct Call {
    FeedResult& result;
    uint32_t slot = kEverybody;                    // that it stores on; none of an own
    uint64_t base = UINT64_MAX, n = 0;             // its stamps: base … base + n − 1
    const std::vector<SeqHash>* before = nullptr;  // of a full report: what the slot held, ascending
  };
  /// A stretch that has to go.
  struct Victims {
    uint32_t run;
    Range range;
    uint64_t stamp;  // of the first block
  };

  // place.cpp: from a told chain to stretches
  bool place(SeqSpan seq, Parent parent);
  bool place_known(SeqSpan seq, uint64_t& i, BlockRef ref, Parent told);
  bool place_fresh(SeqSpan seq, uint64_t& i, Parent told);
  bool repeats_known();
  bool climb(Parent parent);
  void roll_back(SeqSpan seq);
  void settle(SeqSpan seq, Parent parent);
  int64_t first_bad(SeqSpan seq, Parent parent) const;
  void reject(SeqSpan seq, Parent parent, FeedResult&);
  Parent predecessor(BlockRef ref) const;

  // edit.cpp: what changes the shape of runs
  void uncovered(const Run& run, Range range, bool count_owners, std::vector<Range>& out) const;
  void bury_uncovered(uint32_t run, Range range);
  void bury(uint32_t run);
  void erase_blocks(uint32_t run, Range range);
  uint32_t split(uint32_t run, Range dead);
  void move_blocks(uint32_t from, Range range, uint32_t to);
  void shrink_if_sparse(uint32_t run);
  void reserve_room(uint32_t run, uint32_t kept, uint32_t end);
  void resize(uint32_t run, uint32_t capacity);
  static bool owners_go_on(const Run& left, const Run& right);
  bool merge(uint32_t left, uint32_t right);
  void merge_placed(SeqSpan seq, Parent parent);
  uint32_t merges_into(uint32_t run) const;
  void merge_heads();
  void prune(RunList& list, IntervalList Run::*members, uint32_t id) const;
  void prune_if_overgrown(RunList& list, IntervalList Run::*members, uint32_t id) const;
  void prune_members(const Run& run);
  void drop_run(uint32_t run);

  // residency.cpp, ownership.cpp
  Status check(SlotRef) const;
  void prepare_hold(uint32_t slot, SeqSpan seq);
  uint64_t hold(uint32_t slot, SeqSpan seq, Parent parent, double now_ms);
  uint32_t release(uint32_t slot, uint32_t run, std::span<const Range> parts);
  void forget(uint32_t slot, uint32_t run, Range range);
  bool resident_somewhere(BlockRef ref) const;
  void release_all(uint32_t slot);
  void add_copies(uint32_t slot);
  uint64_t take_copies(uint32_t slot, uint32_t run, Range range);
  uint32_t open_session();
  void close_session(uint32_t session);
  void touch(uint32_t session, double now_ms);
  void unlink(uint32_t session);
  static void prepare_own(Run& run, uint32_t session, Range range);
  static uint64_t own_range(Run& run, uint32_t session, Range range, bool& came);
  void disown(uint32_t run, Range range, std::vector<Interval>& behind, std::vector<OwnerStep>& steps);
  void attach_owners(uint32_t run, std::span<const Interval> owners, std::span<const OwnerStep> steps);

  // bounds.cpp, sides.cpp
  bool bounded(const Slot& slot) const { return kWithBounds && slot.mode == SlotMode::kBounded; }
  bool counted(const Slot& slot) const { return kWithBounds && slot.mode == SlotMode::kCounted; }
  bool bounds_all() const { return kWithBounds && options_.max_blocks != 0; }
  RunSide* side(uint32_t run) const { return kWithBounds ? sides_.find(run) : nullptr; }
  EvictionQueue& queue(uint32_t id) { return id == kEverybody ? queue_ : slots_[id].queue; }
  uint64_t take_stamps(uint64_t n) { return std::exchange(next_stamp_, next_stamp_ + n); }
  void prepare_stamps(uint32_t id);
  void stamp_placed(uint32_t id, uint64_t base, uint64_t n, double now_ms);
  void stamp(uint32_t id, uint32_t run, Range range, Stamp);
  void cut_stamps(uint32_t id, uint32_t run, Range range);
  void enqueue(uint32_t id, uint32_t run, const StampItem& item);
  void prune_queue(uint32_t id);
  void enqueue_range(uint32_t id, uint32_t run, Range range);
  void move_side(uint32_t from, Range range, uint32_t to, int delta);
  void reserve_side(uint32_t left, uint32_t right);
  const StampItem* queued(uint32_t id, EvictionQueue::Entry entry) const;
  Range last_unpinned(uint32_t id, uint32_t run, Range range) const;
  Victims next_victims(uint32_t id, uint64_t most);
  void enforce(Call call);
  void enforce_known(Call* call);
  void evict_resident(uint32_t slot, const Victims&, Cause, Call* call);
  void evict_known(const Victims&, Call* call);
  bool is_new(const Call&, uint32_t run, Pos at, uint64_t stamp) const;
  std::vector<Pos> reject_new(const Victims&, Call* call);
  bool minds_newcomers(const Slot& slot) const { return bounded(slot) || bounds_all() || history_.on(); }
  void note_newcomers(uint32_t slot);

  template <class Fn>
  static void each_held(const Run& run, uint32_t slot, Range range, Fn&& fn);

  // named.cpp
  template <class Visit>
  void each_named(SeqSpan seq, FeedResult& result, Visit&& visit);

  // report.cpp
  void drop_unreported(uint32_t slot, std::span<const Stretch> reported);

  // query.cpp
  template <class Out, class Weigh>
  void weighted_overlap(SeqSpan seq, Mode mode, Weigh&& weigh, std::span<Out> out, Equal) const;
  template <class Out, class Weigh>
  void weighted_within(SeqSpan seq, std::span<const uint32_t> lengths, Weigh&& weigh,
                       std::span<Out> out) const;
  template <class Fn>
  void each_stretch_skipping(SeqSpan seq, Fn&& fn) const;
  static bool count_leading(const Run& run, const Stretch& s, std::span<uint32_t> out);
  template <class Weigh>
  static void weigh_stretch(const Run& run, const Stretch& s, Weigh&& weigh, PrefixWeights& weights);

  // snapshot.cpp, inspect.cpp, validate.cpp
  uint64_t write_snapshot(uint8_t* memory) const;
  uint64_t count_orphans() const;
  std::string validate_runs() const;
  std::string validate_run(uint32_t id) const;
  std::string validate_counters() const;
  std::string validate_ways_up() const;
  std::string validate_sides() const;
  std::string validate_stamps(bool known) const;
  void free_scratch();

  // restore.cpp
  struct Loader;

  // query_many.cpp
  struct Flight;
  bool advance(Flight& flight) const;

  uint32_t match(const Run& run, Pos at, SeqSpan rest) const;
  uint32_t match_last(const Run& run, Pos at, SeqSpan rest, Pos leaves) const;

  IndexOptions options_;
  RunSlab runs_;
  BlockTable table_;
  std::vector<Slot> slots_;              // the last one is live
  std::vector<uint32_t> incarnations_;   // of every number ever used
  uint32_t lowest_free_slot_ = 0;        // none is free below
  std::vector<Session> sessions_;        // by number; place 0 stays empty
  std::vector<uint32_t> free_sessions_;  // a heap, smallest on top
  uint32_t oldest_ = 0, newest_ = 0;
  uint32_t live_sessions_ = 0;
  uint64_t duplicates_ = 0, unknown_removes_ = 0, rejected_ = 0;

  SideTable sides_;
  EvictionQueue queue_;  // of the whole index, when it is bounded
  EvictedHistory history_;
  uint64_t next_stamp_ = 0;
  uint64_t evicted_by_capacity_ = 0, evicted_by_bound_ = 0, expired_ = 0;

  // Scratch, so that calls do not allocate.
  std::vector<Placed> placed_;
  std::vector<Stretch> known_;
  std::vector<Range> ranges_, parts_;
  std::vector<CallRange> newcomers_;  // of the call: what it made resident or owned
  bool resident_path_ = true;         // of the call that place() read last
  BlockRef parent_at_;                // of the same: where its parent was, if told by hash and known
  mutable std::vector<uint32_t> lead_;
  mutable PrefixWeights::Room pieces_;
};

inline uint32_t Index::match(const Run& run, Pos at, SeqSpan rest) const {
  // memcmp picks the machine's vector unit; chunks keep a long run from being read past a mismatch.
  //
  // A run is cold, and what a query costs is the wait for its lines (`kvidx bench index`). They are asked for
  // well ahead, into the second-level cache, since the first has too few places for misses under way; and a
  // few lines of every page are asked for at once, since the hardware's own prefetch starts only behind the
  // first misses of a page.
  constexpr uint32_t kChunk = 64, kAhead = 512, kLine = 64 / sizeof(SeqHash), kPage = 4096 / sizeof(SeqHash);
  constexpr int kRead = 0, kSecondLevel = 2;
  const uint32_t n =
      static_cast<uint32_t>(std::min<uint64_t>(rest.size(), static_cast<uint64_t>(run.end - at)));
  const SeqHash* blocks = run.blocks + at;
  const auto ask = [blocks, n](uint32_t from, uint32_t to) {
    for (uint32_t k = from; k < std::min(to, n); k += kLine)
      __builtin_prefetch(blocks + k, kRead, kSecondLevel);
  };
  for (uint32_t page = 0; page < n; page += kPage) ask(page, page + 3 * kLine);
  ask(0, 2 * kChunk);
  uint32_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    ask(i + kAhead, i + kAhead + kChunk);
    if (std::memcmp(blocks + i, rest.data() + i, kChunk * sizeof(SeqHash)) != 0) break;
  }
  while (i < n && blocks[i] == rest[i]) ++i;
  return i;
}

/// Calls fn(begin, end) for the parts of a range that a slot holds, in order.
template <class Fn>
void Index::each_held(const Run& run, uint32_t slot, Range range, Fn&& fn) {
  for (const Interval& v : run.holders.of(slot)) {
    const Pos begin = std::max(v.begin, range.begin), end = std::min(v.end, range.end);
    if (begin < end) fn(begin, end);
  }
}

/// As match, where equal hashes mean equal chains before them (Equal::kLast): one line instead of all, unless the request
/// leaves the run at some other place than `leaves`.
inline uint32_t Index::match_last(const Run& run, Pos at, SeqSpan rest, Pos leaves) const {
  const uint32_t n =
      static_cast<uint32_t>(std::min<uint64_t>(rest.size(), static_cast<uint64_t>(run.end - at)));
  const SeqHash* blocks = run.blocks + at;
  if (blocks[n - 1] == rest[n - 1]) return n;
  if (leaves > at && leaves < at + n) {
    const auto k = static_cast<uint32_t>(leaves - at);
    if (blocks[k] != rest[k] && blocks[k - 1] == rest[k - 1]) return k;
  }
  return match(run, at, rest);
}

template <class Fn>
void Index::each_known_stretch(SeqSpan seq, Fn&& fn, Equal equal) const {
  Scout scout(table_, runs_, seq);
  for (uint64_t i = 0; i < seq.size();) {
    BlockRef ref = scout.find(i);
    if (!ref.found()) ref = table_.find(runs_, seq[i]);
    if (!ref.found()) return;
    const Run& run = runs_[ref.run];
    scout.look_ahead(i, static_cast<uint32_t>(run.end - ref.at));
    // Where others' holdings end in a run, requests leave it: what comes behind the boilerplate is looked for while the
    // boilerplate is compared.
    Pos leaves = run.end;
    if (const auto holders = run.holders.view(); !holders.empty()) {
      leaves = holders[holders.size() / 2].end;
      if (leaves > ref.at && leaves < run.end && i + leaves - ref.at < seq.size()) {
        table_.prefetch(seq[i + leaves - ref.at]);
      }
    }
    const SeqSpan rest = seq.subspan(i);
    const uint32_t n =
        equal == Equal::kEach ? match(run, ref.at, rest) : match_last(run, ref.at, rest, leaves);
    if (!fn(Stretch{i, n, ref.run, ref.at}, run)) return;
    i += n;
  }
}

}  // namespace kvidx
