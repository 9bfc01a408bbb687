// What changes the shape of runs: blocks that die, splits, moves, merges, and the arrays under them.
//
//   a death inside          [ a b c D D f g h ]   →   [ a b c ]  and  [ f g h ] (predecessor: the last D)
//   a death at the front    [ D D c d ]           →   · · [ c d ] (predecessor: the last D)
//   a merge                 [ a b ] + [ c d ]     →   [ a b c d ]
//
// A split moves the smaller side to a new run, so any order of removals costs O(n log n) moves in all; a block that comes
// and goes in the middle of a long run costs a split and a merge each time.
//
// Merges change nothing when memory runs out. Taking blocks out gives memory back but may need some for a split first: if
// even that is missing, std::bad_alloc leaves the index in no state to go on.
#include <algorithm>

#include "core/index.hpp"

namespace kvidx {

/// The parts of `range` that no slot holds (and, with count_owners, no session owns), in order.
void Index::uncovered(const Run& run, Range range, bool count_owners, std::vector<Range>& out) const {
  out.assign(1, range);
  const auto cut = [&out](Pos begin, Pos end) {
    for (size_t k = 0; k < out.size();) {
      const Range r = out[k];
      if (end <= r.begin || r.end <= begin) {
        ++k;
      } else if (begin <= r.begin && r.end <= end) {
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(k));
      } else if (begin <= r.begin) {
        out[k++].begin = end;
      } else {
        out[k++].end = begin;
        if (end < r.end) out.insert(out.begin() + static_cast<std::ptrdiff_t>(k++), Range{end, r.end});
      }
    }
  };
  if (count_owners) cut(run.first, run.owned_end());
  for (const Interval& v : run.holders.view()) {
    if (out.empty()) return;
    cut(v.begin, v.end);
  }
}

/// Takes out the blocks of `range` that nobody holds or owns any more.
void Index::bury_uncovered(uint32_t id, Range range) {
  uncovered(runs_[id], range, true, ranges_);
  bury(id);
}

/// Takes out the blocks of ranges_, which nobody holds or owns. No owner has blocks behind them.
void Index::bury(uint32_t id) {
  uint32_t shift = 0;
  for (size_t k = ranges_.size(); k-- > 0;) {
    const Range dead{pos(ranges_[k].begin - shift), pos(ranges_[k].end - shift)};
    if (bounds_all()) cut_stamps(kEverybody, id, dead);
    erase_blocks(id, dead);
    Run& run = runs_[id];
    if (dead.begin == run.first && dead.end == run.end) {
      drop_run(id);
      return;
    }
    if (dead.end == run.end) {
      run.end = dead.begin;
    } else if (dead.begin == run.first) {
      run.pred = run.blocks[dead.end - 1u];
      run.pred_kind = PredKind::kHash;
      run.first = dead.end;
    } else {
      const Pos first = run.first;
      const uint32_t left = split(id, dead);
      if (left != id) shift += first;
      id = left;
    }
  }
  if (!ranges_.empty()) shrink_if_sparse(id);
}

void Index::erase_blocks(uint32_t id, Range range) {
  constexpr uint32_t kAhead = 12;
  const SeqHash* blocks = runs_[id].blocks;
  for (uint32_t at = range.begin; at < range.end; ++at) {
    if (at + kAhead < range.end) table_.prefetch(blocks[at + kAhead]);
    table_.erase(runs_.arena(), blocks[at], {id, pos(at)});
  }
}

/// Parts a run at its dead blocks; answers the run that has the left side now. If that is a new one, its
/// positions start at 0.
uint32_t Index::split(uint32_t id, Range dead) {
  const uint32_t fresh = runs_.take();
  Run& run = runs_[id];
  const Range left{run.first, dead.begin}, right{dead.end, run.end};
  const SeqHash before_right = run.blocks[dead.end - 1u];
  const bool move_left = left.end - left.begin < right.end - right.begin;
  if (move_left) {
    runs_[fresh].pred = run.pred;
    runs_[fresh].pred_kind = run.pred_kind;
    move_blocks(id, left, fresh);
    run.first = right.begin;
    run.pred = before_right;
    run.pred_kind = PredKind::kHash;
    shrink_if_sparse(id);
    return fresh;
  }
  runs_[fresh].pred = before_right;
  runs_[fresh].pred_kind = PredKind::kHash;
  move_blocks(id, right, fresh);
  run.end = left.end;
  return id;
}

