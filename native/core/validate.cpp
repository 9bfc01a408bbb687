// validate(): every invariant of index.hpp, and the first that does not hold. Walks the whole index.
#include <algorithm>
#include <map>

#include "core/index.hpp"

namespace kvidx {

namespace {
std::string broken(const char* invariant, const char* what, uint64_t which) {
  return std::string(invariant) + ": " + what + " " + std::to_string(which);
}
}  // namespace

std::string Index::validate() const {
  std::string first = validate_runs();
  if (first.empty()) first = validate_sides();
  if (first.empty()) first = validate_stamps(bounds_all());
  if (first.empty() && bounds_all() && table_.size() > options_.max_blocks)
    first = broken("I8", "known blocks", table_.size());
  return first;
}

std::string Index::validate_runs() const {
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    if (std::string first = validate_run(id); !first.empty()) return first;
  }
  std::string first = validate_counters();
  return first.empty() ? validate_ways_up() : first;
}

/// What a run is by itself: its shape, its holders and owners, and that nobody's blocks are gone.
std::string Index::validate_run(uint32_t id) const {
  const Run& run = runs_[id];
  if (run.growing) return broken("I1", "a call never ended in run", id);
  if (!run.live()) {
    const bool empty = run.blocks == nullptr && run.holders.empty() && run.owners.empty();
    return empty ? "" : broken("I1", "empty run", id);
  }
  if (runs_.hash({id, run.first}) != run.blocks[run.first]) return broken("I2", "blocks of run", id);
  if (run.end > run.capacity || run.capacity > kMaxRun) return broken("I3", "positions exceed run", id);
  if (run.pred_kind != PredKind::kHash && run.pred != SeqHash{})
    return broken("I7", "predecessor of run", id);
  const Interval* before = nullptr;
  for (const Interval& v : run.holders.view()) {
    if (v.begin >= v.end || v.begin < run.first || v.end > run.end) return broken("I3", "holder of run", id);
    if (v.id >= slots_.size() || !slots_[v.id].live) return broken("I3", "dead holder of run", id);
    if (before && (before->id > v.id || (before->id == v.id && before->end >= v.begin)))
      return broken("I3", "order of holders of run", id);
    before = &v;
  }
  before = nullptr;
  for (const Interval& v : run.owners.view()) {
    if (v.begin != run.first || v.end <= v.begin || v.end > run.end) return broken("I3", "owner of run", id);
    if (v.id >= sessions_.size() || !sessions_[v.id].live) return broken("I3", "dead owner of run", id);
    if (before && before->id >= v.id) return broken("I3", "order of owners of run", id);
    before = &v;
  }
  const OwnerSteps expected = OwnerSteps::of(run.owners.view());
  const auto same = [](const OwnerStep& a, const OwnerStep& b) {
    return a.end == b.end && a.count == b.count && a.owners_xor == b.owners_xor;
  };
  if (!std::equal(expected.view().begin(), expected.view().end(), run.steps.view().begin(),
                  run.steps.view().end(), same)) {
    return broken("I3", "owner steps of run", id);
  }
  std::vector<Range> gaps;
  uncovered(run, {run.first, run.end}, true, gaps);
  if (!gaps.empty()) return broken("I4", "unheld block in run", id);
  if (run.pred_kind == PredKind::kUnknown && !run.owners.empty()) return broken("I7", "owned orphan run", id);
  return "";
}

