// Looking at an index from outside: stats, dump, compact. Everything here walks the whole index.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

#include "core/index.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace kvidx {

IndexStats Index::stats() const {
  IndexStats s;
  s.blocks = table_.size();
  s.runs = runs_.live();
  s.sessions = live_sessions_;
  s.duplicates = duplicates_;
  s.unknown_removes = unknown_removes_;
  s.rejected = rejected_;
  s.orphans = count_orphans();
  s.evicted_by_capacity = evicted_by_capacity_;
  s.evicted_by_bound = evicted_by_bound_;
  s.expired = expired_;

  uint64_t owner_used = live_sessions_ * sizeof(Session),
           owner_reserved = heap_bytes(sessions_.capacity() * sizeof(Session)) +
                            heap_bytes(free_sessions_.capacity() * sizeof(uint32_t));
  uint64_t used = sizeof(Index) + table_.used_bytes() + s.runs * sizeof(Run) + s.blocks * sizeof(SeqHash);
  uint64_t reserved =
      sizeof(Index) + table_.reserved_bytes() + runs_.reserved_bytes() +
      heap_bytes(slots_.capacity() * sizeof(Slot)) + heap_bytes(incarnations_.capacity() * sizeof(uint32_t)) +
      heap_bytes(placed_.capacity() * sizeof(Placed)) + heap_bytes(known_.capacity() * sizeof(Stretch)) +
      heap_bytes(ranges_.capacity() * sizeof(Range)) + heap_bytes(parts_.capacity() * sizeof(Range)) +
      heap_bytes(newcomers_.capacity() * sizeof(CallRange)) +
      heap_bytes(pieces_.capacity() * sizeof(PrefixWeights::Piece)) +
      heap_bytes(lead_.capacity() * sizeof(uint32_t));
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    const Run& run = runs_[id];
    if (!run.live()) continue;
    used += run.holders.used_bytes();
    reserved += run.holders.reserved_bytes();
    owner_used += run.owners.used_bytes() + run.steps.used_bytes();
    owner_reserved += run.owners.reserved_bytes() + run.steps.reserved_bytes();
  }
  sides_.each([&](uint32_t, const RunSide& beside) {
    const auto each_list = [&](const auto&... lists) {
      ((used += lists.used_bytes(), reserved += lists.reserved_bytes()), ...);
    };
    each_list(beside.stamps, beside.copies, beside.pins);
    used += sizeof(RunSide) + beside.stamps.size() * sizeof(EvictionQueue::Entry);
    reserved += heap_bytes(sizeof(RunSide));
  });
  used += history_.used_bytes();
  reserved += sides_.reserved_bytes() + queue_.reserved_bytes() + history_.reserved_bytes();
  for (const Slot& slot : slots_) {
    if (slot.live) ++s.slots;
    s.run_holders += slot.runs.live();
    used += (slot.live ? sizeof(Slot) : 0) + slot.runs.live() * sizeof(uint32_t);
    reserved += slot.runs.reserved_bytes() + slot.queue.reserved_bytes();
  }
  for (const Session& session : sessions_) {
    owner_used += session.runs.live() * sizeof(uint32_t);
    owner_reserved += session.runs.reserved_bytes();
  }
  s.used_bytes = used + owner_used;
  s.reserved_bytes = reserved + owner_reserved;
  s.ownership_bytes = owner_reserved;
  return s;
}

uint64_t Index::count_orphans() const {
  uint64_t orphans = 0;
  std::vector<Range> gaps;
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    const Run& run = runs_[id];
    if (!run.live()) continue;
    // Inside the run, a resident block behind one that is only owned.
    uncovered(run, {run.first, run.end}, false, gaps);
    for (const Range& gap : gaps) orphans += gap.end < run.end ? 1 : 0;
    if (!gaps.empty() && gaps.front().begin == run.first) continue;
    if (run.pred_kind == PredKind::kRoot) continue;
    const BlockRef before = run.pred_kind == PredKind::kHash ? table_.find(runs_, run.pred) : BlockRef{};
    orphans += before.found() && resident_somewhere(before) ? 0 : 1;
  }
  return orphans;
}

