// Snapshots, format "KVIX" version 2, little-endian; every backend reads and writes the same:
//
//   header    u32 'KVIX', u32 version
//   section   u32 tag, u32 0, u64 payload bytes, payload, u64 XXH64(tag … payload, seed 0)
//
// Five sections, in this order:
//   1 slots     u32 n, n × {u32 slot, u32 incarnation, u32 mode (0 plain, 1 bounded, 2 counted), u32 degraded, u32 capacity,
//               u32 0, f64 last store ms, f64 ttl ms, u64 evicted by capacity, u64 evicted by bound, u64 expired};
//               u32 n, n × {u32 free slot, u32 incarnation}
//   2 sessions  u32 n, n × {u32 session, f64 last own ms}, least recently owning first; u32 n, n × u32 free number
//   3 chains    u64 n, n × {u8 kind of the block before (0 root, 1 hash, 2 unknown), u8[3] 0, u32 length, u64 hash,
//               u64[length] hashes, u32 n, n × {u32 slot, u32 begin, u32 end}, u32 n, n × {u32 session, u32 length},
//               u32 n, n × {u32 slot, u32 begin, u32 end, u64 stamp of the block at begin, f64 ms},
//               u32 n, n × {u32 slot, u32 begin, u32 end, u32 further copies}}
//   4 counters  u64 duplicates, unknown removes, rejected, evicted by capacity, evicted by bound, expired, next stamp
//   5 end       nothing
//
// Stamps of slot 0xffffffff are those of the blocks themselves: all have one, or none. Pins are not saved, nor is the history
// of evictions. A chain becomes a run as it is; restore() merges neighbours. Nothing in a file is trusted: lengths are
// checked before memory is taken, and a file whose checksums hold still has to pass validate().
#include <algorithm>
#include <cmath>

#include "core/index.hpp"
#include "core/xxh64.hpp"

namespace kvidx {

namespace {

constexpr uint32_t kMagic = 0x5849564b, kVersion = 2;
/// So that every backend can count stamps exactly, and never comes to the end.
constexpr uint64_t kMostStamps = uint64_t{1} << 52;
enum Section : uint32_t { kHeader, kSlots, kSessions, kChains, kCounters, kEnd };
constexpr const char* kNames[] = {"header", "slots", "sessions", "chains", "counters", "end"};

class Writer {
 public:
  template <class T>
  void put(T value) {
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
  }
  void put_hashes(const SeqHash* p, size_t n) {
    const auto* raw_bytes = reinterpret_cast<const uint8_t*>(p);
    bytes_.insert(bytes_.end(), raw_bytes, raw_bytes + n * sizeof(SeqHash));
  }
  void open(Section tag) {
    start_ = bytes_.size();
    put<uint32_t>(tag);
    put<uint32_t>(0);
    put<uint64_t>(0);
  }
  void close() {
    const uint64_t payload = bytes_.size() - start_ - 16;
    std::memcpy(bytes_.data() + start_ + 8, &payload, sizeof payload);
    put<uint64_t>(xxh64(bytes_.data() + start_, bytes_.size() - start_, 0));
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
  size_t start_ = 0;
};

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
  Reader section(Section tag) {
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

std::vector<uint8_t> Index::snapshot() const {
  Writer out;
  out.put(kMagic);
  out.put(kVersion);

  out.open(kSlots);
  const std::vector<uint32_t> live = slot_numbers();
  out.put(static_cast<uint32_t>(live.size()));
  for (const uint32_t slot : live) {
    out.put(slot);
    const Slot& s = slots_[slot];
    out.put(s.incarnation);
    out.put(static_cast<uint32_t>(s.mode));
    out.put(uint32_t{s.degraded});
    out.put(s.capacity);
    out.put(uint32_t{0});
    out.put(s.last_store_ms);
    out.put(s.ttl_ms);
    out.put(s.evicted_by_capacity);
    out.put(s.evicted_by_bound);
    out.put(s.expired);
  }
  out.put(static_cast<uint32_t>(slots_.size() - live.size()));
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].live) continue;
    out.put(slot);
    out.put(slots_[slot].incarnation);
  }
  out.close();

  out.open(kSessions);
  out.put(live_sessions_);
  for (const uint32_t number : session_numbers()) {
    out.put(number);
    out.put(sessions_[number].last_own_ms);
  }
  std::vector<uint32_t> free = free_sessions_;
  std::sort(free.begin(), free.end());
  out.put(static_cast<uint32_t>(free.size()));
  for (const uint32_t number : free) out.put(number);
  out.close();

