// Slots, and what they hold.
#include <algorithm>

#include "core/index.hpp"

namespace kvidx {

Index::Index(IndexOptions options) : options_(options), sessions_(1), history_(options.evicted_history) {}

Status Index::check(SlotRef ref) const {
  const bool alive =
      ref.slot < slots_.size() && slots_[ref.slot].live && incarnations_[ref.slot] == ref.incarnation;
  return alive ? Status::kOk : Status::kUnknownWorker;
}

SlotRef Index::add_slot() {
  uint32_t& slot = lowest_free_slot_;
  while (slot < slots_.size() && slots_[slot].live) ++slot;
  if (slot == incarnations_.size()) incarnations_.push_back(0);
  if (slot == slots_.size()) slots_.emplace_back();
  slots_[slot].live = true;
  return {slot, ++incarnations_[slot]};
}

Status Index::remove_slot(SlotRef ref) {
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  release_all(ref.slot);
  const Slot& slot = slots_[ref.slot];
  if (slot.evicted_by_capacity + slot.evicted_by_bound + slot.expired > 0) history_.forget_slot(ref.slot);
  slots_[ref.slot] = Slot{};
  while (!slots_.empty() && !slots_.back().live) slots_.pop_back();
  lowest_free_slot_ = std::min(lowest_free_slot_, ref.slot);
  return Status::kOk;
}

uint32_t Index::slot_count() const {
  return static_cast<uint32_t>(slots_.size());
}

std::vector<uint32_t> Index::slot_numbers() const {
  std::vector<uint32_t> numbers;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].live) numbers.push_back(slot);
  }
  return numbers;
}

Status Index::store(SlotRef ref, SeqSpan seq, Parent parent, double now_ms, FeedResult& result) {
  result = {};
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  if (bounded(slots_[ref.slot]) && parent.kind != PredKind::kRoot) return Status::kParentOnBounded;
  if (seq.empty()) return Status::kOk;
  if (!place(seq, parent)) {
    reject(seq, parent, result);
    return Status::kOk;
  }
  try {  // whatever may fail for want of memory, before anything changes
    prepare_hold(ref.slot, seq);
    if (counted(slots_[ref.slot])) add_copies(ref.slot);
  } catch (...) {
    roll_back(seq);
    throw;
  }
  const Call call{result, ref.slot, next_stamp_, seq.size()};
  result.orphaned = resident_path_ ? 0 : seq.size();
  result.applied = hold(ref.slot, seq, parent, now_ms);
  result.duplicate = seq.size() - result.applied;
  duplicates_ += result.duplicate;
  enforce(call);
  return Status::kOk;
}

/// Makes room for hold().
void Index::prepare_hold(uint32_t number, SeqSpan seq) {
  Slot& slot = slots_[number];
  slot.runs.reserve_more(placed_.size());
  for (const Placed& p : placed_) runs_[p.run].holders.prepare_add(number, p.at, p.end());
  if (minds_newcomers(slot)) note_newcomers(number);
  if (bounded(slot)) prepare_stamps(number);
  if (bounds_all()) prepare_stamps(kEverybody);
  // What was evicted is forgotten as soon as it comes back.
  if (history_.on()) {
    for (const CallRange& range : newcomers_) {
      for (uint64_t i = range.begin; i < range.end; ++i) history_.forget(number, seq[i]);
    }
  }
}

/// The slot holds the placed call; answers how many of its blocks are new there.
uint64_t Index::hold(uint32_t number, SeqSpan seq, Parent parent, double now_ms) {
  Slot& slot = slots_[number];
  settle(seq, parent);
  uint64_t applied = 0;
  for (const Placed& p : placed_) {
    const auto change = runs_[p.run].holders.add(number, p.at, p.end());
    applied += change.positions;
    if (change.edge) slot.runs.gained(p.run);
  }
  slot.resident += applied;
  slot.last_store_ms = now_ms;
  const uint64_t base = take_stamps(seq.size());
  if (bounded(slot)) stamp_placed(number, base, seq.size(), now_ms);
  if (bounds_all()) stamp_placed(kEverybody, base, seq.size(), 0);
  merge_placed(seq, parent);
  prune_if_overgrown(slot.runs, &Run::holders, number);
  return applied;
}

Status Index::remove(SlotRef ref, SeqSpan seq, FeedResult& result) {
  result = {};
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  Slot& slot = slots_[ref.slot];
  constexpr uint64_t kAhead = 8;
  for (uint64_t i = 0; i < seq.size();) {
    if (i + kAhead < seq.size()) table_.prefetch(seq[i + kAhead]);
    const BlockRef at = table_.find(runs_, seq[i]);
    const uint32_t n = at.found() ? match(runs_[at.run], at.at, seq.subspan(i)) : 1;
    uint64_t gone = 0;
    if (at.found()) {
      const Run& run = runs_[at.run];
      const Range range{at.at, pos(at.at + n)};
      if (result.first_bad < 0) {
        // The first block of the stretch that is not resident here.
        Pos reached = range.begin;
        for (const Interval& v : run.holders.of(ref.slot)) {
          if (v.begin <= reached && reached < v.end) reached = v.end;
        }
        if (reached < range.end) result.first_bad = static_cast<int64_t>(i) + reached - range.begin;
      }
      gone = counted(slot) ? take_copies(ref.slot, at.run, range) : release(ref.slot, at.run, {&range, 1});
    } else if (result.first_bad < 0) {
      result.first_bad = static_cast<int64_t>(i);
    }
    result.applied += gone;
    result.unknown += n - gone;
    unknown_removes_ += n - gone;
    i += n;
  }
  prune_if_overgrown(slot.runs, &Run::holders, ref.slot);
  return Status::kOk;
}