/// Is every block in the table, and nothing else; do the counters of slots and sessions agree with the runs?
std::string Index::validate_counters() const {
  uint64_t blocks = 0, runs = 0;
  std::vector<uint64_t> resident(slots_.size()), owned(sessions_.size());
  std::vector<uint32_t> slot_runs(slots_.size()), session_runs(sessions_.size());
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    const Run& run = runs_[id];
    if (!run.live()) continue;
    ++runs;
    blocks += run.size();
    for (uint32_t at = run.first; at < run.end; ++at) {
      if (table_.find(runs_, run.blocks[at]) != BlockRef{id, pos(at)})
        return broken("I2", "table misses a block of run", id);
    }
    uint32_t last = UINT32_MAX;
    for (const Interval& v : run.holders.view()) {
      slot_runs[v.id] += std::exchange(last, v.id) == v.id ? 0 : 1;
      resident[v.id] += static_cast<uint64_t>(v.end - v.begin);
    }
    for (const Interval& v : run.owners.view()) {
      ++session_runs[v.id];
      owned[v.id] += static_cast<uint64_t>(v.end - v.begin);
    }
  }
  if (runs != runs_.live()) return broken("I5", "runs", runs_.live());
  if (blocks != table_.size()) return broken("I2", "table entries", table_.size());
  if (!table_.sound()) return broken("I2", "overflow counts of the table", table_.size());
  uint64_t entries = 0;
  table_.each([&](BlockRef) { ++entries; });
  if (entries != blocks) return broken("I2", "table walk", entries);

  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (resident[slot] != slots_[slot].resident) return broken("I5", "resident blocks of slot", slot);
    if (slot_runs[slot] != slots_[slot].runs.live()) return broken("I5", "runs of slot", slot);
    RunList list = slots_[slot].runs;
    prune(list, &Run::holders, slot);
    if (list.ids().size() != slot_runs[slot]) return broken("I5", "run list of slot", slot);
  }
  uint32_t live = 0;
  for (uint32_t number = 0; number < sessions_.size(); ++number) {
    live += sessions_[number].live ? 1 : 0;
    if (owned[number] != sessions_[number].owned) return broken("I5", "owned blocks of session", number);
    if (session_runs[number] != sessions_[number].runs.live()) return broken("I5", "runs of session", number);
    RunList list = sessions_[number].runs;
    prune(list, &Run::owners, number);
    if (list.ids().size() != session_runs[number]) return broken("I5", "run list of session", number);
  }
  if (live != live_sessions_ || session_numbers().size() != live)
    return broken("I5", "sessions", live_sessions_);
  return "";
}

/// Do predecessors lead upwards without a cycle?
std::string Index::validate_ways_up() const {
  // 1: on the present way up, 2: known to lead to an end.
  std::vector<uint8_t> seen(runs_.used());
  std::vector<uint32_t> way;
  for (uint32_t start = 0; start < runs_.used(); ++start) {
    for (uint32_t id = start; runs_[id].live() && seen[id] != 2;) {
      if (seen[id] == 1) return broken("I7", "cycle through run", id);
      seen[id] = 1;
      way.push_back(id);
      if (runs_[id].pred_kind != PredKind::kHash) break;
      const BlockRef up = table_.find(runs_, runs_[id].pred);
      if (!up.found()) break;
      id = up.run;
    }
    for (const uint32_t id : way) seen[id] = 2;
    way.clear();
  }
  return "";
}

/// Are items in order, apart from each other, within the run, and is none of them two?
template <class V>
static bool in_order(const ValuedList<V>& list, const Run& run) {
  const Valued<V>* before = nullptr;
  for (const Valued<V>& item : list.view()) {
    if (item.begin >= item.end || item.begin < run.first || item.end > run.end) return false;
    if (before && before->id == item.id) {
      if (before->end > item.begin) return false;
      if (before->end == item.begin && before->value.advanced(before->size()) == item.value) return false;
    } else if (before && before->id > item.id) {
      return false;
    }
    before = &item;
  }
  return true;
}