/// Moves everything to new memory, as large as it has to be. When that is not to be had, things stay as they are.
void Index::compact() {
  merge_heads();
  RunSlab runs;
  BlockTable table;
  SideTable sides;
  std::vector<uint32_t> moved_to(runs_.used(), kNoRun);
  try {
    bool any_side = false;
    sides_.each([&](uint32_t, const RunSide&) { any_side = true; });
    if (any_side) sides.resize(runs_.live());
    for (uint32_t id = 0; id < runs_.used(); ++id) {
      const Run& old = runs_[id];
      if (!old.live()) continue;
      const uint32_t fresh = moved_to[id] = runs.take();
      Run& run = runs[fresh];
      runs.set_blocks(fresh, static_cast<SeqHash*>(runs.arena().allocate(old.size() * sizeof(SeqHash))));
      std::memcpy(run.blocks, old.blocks + old.first, old.size() * sizeof(SeqHash));
      run.capacity = run.end = pos(old.size());
    }
    (void)table.build(runs);  // no block is there twice
  } catch (const std::bad_alloc&) {
    return;
  }
  const auto renumber = [&](RunList& list, IntervalList Run::*members, uint32_t member) {
    prune(list, members, member);
    for (uint32_t& id : list.ids()) id = moved_to[id];
    list.ids().shrink_to_fit();
  };
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) renumber(slots_[slot].runs, &Run::holders, slot);
  for (uint32_t number = 0; number < sessions_.size(); ++number) {
    renumber(sessions_[number].runs, &Run::owners, number);
  }
  const auto renumber_queue = [&](uint32_t id, EvictionQueue& waiting) {
    prune_queue(id);
    waiting.renumber(moved_to);
  };
  renumber_queue(kEverybody, queue_);
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) renumber_queue(slot, slots_[slot].queue);
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    if (moved_to[id] == kNoRun) continue;
    if (auto beside = sides_.take(id)) {
      beside->each_list([&](auto& list) {
        list.shift(-static_cast<int>(runs_[id].first));
        list.shrink();
      });
      sides.put(moved_to[id], std::move(beside));
    }
    Run &old = runs_[id], &run = runs[moved_to[id]];
    run.pred = old.pred;
    run.pred_kind = old.pred_kind;
    run.holders = std::move(old.holders);
    run.owners = std::move(old.owners);
    run.steps = std::move(old.steps);
    for (IntervalList* list : {&run.holders, &run.owners}) {
      list->shift(-static_cast<int>(old.first));
      list->shrink();
    }
    run.steps.shift(-static_cast<int>(old.first));
    run.steps.shrink();
  }
  runs_ = std::move(runs);
  table_ = std::move(table);
  sides_ = std::move(sides);

  while (sessions_.size() > 1 && !sessions_.back().live) sessions_.pop_back();
  std::erase_if(free_sessions_, [&](uint32_t number) { return number >= sessions_.size(); });
  std::make_heap(free_sessions_.begin(), free_sessions_.end(), std::greater<>());
  sessions_.shrink_to_fit();
  slots_.shrink_to_fit();
  incarnations_.shrink_to_fit();
  history_.shrink();
  free_scratch();
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

void Index::free_scratch() {
  placed_ = decltype(placed_)();
  known_ = decltype(known_)();
  ranges_ = decltype(ranges_)();
  parts_ = decltype(parts_)();
  newcomers_ = decltype(newcomers_)();
  pieces_ = decltype(pieces_)();
  lead_ = decltype(lead_)();
}

std::string Index::dump() const {
  std::multimap<uint32_t, uint32_t> children;  // by parent run; kNoRun for heads
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    if (!runs_[id].live()) continue;
    const BlockRef up =
        runs_[id].pred_kind == PredKind::kHash ? table_.find(runs_, runs_[id].pred) : BlockRef{};
    children.emplace(up.run, id);
  }
  std::string text;
  char line[160];
  std::vector<std::pair<uint32_t, int>> open;
  const auto push = [&](uint32_t parent, int depth) {
    const auto [begin, end] = children.equal_range(parent);
    for (auto it = end; it != begin;) open.emplace_back((--it)->second, depth);
  };
  push(kNoRun, 0);
  while (!open.empty()) {
    const auto [id, depth] = open.back();
    open.pop_back();
    const Run& run = runs_[id];
    const char* pred = run.pred_kind == PredKind::kRoot      ? "root"
                       : run.pred_kind == PredKind::kUnknown ? "unknown"
                                                             : "";
    char hash[20] = "";
    if (run.pred_kind == PredKind::kHash)
      std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(raw(run.pred)));
    std::snprintf(line, sizeof line, "%*srun %u [%016llx … %016llx] %u blocks after %s%s", 2 * depth, "", id,
                  static_cast<unsigned long long>(raw(run.blocks[run.first])),
                  static_cast<unsigned long long>(raw(run.blocks[run.end - 1u])), run.size(), pred, hash);
    text += line;
    text += " | slots";
    for (const Interval& v : run.holders.view()) {
      std::snprintf(line, sizeof line, " %u:%d-%d", v.id, v.begin - run.first, v.end - run.first);
      text += line;
    }
    text += " | owners";
    run.each_step([&](const OwnerStep& step) {
      std::snprintf(line, sizeof line, " %d:%u", step.end - run.first, step.count);
      text += line;
    });
    text += '\n';
    push(id, depth + 1);
  }
  return text;
}

}  // namespace kvidx