/// The slot holds these parts of the run, in rising order, no longer; answers how many of their blocks it held. The run may
/// be gone afterwards.
uint32_t Index::release(uint32_t number, uint32_t run, std::span<const Range> parts) {
  Slot& slot = slots_[number];
  uint32_t gone = 0;
  for (const Range& part : parts) {
    const auto change = runs_[run].holders.subtract(number, part.begin, part.end);
    if (change.positions == 0) continue;
    gone += change.positions;
    if (change.edge) slot.runs.lost();
    if (side(run)) forget(number, run, part);
  }
  if (gone == 0) return 0;
  slot.resident -= gone;
  bury_uncovered(run, {parts.front().begin, parts.back().end});
  return gone;
}

/// What the slot knew of blocks that it holds no longer.
void Index::forget(uint32_t number, uint32_t run, Range range) {
  cut_stamps(number, run, range);
  RunSide* beside = side(run);
  if (beside == nullptr) return;
  beside->copies.subtract(number, range.begin, range.end);
  const uint32_t unpinned = beside->pins.subtract(number, range.begin, range.end);
  slots_[number].pinned -= unpinned;
  // Others may know the blocks, and no pin may keep them from going any more.
  if (unpinned > 0 && bounds_all()) enqueue_range(kEverybody, run, range);
  sides_.drop_if_empty(run);
}

/// One copy more of every block of the placed call that the slot holds already.
void Index::add_copies(uint32_t number) {
  for (const Placed& p : placed_) {
    each_held(runs_[p.run], number, {p.at, p.end()}, [&](Pos begin, Pos end) {
      sides_.get(p.run).copies.transform(number, begin, end, [](Pos, Pos, Count count) {
        return count.n == UINT32_MAX ? count : Count{count.n + 1};
      });
    });
  }
}

/// One copy less; a block goes with its last. Answers how many copies went.
uint64_t Index::take_copies(uint32_t number, uint32_t run, Range range) {
  parts_.clear();
  uint64_t taken = 0;
  each_held(runs_[run], number, range, [&](Pos begin, Pos end) {
    RunSide* beside = side(run);
    if (beside == nullptr) {
      parts_.push_back({begin, end});
      return;
    }
    beside->copies.transform(number, begin, end, [&](Pos from, Pos to, Count count) {
      if (count.n == 0) {
        parts_.push_back({from, to});
        return count;
      }
      taken += static_cast<uint64_t>(to - from);
      return Count{count.n - 1};
    });
  });
  sides_.drop_if_empty(run);
  return taken + (parts_.empty() ? 0 : release(number, run, parts_));
}

Status Index::clear(SlotRef ref, uint64_t& removed) {
  removed = 0;
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  removed = slots_[ref.slot].resident;
  release_all(ref.slot);
  slots_[ref.slot].degraded = false;
  return Status::kOk;
}

void Index::release_all(uint32_t number) {
  Slot& slot = slots_[number];
  // No run comes to the list meanwhile: what a split moves is held by others.
  for (const uint32_t id : slot.runs.ids()) {
    if (id >= runs_.used()) continue;
    const auto held = runs_[id].holders.of(number);
    if (held.empty()) continue;
    const Range range{held.front().begin, held.back().end};
    release(number, id, {&range, 1});
  }
  slot.runs = RunList{};
  slot.queue = EvictionQueue{};
  slot.oldest_ms = std::numeric_limits<double>::infinity();
}

bool Index::resident_somewhere(BlockRef ref) const {
  for (const Interval& v : runs_[ref.run].holders.view()) {
    if (v.begin <= ref.at && ref.at < v.end) return true;
  }
  return false;
}

void Index::resident(uint32_t slot, SeqSpan seq, std::span<uint8_t> out) const {
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < seq.size(); ++i) {
    if (i + kAhead < seq.size()) table_.prefetch(seq[i + kAhead]);
    out[i] = 0;
    const BlockRef ref = table_.find(runs_, seq[i]);
    if (ref.found())
      each_held(runs_[ref.run], slot, {ref.at, pos(ref.at + 1u)}, [&](Pos, Pos) { out[i] = 1; });
  }
}

std::vector<SeqHash> Index::enumerate(uint32_t slot, bool sorted) const {
  std::vector<SeqHash> hashes;
  if (slot >= slots_.size() || !slots_[slot].live) return hashes;
  hashes.reserve(slots_[slot].resident);
  RunList list = slots_[slot].runs;
  prune(list, &Run::holders, slot);
  for (const uint32_t id : list.ids()) {
    for (const Interval& v : runs_[id].holders.of(slot)) {
      hashes.insert(hashes.end(), runs_[id].blocks + v.begin, runs_[id].blocks + v.end);
    }
  }
  if (sorted) std::sort(hashes.begin(), hashes.end());
  return hashes;
}

std::vector<SeqHash> Index::enumerate_exclusive(uint32_t slot, uint32_t session) const {
  std::vector<SeqHash> hashes;
  if (session == 0 || session >= sessions_.size()) return hashes;
  RunList list = sessions_[session].runs;
  prune(list, &Run::owners, session);
  for (const uint32_t id : list.ids()) {
    const Run& run = runs_[id];
    Pos begin = run.first;
    run.each_step([&](const OwnerStep& step) {
      if (step.count == 1 && step.owners_xor == session) {
        each_held(run, slot, {begin, step.end},
                  [&](Pos from, Pos to) { hashes.insert(hashes.end(), run.blocks + from, run.blocks + to); });
      }
      begin = step.end;
    });
  }
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

SlotFigures Index::slot_figures(uint32_t slot) const {
  return slot < slots_.size() ? static_cast<const SlotFigures&>(slots_[slot]) : SlotFigures{};
}

}  // namespace kvidx