/// Moves one side of a split to a new run. No interval crosses the dead blocks between the sides, and owners
/// can only have the left side.
void Index::move_blocks(uint32_t from, Range range, uint32_t to) {
  Run& src = runs_[from];
  Run& dst = runs_[to];
  const uint32_t n = static_cast<uint32_t>(range.end - range.begin);
  resize(to, n);
  dst.end = pos(n);
  std::memcpy(dst.blocks, src.blocks + range.begin, n * sizeof(SeqHash));
  for (uint32_t k = 0; k < n; ++k) table_.move(dst.blocks[k], {from, pos(range.begin + k)}, {to, pos(k)});

  IntervalList stay;
  for (const Interval& v : src.holders.view()) {
    IntervalList& list = v.begin >= range.begin && v.end <= range.end ? dst.holders : stay;
    list.append(v);
  }
  const auto hand_over = [&](IntervalList& moved, const IntervalList& stays, auto& records) {
    uint32_t last = UINT32_MAX;
    for (const Interval& v : moved.view()) {
      if (std::exchange(last, v.id) == v.id) continue;
      records[v.id].runs.gained(to);
      if (!stays.has(v.id)) records[v.id].runs.lost();
    }
    moved.shift(-static_cast<int>(range.begin));
  };
  hand_over(dst.holders, stay, slots_);
  src.holders = std::move(stay);
  if (range.begin == src.first) {
    dst.owners = std::move(src.owners);
    dst.steps = std::move(src.steps);
    hand_over(dst.owners, src.owners, sessions_);
    dst.steps.shift(-static_cast<int>(range.begin));
  }
  move_side(from, range, to, -static_cast<int>(range.begin));
  prune_members(dst);
}

void Index::shrink_if_sparse(uint32_t id) {
  const Run& run = runs_[id];
  if (run.capacity <= 16 || run.size() * 2 >= run.capacity) return;
  try {
    resize(id, run.size() + run.size() / 8);
  } catch (const std::bad_alloc&) {  // giving memory back can wait
  }
}

/// Makes room for positions below `end`; those below `kept` are in use.
void Index::reserve_room(uint32_t id, uint32_t kept, uint32_t end) {
  Run& run = runs_[id];
  if (end <= run.capacity) return;
  const uint32_t capacity = std::min(kMaxRun, end + end / 8);
  runs_.set_blocks(id, static_cast<SeqHash*>(runs_.arena().resize(run.blocks, kept * sizeof(SeqHash),
                                                                  capacity * sizeof(SeqHash))));
  run.capacity = pos(capacity);
}

/// Moves the run's blocks to the front of an array of the given capacity.
void Index::resize(uint32_t id, uint32_t capacity) {
  Run& run = runs_[id];
  auto* fresh = static_cast<SeqHash*>(runs_.arena().allocate(capacity * sizeof(SeqHash)));
  if (run.live()) std::memcpy(fresh, run.blocks + run.first, run.size() * sizeof(SeqHash));
  runs_.arena().release(run.blocks);
  runs_.set_blocks(id, fresh);
  run.capacity = pos(capacity);
  if (run.first == 0) return;
  const Pos first = run.first;
  for (uint32_t k = 0; k < run.size(); ++k) table_.move(run.blocks[k], {id, pos(first + k)}, {id, pos(k)});
  run.holders.shift(-static_cast<int>(first));
  run.owners.shift(-static_cast<int>(first));
  run.steps.shift(-static_cast<int>(first));
  if (RunSide* beside = side(id))
    beside->each_list([&](auto& list) { list.shift(-static_cast<int>(first)); });
  run.end = pos(run.size());
  run.first = 0;
}

/// Does everybody who owns blocks of `right` own the end of `left`? Where a bound has taken blocks from a session it may own
/// what follows and not what is before; owners have prefixes, so such runs stay apart.
bool Index::owners_go_on(const Run& left, const Run& right) {
  return std::all_of(right.owners.view().begin(), right.owners.view().end(), [&left](const Interval& v) {
    const auto before = left.owners.of(v.id);
    return !before.empty() && before.front().end == left.end;
  });
}