  out.open(kChains);
  const RunSide nothing;
  out.put(uint64_t{runs_.live()});
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    const Run& run = runs_[id];
    if (!run.live()) continue;
    out.put(static_cast<uint32_t>(run.pred_kind));
    out.put(run.size());
    out.put(run.pred);
    out.put_hashes(run.blocks + run.first, run.size());
    out.put(run.holders.size());
    for (const Interval& v : run.holders.view()) {
      out.put(v.id);
      out.put(static_cast<uint32_t>(v.begin - run.first));
      out.put(static_cast<uint32_t>(v.end - run.first));
    }
    out.put(run.owners.size());
    for (const Interval& v : run.owners.view()) {
      out.put(v.id);
      out.put(static_cast<uint32_t>(v.end - run.first));
    }
    const RunSide& beside = side(id) ? *side(id) : nothing;
    const auto put_items = [&](const auto& list, auto&& put_value) {
      out.put(list.size());
      for (const auto& item : list.view()) {
        out.put(item.id);
        out.put(static_cast<uint32_t>(item.begin - run.first));
        out.put(static_cast<uint32_t>(item.end - run.first));
        put_value(item.value);
      }
    };
    put_items(beside.stamps, [&out](const Stamp& stamp) {
      out.put(stamp.order);
      out.put(stamp.ms);
    });
    put_items(beside.copies, [&out](const Count& copies) { out.put(copies.n); });
  }
  out.close();

  out.open(kCounters);
  out.put(duplicates_);
  out.put(unknown_removes_);
  out.put(rejected_);
  out.put(evicted_by_capacity_);
  out.put(evicted_by_bound_);
  out.put(expired_);
  out.put(next_stamp_);
  out.close();

  out.open(kEnd);
  out.close();
  return out.take();
}

struct Index::Loader {
  Index& index;
  uint64_t known_stamps = 0;   // of blocks, not of slots
  uint64_t highest_stamp = 0;  // of all

  void slots(Reader in) const {
    const uint32_t live = in.count(64);
    std::vector<std::pair<uint32_t, Slot>> read;
    for (uint32_t k = 0; k < live; ++k) {
      Slot slot;
      slot.live = true;
      const auto number = in.get<uint32_t>();
      slot.incarnation = in.get<uint32_t>();
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
      demand(slot.incarnation < UINT32_MAX);
      read.emplace_back(number, std::move(slot));
    }
    const uint32_t free = in.count(8);
    for (uint32_t k = 0; k < free; ++k) {
      Slot slot;
      const auto number = in.get<uint32_t>();
      slot.incarnation = in.get<uint32_t>();
      demand(slot.incarnation < UINT32_MAX);
      read.emplace_back(number, std::move(slot));
    }
    demand(in.left() == 0);
    std::vector<bool> seen(read.size());
    index.slots_.resize(read.size());
    for (auto& [number, slot] : read) {
      demand(number < read.size() && !seen[number]);
      seen[number] = true;
      index.slots_[number] = std::move(slot);
    }
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
    for (uint32_t at = 0; at < n; ++at) {
      demand(!index.table_.find_or_insert(index.runs_, run.blocks[at], {id, pos(at)}).found());
    }
    for (uint32_t left = in.count(12); left > 0; --left) {
      const auto slot = in.get<uint32_t>(), begin = in.get<uint32_t>(), end = in.get<uint32_t>();
      demand(slot < index.slots_.size() && begin < end && end <= n);
      if (!run.holders.has(slot)) index.slots_[slot].runs.gained(id);
      run.holders.append({slot, pos(begin), pos(end)});
      index.slots_[slot].resident += end - begin;
    }
    for (uint32_t left = in.count(8); left > 0; --left) {
      const auto session = in.get<uint32_t>(), length = in.get<uint32_t>();
      demand(session < index.sessions_.size() && length >= 1 && length <= n);
      bool came = false;
      index.sessions_[session].owned += own_range(run, session, {0, pos(length)}, came);
      demand(came);
      index.sessions_[session].runs.gained(id);
    }
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
    demand(in.left() == 0 && index.validate_runs().empty());
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
  Loader load{fresh};
  Section section = kHeader;
  try {
    Reader in(bytes);
    demand(in.get<uint32_t>() == kMagic && in.get<uint32_t>() == kVersion);
    load.slots(in.section(section = kSlots));
    load.sessions(in.section(section = kSessions));
    load.chains(in.section(section = kChains));
    load.counters(in.section(section = kCounters));
    demand(in.section(section = kEnd).left() == 0 && in.left() == 0);
  } catch (const Damaged&) {
    return kNames[section];
  }
  load.settle_known_stamps();
  fresh.merge_heads();
  fresh.enforce_known(nullptr);
  // No life of a slot, of before or in the file, comes back: slots that the file does not know keep their
  // last number.
  fresh.slots_.resize(std::max(fresh.slots_.size(), slots_.size()));
  for (uint32_t slot = 0; slot < fresh.slots_.size(); ++slot) {
    const uint32_t before = slot < slots_.size() ? slots_[slot].incarnation : 0;
    fresh.slots_[slot].incarnation = std::max(before, fresh.slots_[slot].incarnation) + 1;
  }
  *this = std::move(fresh);
  return "";
}

}  // namespace kvidx
