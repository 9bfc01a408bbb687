// Looking at an index from outside: stats, validate, dump, compact. Everything here walks the whole index.
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

  uint64_t owner_used = live_sessions_ * sizeof(Session),
           owner_reserved = heap_bytes(sessions_.capacity() * sizeof(Session)) +
                            heap_bytes(free_sessions_.capacity() * sizeof(uint32_t));
  uint64_t used = sizeof(Index) + table_.used_bytes() + s.runs * sizeof(Run) + s.blocks * sizeof(SeqHash);
  uint64_t reserved =
      sizeof(Index) + table_.reserved_bytes() + runs_.reserved_bytes() +
      heap_bytes(slots_.capacity() * sizeof(Slot)) + heap_bytes(placed_.capacity() * sizeof(Placed)) +
      heap_bytes(known_.capacity() * sizeof(Stretch)) + heap_bytes(ranges_.capacity() * sizeof(Range)) +
      heap_bytes(pieces_.capacity() * sizeof(Piece)) + heap_bytes(lead_.capacity() * sizeof(uint32_t));
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    const Run& run = runs_[id];
    if (!run.live()) continue;
    used += run.holders.used_bytes();
    reserved += run.holders.reserved_bytes();
    owner_used += run.owners.used_bytes() + run.steps.used_bytes();
    owner_reserved += run.owners.reserved_bytes() + run.steps.reserved_bytes();
  }
  for (const Slot& slot : slots_) {
    if (slot.live) ++s.slots;
    s.run_holders += slot.runs.live();
    used += (slot.live ? sizeof(Slot) : 0) + slot.runs.live() * sizeof(uint32_t);
    reserved += slot.runs.reserved_bytes();
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
  std::vector<uint32_t> moved_to(runs_.used(), kNoRun);
  try {
    for (uint32_t id = 0; id < runs_.used(); ++id) {
      const Run& old = runs_[id];
      if (!old.live()) continue;
      const uint32_t fresh = moved_to[id] = runs.take();
      Run& run = runs[fresh];
      runs.set_blocks(fresh, static_cast<SeqHash*>(runs.arena().allocate(old.size() * sizeof(SeqHash))));
      std::memcpy(run.blocks, old.blocks + old.first, old.size() * sizeof(SeqHash));
      run.capacity = pos(old.size());
      for (uint32_t at = 0; at < old.size(); ++at)
        table.find_or_insert(runs, run.blocks[at], {fresh, pos(at)});
    }
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
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    if (moved_to[id] == kNoRun) continue;
    Run &old = runs_[id], &run = runs[moved_to[id]];
    run.pred = old.pred;
    run.pred_kind = old.pred_kind;
    run.end = run.capacity;
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

  while (sessions_.size() > 1 && !sessions_.back().live) sessions_.pop_back();
  std::erase_if(free_sessions_, [&](uint32_t number) { return number >= sessions_.size(); });
  std::make_heap(free_sessions_.begin(), free_sessions_.end(), std::greater<>());
  sessions_.shrink_to_fit();
  slots_.shrink_to_fit();
  free_scratch();
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

void Index::free_scratch() {
  placed_ = decltype(placed_)();
  known_ = decltype(known_)();
  ranges_ = decltype(ranges_)();
  pieces_ = decltype(pieces_)();
  lead_ = decltype(lead_)();
}

std::string Index::validate() const {
  const auto broken = [](const char* invariant, const char* what, uint64_t which) {
    return std::string(invariant) + ": " + what + " " + std::to_string(which);
  };
  uint64_t blocks = 0, runs = 0;
  std::vector<uint64_t> resident(slots_.size()), owned(sessions_.size());
  std::vector<uint32_t> slot_runs(slots_.size()), session_runs(sessions_.size());
  std::vector<Range> gaps;
  for (uint32_t id = 0; id < runs_.used(); ++id) {
    const Run& run = runs_[id];
    if (run.growing) return broken("I1", "a call never ended in run", id);
    if (run.live() && runs_.hash({id, run.first}) != run.blocks[run.first])
      return broken("I2", "blocks of run", id);
    if (!run.live()) {
      if (run.blocks || !run.holders.empty() || !run.owners.empty()) return broken("I1", "empty run", id);
      continue;
    }
    ++runs;
    blocks += run.size();
    if (run.end > run.capacity || run.capacity > kMaxRun) return broken("I3", "positions exceed run", id);
    if (run.pred_kind != PredKind::kHash && run.pred != SeqHash{})
      return broken("I7", "predecessor of run", id);
    for (uint32_t at = run.first; at < run.end; ++at) {
      if (table_.find(runs_, run.blocks[at]) != BlockRef{id, pos(at)})
        return broken("I2", "table misses a block of run", id);
    }
    const Interval* before = nullptr;
    for (const Interval& v : run.holders.view()) {
      if (v.begin >= v.end || v.begin < run.first || v.end > run.end)
        return broken("I3", "holder of run", id);
      if (v.id >= slots_.size() || !slots_[v.id].live) return broken("I3", "dead holder of run", id);
      if (before && (before->id > v.id || (before->id == v.id && before->end >= v.begin))) {
        return broken("I3", "order of holders of run", id);
      }
      slot_runs[v.id] += before && before->id == v.id ? 0 : 1;
      resident[v.id] += static_cast<uint64_t>(v.end - v.begin);
      before = &v;
    }
    std::map<Pos, OwnerStep> ends;  // at each end, who ends there
    before = nullptr;
    for (const Interval& v : run.owners.view()) {
      if (v.begin != run.first || v.end <= v.begin || v.end > run.end)
        return broken("I3", "owner of run", id);
      if (v.id >= sessions_.size() || !sessions_[v.id].live) return broken("I3", "dead owner of run", id);
      if (before && before->id >= v.id) return broken("I3", "order of owners of run", id);
      ++session_runs[v.id];
      owned[v.id] += static_cast<uint64_t>(v.end - v.begin);
      OwnerStep& step = ends[v.end];
      step.end = v.end;
      ++step.count;
      step.owners_xor ^= v.id;
      before = &v;
    }
    OwnerSteps expected;
    OwnerStep all{run.owners.size(), 0, 0};
    for (const Interval& v : run.owners.view()) all.owners_xor ^= v.id;
    for (const auto& [end, leaving] : ends) {
      expected.append({all.count, all.owners_xor, end});
      all.count -= leaving.count;
      all.owners_xor ^= leaving.owners_xor;
    }
    if (run.owners.size() < 2) expected.clear();
    const auto same = [](const OwnerStep& a, const OwnerStep& b) {
      return a.end == b.end && a.count == b.count && a.owners_xor == b.owners_xor;
    };
    if (!std::equal(expected.view().begin(), expected.view().end(), run.steps.view().begin(),
                    run.steps.view().end(), same)) {
      return broken("I3", "owner steps of run", id);
    }
    uncovered(run, {run.first, run.end}, true, gaps);
    if (!gaps.empty()) return broken("I4", "unheld block in run", id);
    if (run.pred_kind == PredKind::kUnknown && !run.owners.empty())
      return broken("I7", "owned orphan run", id);
    if (run.pred_kind == PredKind::kHash && !run.owners.empty()) {
      const BlockRef up = table_.find(runs_, run.pred);
      if (!up.found()) return broken("I7", "owned run without predecessor", id);
      for (const Interval& v : run.owners.view()) {
        const auto above = runs_[up.run].owners.of(v.id);
        if (above.empty() || above.front().end <= up.at) return broken("I7", "ownership gap above run", id);
      }
    }
  }
  if (runs != runs_.live()) return broken("I5", "runs", runs_.live());
  if (blocks != table_.size()) return broken("I2", "table entries", table_.size());
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