std::string Index::validate_sides() const {
  std::string first;
  std::vector<uint64_t> pinned(slots_.size());
  sides_.each([&](uint32_t id, const RunSide& beside) {
    if (!first.empty()) return;
    const auto fail = [&](const char* what) { first = broken("I9", what, id); };
    if (id >= runs_.used() || !runs_[id].live() || beside.empty())
      return fail("side without a run, or empty, run");
    const Run& run = runs_[id];
    if (!in_order(beside.stamps, run) || !in_order(beside.copies, run) || !in_order(beside.pins, run))
      return fail("order beside run");
    const auto within_holders = [&](const Valued<Count>& item) {
      if (item.value.n == 0 || item.id >= slots_.size() || !slots_[item.id].live) return false;
      uint32_t held = 0;
      each_held(run, item.id, {item.begin, item.end},
                [&](Pos begin, Pos end) { held += static_cast<uint32_t>(end - begin); });
      return held == item.size();
    };
    for (const auto& item : beside.copies.view()) {
      if (!within_holders(item) || slots_[item.id].mode != SlotMode::kCounted) return fail("copies in run");
    }
    for (const auto& item : beside.pins.view()) {
      if (!within_holders(item)) return fail("pins in run");
      pinned[item.id] += item.size();
    }
  });
  if (!first.empty()) return first;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (pinned[slot] != slots_[slot].pinned) return broken("I5", "pinned blocks of slot", slot);
    if (bounded(slots_[slot]) && slots_[slot].resident > slots_[slot].capacity)
      return broken("I8", "capacity of slot", slot);
  }
  return "";
}

/// `known`: does every block have a stamp of its own?
std::string Index::validate_stamps(bool known) const {
  using Span = std::pair<uint64_t, uint64_t>;  // lowest and highest stamp of an item
  std::map<uint32_t, std::vector<Span>> spans;
  std::map<uint32_t, std::vector<EvictionQueue::Entry>> waiting;
  const auto sorted_queue = [&waiting](uint32_t id, const EvictionQueue& queue) {
    auto& entries = waiting[id];
    entries.assign(queue.view().begin(), queue.view().end());
    std::sort(entries.begin(), entries.end());
  };
  if (!queue_.is_heap()) return broken("I9", "order of the queue of all", 0);
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].queue.is_heap()) return broken("I9", "order of the queue of slot", slot);
  }
  sorted_queue(kEverybody, queue_);
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) sorted_queue(slot, slots_[slot].queue);
  std::string first;
  uint64_t stamped = 0;
  std::vector<uint64_t> stamped_on(slots_.size());
  sides_.each([&](uint32_t id, const RunSide& beside) {
    if (!first.empty()) return;
    for (const StampItem& item : beside.stamps.view()) {
      if (item.value.order >= next_stamp_ || item.value.order < item.size() - 1) {
        first = broken("I9", "stamp out of range in run", id);
        return;
      }
      spans[item.id].emplace_back(oldest(item), item.value.order);
      if (item.id == kEverybody) {
        stamped += item.size();
      } else if (item.id >= slots_.size() || !bounded(slots_[item.id])) {
        first = broken("I9", "stamps of an unbounded slot in run", id);
        return;
      } else {
        uint32_t held = 0;
        each_held(runs_[id], item.id, {item.begin, item.end},
                  [&](Pos begin, Pos end) { held += static_cast<uint32_t>(end - begin); });
        if (held != item.size()) {
          first = broken("I9", "stamps of blocks not held in run", id);
          return;
        }
        stamped_on[item.id] += item.size();
      }
      const Range free = last_unpinned(item.id, id, {item.begin, item.end});
      const EvictionQueue::Entry entry{oldest(item), id};
      const auto& entries = waiting[item.id];
      if (free.begin != free.end && !std::binary_search(entries.begin(), entries.end(), entry))
        first = broken("I9", "no queue entry for a stretch of run", id);
      if (free.begin != free.end && item.id != kEverybody && slots_[item.id].oldest_ms > item.value.ms)
        first = broken("I9", "a stamp older than the oldest in run", id);
    }
  });
  if (!first.empty()) return first;
  if (stamped != (known ? table_.size() : 0)) return broken("I9", "stamped blocks", stamped);
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (stamped_on[slot] != (bounded(slots_[slot]) ? slots_[slot].resident : 0))
      return broken("I9", "stamps of slot", slot);
  }
  for (auto& [id, list] : spans) {
    std::sort(list.begin(), list.end());
    for (size_t k = 1; k < list.size(); ++k) {
      if (list[k - 1].second >= list[k].first) return broken("I9", "a stamp twice, of slot", id);
    }
  }
  return "";
}

}  // namespace kvidx
