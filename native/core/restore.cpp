// Reading a snapshot: snapshot_format.hpp. Nothing in a file is trusted: lengths are checked before memory is taken, and a file
// whose checksums hold still has to pass these parts of validate(): every run (shape, holders, owners, no block unheld), the
// ways up, what lies beside the runs, the stamps.
//
// Left out on purpose are validate_counters(), which would look every block up again, and the bound of the whole index. They
// hold by construction: BlockTable::build enters every block of every run, and refuses one that is there twice (I2); counters and
// run lists are summed from the intervals as these are read, and count right because validate_run() refuses intervals that
// overlap or are out of order (I5); enforce_known() evicts down to the bound afterwards (I8).
#include <algorithm>
#include <cmath>

#include "core/index.hpp"
#include "core/snapshot_format.hpp"
#include "core/xxh64.hpp"

namespace kvidx {

namespace {

struct Damaged {};
void demand(bool holds) {
  if (!holds) throw Damaged{};
}

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  size_t left() const { return bytes_.size(); }
  std::span<const uint8_t> take(uint64_t n) {
    demand(n <= bytes_.size());
    const auto taken = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return taken;
  }
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  /// A count of items that take at least `item_bytes` each.
  uint32_t count(size_t item_bytes) {
    const auto n = get<uint32_t>();
    demand(n <= left() / item_bytes);
    return n;
  }
  Reader section(SnapshotSection tag) {
    const uint8_t* start = bytes_.data();
    demand(get<uint32_t>() == tag && get<uint32_t>() == 0);
    const auto payload = take(get<uint64_t>());
    demand(get<uint64_t>() == xxh64(start, payload.size() + 16, 0));
    return Reader(payload);
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace

struct Index::Loader {
  explicit Loader(Index& to) : index(to) {}

  Index& index;
  uint64_t known_stamps = 0;      // of blocks, not of slots
  uint64_t highest_stamp = 0;     // of all
  std::vector<Interval> owners_;  // of a chain

  /// Live and free numbers together are 0 … n − 1, so that what they take is bounded by the file.
  void slots(Reader in) const {
    struct Read {
      uint32_t number, incarnation;
      Slot slot;
    };
    std::vector<Read> read;
    const auto next = [&]() -> Slot& {
      const auto number = in.get<uint32_t>(), incarnation = in.get<uint32_t>();
      demand(incarnation < UINT32_MAX);
      read.push_back({number, incarnation, {}});
      return read.back().slot;
    };
    for (uint32_t left = in.count(64); left > 0; --left) live_slot(in, next());
    for (uint32_t left = in.count(8); left > 0; --left) (void)next();
    demand(in.left() == 0);
    std::vector<bool> seen(read.size());
    index.slots_.resize(read.size());
    index.incarnations_.resize(read.size());
    for (Read& r : read) {
      demand(r.number < read.size() && !seen[r.number]);
      seen[r.number] = true;
      index.incarnations_[r.number] = r.incarnation;
      index.slots_[r.number] = std::move(r.slot);
    }
    while (!index.slots_.empty() && !index.slots_.back().live) index.slots_.pop_back();
  }

  static void live_slot(Reader& in, Slot& slot) {
    slot.live = true;
    const auto mode = in.get<uint32_t>(), degraded = in.get<uint32_t>();
    slot.capacity = in.get<uint32_t>();
    demand(mode <= static_cast<uint32_t>(SlotMode::kCounted) && degraded <= 1 && in.get<uint32_t>() == 0);
    slot.mode = static_cast<SlotMode>(mode);
    slot.degraded = degraded == 1;
    slot.last_store_ms = in.get<double>();
    slot.ttl_ms = in.get<double>();
    slot.evicted_by_capacity = in.get<uint64_t>();
    slot.evicted_by_bound = in.get<uint64_t>();
    slot.expired = in.get<uint64_t>();
    demand((slot.mode == SlotMode::kBounded) == (slot.capacity > 0));
    demand(std::isfinite(slot.ttl_ms) && slot.ttl_ms >= 0 && (slot.capacity > 0 || slot.ttl_ms == 0));
  }

  /// Live and free numbers together are 1 … n, so that what they take is bounded by the file.
  void sessions(Reader in) const {
    std::vector<std::pair<uint32_t, double>> live;
    for (uint32_t left = in.count(12); left > 0; --left) {
      const auto number = in.get<uint32_t>();
      live.emplace_back(number, in.get<double>());
    }
    std::vector<uint32_t>& free = index.free_sessions_;
    for (uint32_t left = in.count(4); left > 0; --left) {
      free.push_back(in.get<uint32_t>());
      demand(free.size() < 2 || free[free.size() - 2] < free.back());
    }
    demand(in.left() == 0);
    const size_t highest = live.size() + free.size();
    index.sessions_.resize(highest + 1);
    index.free_sessions_.reserve(index.sessions_.capacity());
    for (const auto& [number, last_own_ms] : live) {
      demand(number != 0 && number <= highest && !index.sessions_[number].live);
      index.sessions_[number].live = true;
      ++index.live_sessions_;
      index.touch(number, last_own_ms);
    }
    for (const uint32_t number : free)
      demand(number != 0 && number <= highest && !index.sessions_[number].live);
  }

  void chain(Reader& in) {
    const auto kind = in.get<uint32_t>();
    demand(kind <= static_cast<uint32_t>(PredKind::kUnknown));
    const auto n = in.get<uint32_t>();
    demand(n >= 1 && n <= kMaxRun);
    const auto pred = in.get<SeqHash>();
    const auto hashes = in.take(uint64_t{n} * sizeof(SeqHash));
    const uint32_t id = index.runs_.take();
    index.resize(id, n);
    Run& run = index.runs_[id];
    run.pred_kind = static_cast<PredKind>(kind);
    run.pred = pred;
    std::memcpy(run.blocks, hashes.data(), hashes.size());
    run.end = pos(n);
    const uint32_t holders = in.count(12);
    run.holders.reserve_more(holders);
    for (uint32_t k = 0, last = UINT32_MAX; k < holders; ++k) {
      const auto slot = in.get<uint32_t>(), begin = in.get<uint32_t>(), end = in.get<uint32_t>();
      demand(slot < index.slots_.size() && begin < end && end <= n);
      if (std::exchange(last, slot) != slot) index.slots_[slot].runs.gained(id);
      run.holders.append({slot, pos(begin), pos(end)});
      index.slots_[slot].resident += end - begin;
    }
    owners_.clear();
    for (uint32_t left = in.count(8); left > 0; --left) {
      const auto session = in.get<uint32_t>(), length = in.get<uint32_t>();
      demand(session < index.sessions_.size() && length >= 1 && length <= n);
      owners_.push_back({session, 0, pos(length)});
      index.sessions_[session].owned += length;
      index.sessions_[session].runs.gained(id);
    }
    const auto by_id = [](const Interval& a, const Interval& b) { return a.id < b.id; };
    if (!std::is_sorted(owners_.begin(), owners_.end(), by_id))
      std::sort(owners_.begin(), owners_.end(), by_id);
    run.owners.reserve_more(static_cast<uint32_t>(owners_.size()));
    for (const Interval& owner : owners_) run.owners.append(owner);
    run.steps = OwnerSteps::of(owners_);
    Place last{0, 0, 0};
    for (uint32_t left = in.count(28); left > 0; --left) {
      const auto [slot, begin, end] = last = place(in, n, last);
      const Stamp stamp{in.get<uint64_t>(), in.get<double>()};
      demand(std::isfinite(stamp.ms) && stamp.order >= end - begin - 1u && stamp.order < kMostStamps);
      demand(slot == kEverybody || slot < index.slots_.size());
      const StampItem item{slot, begin, end, stamp};
      index.sides_.get(id).stamps.assign(slot, begin, end, stamp);
      index.queue(slot).push({oldest(item), id});
      highest_stamp = std::max(highest_stamp, stamp.order + 1);
      if (slot == kEverybody) {
        known_stamps += item.size();
        demand(stamp.ms == 0);
      } else {
        index.slots_[slot].oldest_ms = std::min(index.slots_[slot].oldest_ms, stamp.ms);
      }
    }
    last = {0, 0, 0};
    for (uint32_t left = in.count(16); left > 0; --left) {
      const auto [slot, begin, end] = last = place(in, n, last);
      const Count copies{in.get<uint32_t>()};
      demand(copies.n > 0);
      index.sides_.get(id).copies.assign(slot, begin, end, copies);
    }
  }

  struct Place {
    uint32_t slot;
    Pos begin, end;
  };
  /// Of the next item in a chain of n blocks.
  static Place place(Reader& in, uint32_t n, Place last) {
    const auto slot = in.get<uint32_t>(), begin = in.get<uint32_t>(), end = in.get<uint32_t>();
    demand(begin < end && end <= n && (slot > last.slot || (slot == last.slot && begin >= last.end)));
    return {slot, pos(begin), pos(end)};
  }

  void chains(Reader in) {
    for (auto left = in.get<uint64_t>(); left > 0; --left) chain(in);
    index.next_stamp_ = kMostStamps;  // the true one follows
    demand(in.left() == 0 && index.table_.build(index.runs_));
    for (uint32_t id = 0; id < index.runs_.used(); ++id) demand(index.validate_run(id).empty());
    demand(index.validate_ways_up().empty());
    demand(index.validate_sides().empty() && index.validate_stamps(known_stamps > 0).empty());
  }

  void counters(Reader in) const {
    index.duplicates_ = in.get<uint64_t>();
    index.unknown_removes_ = in.get<uint64_t>();
    index.rejected_ = in.get<uint64_t>();
    index.evicted_by_capacity_ = in.get<uint64_t>();
    index.evicted_by_bound_ = in.get<uint64_t>();
    index.expired_ = in.get<uint64_t>();
    index.next_stamp_ = in.get<uint64_t>();
    demand(in.left() == 0 && index.next_stamp_ >= highest_stamp && index.next_stamp_ <= kMostStamps);
  }

  /// A file of a bounded index may be read without a bound, and the other way round: then the blocks of its last chain count
  /// as the oldest.
  void settle_known_stamps() const {
    if (index.bounds_all() == (known_stamps > 0)) return;
    for (uint32_t id = index.runs_.used(); id-- > 0;) {
      const Run& run = index.runs_[id];
      if (index.bounds_all()) {
        index.stamp(kEverybody, id, {0, run.end}, {index.take_stamps(run.size()) + run.size() - 1, 0});
      } else if (RunSide* beside = index.side(id)) {
        beside->stamps.subtract(kEverybody, 0, run.end);
        index.sides_.drop_if_empty(id);
      }
    }
    if (!index.bounds_all()) index.queue_ = EvictionQueue{};
  }
};

std::string Index::restore(std::span<const uint8_t> bytes) {
  Index fresh(options_);
  Loader load(fresh);
  SnapshotSection section = kHeader;
  try {
    Reader in(bytes);
    demand(in.get<uint32_t>() == kSnapshotMagic && in.get<uint32_t>() == kSnapshotVersion);
    load.slots(in.section(section = kSlots));
    load.sessions(in.section(section = kSessions));
    load.chains(in.section(section = kChains));
    load.counters(in.section(section = kCounters));
    demand(in.section(section = kEnd).left() == 0 && in.left() == 0);
  } catch (const Damaged&) {
    return kSectionNames[section];
  }
  load.settle_known_stamps();
  fresh.merge_heads();
  fresh.enforce_known(nullptr);
  // No life of a slot, of before or in the file, comes back: slots that the file does not know keep their
  // last number.
  fresh.incarnations_.resize(std::max(fresh.incarnations_.size(), incarnations_.size()));
  for (uint32_t slot = 0; slot < fresh.incarnations_.size(); ++slot) {
    const uint32_t before = slot < incarnations_.size() ? incarnations_[slot] : 0;
    fresh.incarnations_[slot] = std::max(before, fresh.incarnations_[slot]) + 1;
  }
  *this = std::move(fresh);
  return "";
}

}  // namespace kvidx
