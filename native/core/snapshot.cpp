// Writing a snapshot: snapshot_format.hpp.
#include <algorithm>

#include "core/index.hpp"
#include "core/snapshot_format.hpp"
#include "core/xxh64.hpp"

namespace kvidx {

namespace {

/// Writes to memory, or where there is none only counts what it would write.
class Writer {
 public:
  explicit Writer(uint8_t* memory) : memory_(memory) {}
  uint64_t written() const { return written_; }

  template <class T>
  void put(T value) {
    put_all(&value, 1);
  }
  template <class T>
  void put_all(const T* p, size_t n) {
    if (memory_ != nullptr) std::memcpy(memory_ + written_, p, n * sizeof(T));
    written_ += n * sizeof(T);
  }
  void open(SnapshotSection tag) {
    start_ = written_;
    put<uint32_t>(tag);
    put<uint32_t>(0);
    put<uint64_t>(0);
  }
  void close() {
    const uint64_t bytes = written_ - start_, payload = bytes - 16;
    if (memory_ != nullptr) std::memcpy(memory_ + start_ + 8, &payload, sizeof payload);
    put<uint64_t>(memory_ == nullptr ? 0 : xxh64(memory_ + start_, bytes, 0));
  }

 private:
  uint8_t* memory_;
  uint64_t written_ = 0, start_ = 0;
};

}  // namespace

uint64_t Index::snapshot_bytes() const {
  return write_snapshot(nullptr);
}

void Index::snapshot(std::span<uint8_t> out) const {
  (void)write_snapshot(out.data());
}

/// Answers how many bytes a snapshot has; null: that alone. Two passes take less than memory that grows: its pages, fresh
/// from the system, are what a snapshot costs (`kvidx bench memory`).
uint64_t Index::write_snapshot(uint8_t* memory) const {
  Writer out(memory);
  out.put(kSnapshotMagic);
  out.put(kSnapshotVersion);

  out.open(kSlots);
  const std::vector<uint32_t> live = slot_numbers();
  out.put(static_cast<uint32_t>(live.size()));
  for (const uint32_t slot : live) {
    out.put(slot);
    const Slot& s = slots_[slot];
    out.put(incarnations_[slot]);
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
  out.put(static_cast<uint32_t>(incarnations_.size() - live.size()));
  for (uint32_t slot = 0; slot < incarnations_.size(); ++slot) {
    if (incarnation(slot) != 0) continue;
    out.put(slot);
    out.put(incarnations_[slot]);
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
    out.put_all(run.blocks + run.first, run.size());
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
  return out.written();
}

}  // namespace kvidx