/// Appends a run to the one that ends with its predecessor, if there is room in it and memory for it.
bool Index::merge(uint32_t left_id, uint32_t right_id) {
  Run& left = runs_[left_id];
  Run& right = runs_[right_id];
  if (left.end + right.size() > kMaxRun || !owners_go_on(left, right)) return false;
  const int delta = left.end - right.first;
  const auto shifted = [delta](Interval v) {
    return Interval{v.id, pos(static_cast<uint64_t>(v.begin + delta)),
                    pos(static_cast<uint64_t>(v.end + delta))};
  };
  OwnerSteps steps;
  try {
    reserve_room(left_id, left.end, left.end + right.size());
    if (left.owners.size() > 1) {
      left.each_step([&](const OwnerStep& step) { steps.append(step); });
      right.each_step([&](OwnerStep step) {
        step.end = pos(static_cast<uint64_t>(step.end + delta));
        steps.append(step);
      });
    }
    const auto make_room = [&](IntervalList& below, const IntervalList& above, auto& records) {
      uint32_t apart = 0;
      for (const Interval& v : above.view()) {
        const auto same = below.of(v.id);
        apart += v.begin == right.first && !same.empty() && same.back().end == left.end ? 0 : 1;
        records[v.id].runs.reserve_more(1);
      }
      below.reserve_more(apart);
    };
    make_room(left.holders, right.holders, slots_);
    make_room(left.owners, right.owners, sessions_);
    reserve_side(left_id, right_id);
  } catch (const std::bad_alloc&) {
    return false;
  }

  std::memcpy(left.blocks + left.end, right.blocks + right.first, right.size() * sizeof(SeqHash));
  for (uint32_t at = right.first; at < right.end; ++at) {
    table_.move(right.blocks[at], {right_id, pos(at)},
                {left_id, pos(static_cast<uint64_t>(static_cast<int>(at) + delta))});
  }
  const auto take_over = [&](IntervalList& below, const IntervalList& above, auto& records) {
    uint32_t last = UINT32_MAX;
    for (const Interval& v : above.view()) {
      if (below.add(v.id, shifted(v).begin, shifted(v).end).edge) records[v.id].runs.gained(left_id);
      if (std::exchange(last, v.id) != v.id) records[v.id].runs.lost();
    }
  };
  take_over(left.holders, right.holders, slots_);
  take_over(left.owners, right.owners, sessions_);
  left.steps = std::move(steps);
  move_side(right_id, {right.first, right.end}, left_id, delta);
  left.end = pos(left.end + right.size());
  prune_members(right);
  drop_run(right_id);
  return true;
}

void Index::drop_run(uint32_t id) {
  if (kWithBounds) sides_.drop(id);
  runs_.give(id);
}

/// Merges the runs that a call has shown to be neighbours.
void Index::merge_placed(SeqSpan seq, Parent parent) {
  bool moved = false;
  const auto try_merge = [&](BlockRef before, BlockRef after) {
    if (!before.found() || before.run == after.run) return;
    if (runs_[before.run].end != before.at + 1 || runs_[after.run].first != after.at) return;
    moved |= merge(before.run, after.run);
  };
  if (parent.kind == PredKind::kHash && placed_.front().learns) {
    try_merge(table_.find(runs_, parent.hash), {placed_.front().run, placed_.front().at});
  }
  for (size_t k = 1; k < placed_.size(); ++k) {
    const Placed &left = placed_[k - 1], &right = placed_[k];
    if (moved) {  // positions of the call are stale now
      try_merge(table_.find(runs_, seq[right.i - 1]), table_.find(runs_, seq[right.i]));
    } else {
      try_merge({left.run, pos(left.end() - 1u)}, {right.run, right.at});
    }
  }
}

/// The run that this one could be appended to.
uint32_t Index::merges_into(uint32_t id) const {
  const Run& run = runs_[id];
  if (run.pred_kind != PredKind::kHash) return kNoRun;
  const BlockRef before = table_.find(runs_, run.pred);
  if (!before.found() || before.run == id) return kNoRun;
  const Run& left = runs_[before.run];
  const bool fits = left.end == before.at + 1 && left.end + run.size() <= kMaxRun;
  return fits && owners_go_on(left, run) ? before.run : kNoRun;
}

/// Merges every run that starts behind the last block of another, from the top of each line downwards, so that no block
/// moves twice.
void Index::merge_heads() {
  std::vector<uint32_t> line;
  for (uint32_t start = 0; start < runs_.used(); ++start) {
    if (!runs_[start].live()) continue;
    line.clear();
    for (uint32_t id = start; id != kNoRun; id = merges_into(id)) line.push_back(id);
    uint32_t left = line.back();
    for (size_t k = line.size() - 1; k-- > 0;) {
      if (!merge(left, line[k])) left = line[k];
    }
  }
}

/// Forgets the runs that a slot or session has left, and repeated mentions.
void Index::prune(RunList& list, IntervalList Run::*members, uint32_t member) const {
  std::vector<uint32_t>& ids = list.ids();
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::erase_if(ids, [&](uint32_t id) { return id >= runs_.used() || !(runs_[id].*members).has(member); });
}

void Index::prune_if_overgrown(RunList& list, IntervalList Run::*members, uint32_t member) const {
  if (list.overgrown()) prune(list, members, member);
}

/// The same for everybody whom a split or a merge has brought to a run, or taken from it.
void Index::prune_members(const Run& run) {
  for (const Interval& v : run.holders.view()) prune_if_overgrown(slots_[v.id].runs, &Run::holders, v.id);
  for (const Interval& v : run.owners.view()) prune_if_overgrown(sessions_[v.id].runs, &Run::owners, v.id);
}

}  // namespace kvidx
