// Slots, and what they hold.
#include <algorithm>

#include "core/index.hpp"

namespace kvidx {

Index::Index(IndexOptions options) : options_(options), sessions_(1) {}

Status Index::check(SlotRef ref) const {
  const bool alive =
      ref.slot < slots_.size() && slots_[ref.slot].live && slots_[ref.slot].incarnation == ref.incarnation;
  return alive ? Status::kOk : Status::kUnknownWorker;
}

SlotRef Index::add_slot() {
  uint32_t& slot = lowest_free_slot_;
  while (slot < slots_.size() && slots_[slot].live) ++slot;
  if (slot == slots_.size()) slots_.emplace_back();
  const uint32_t incarnation = slots_[slot].incarnation + 1;
  slots_[slot] = Slot{};
  slots_[slot].live = true;
  slots_[slot].incarnation = incarnation;
  return {slot, incarnation};
}

Status Index::remove_slot(SlotRef ref) {
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  release_all(ref.slot);
  const uint32_t incarnation = slots_[ref.slot].incarnation;
  slots_[ref.slot] = Slot{};
  slots_[ref.slot].incarnation = incarnation;
  lowest_free_slot_ = std::min(lowest_free_slot_, ref.slot);
  return Status::kOk;
}

uint32_t Index::slot_count() const {
  size_t n = slots_.size();
  while (n > 0 && !slots_[n - 1].live) --n;
  return static_cast<uint32_t>(n);
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
  if (seq.empty()) return Status::kOk;
  if (!place(seq, parent)) {
    reject(seq, parent, result);
    return Status::kOk;
  }
  Slot& slot = slots_[ref.slot];
  try {  // whatever may fail for want of memory, before anything changes
    slot.runs.reserve_more(placed_.size());
    for (const Placed& p : placed_) runs_[p.run].holders.prepare_add(ref.slot, p.at, p.end());
  } catch (...) {
    roll_back(seq);
    throw;
  }
  settle(seq, parent);
  for (const Placed& p : placed_) {
    const auto change = runs_[p.run].holders.add(ref.slot, p.at, p.end());
    result.applied += change.positions;
    if (change.edge) slot.runs.gained(p.run);
  }
  result.duplicate = seq.size() - result.applied;
  result.orphaned = resident_path_ ? 0 : seq.size();
  duplicates_ += result.duplicate;
  slot.resident += result.applied;
  slot.last_store_ms = now_ms;
  merge_placed(seq, parent);
  prune_if_overgrown(slot.runs, &Run::holders, ref.slot);
  return Status::kOk;
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
    uint32_t gone = 0;
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
      gone = release(slot, ref.slot, at.run, range);
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

/// The slot holds [range) of the run no longer; answers how many of its blocks it held. The run may be gone afterwards.
uint32_t Index::release(Slot& slot, uint32_t number, uint32_t run, Range range) {
  const auto change = runs_[run].holders.subtract(number, range.begin, range.end);
  if (change.positions == 0) return 0;
  slot.resident -= change.positions;
  if (change.edge) slot.runs.lost();
  bury_uncovered(run, range);
  return change.positions;
}

Status Index::clear(SlotRef ref, uint64_t& removed) {
  removed = 0;
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  removed = slots_[ref.slot].resident;
  release_all(ref.slot);
  return Status::kOk;
}

void Index::release_all(uint32_t number) {
  Slot& slot = slots_[number];
  // No run comes to the list meanwhile: what a split moves is held by others.
  for (const uint32_t id : slot.runs.ids()) {
    if (id >= runs_.used()) continue;
    const auto held = runs_[id].holders.of(number);
    if (!held.empty()) release(slot, number, id, {held.front().begin, held.back().end});
  }
  slot.runs = RunList{};
}

bool Index::resident_somewhere(BlockRef ref) const {
  for (const Interval& v : runs_[ref.run].holders.view()) {
    if (v.begin <= ref.at && ref.at < v.end) return true;
  }
  return false;
}

std::vector<SeqHash> Index::enumerate(uint32_t slot) const {
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
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

uint64_t Index::resident_blocks(uint32_t slot) const {
  return slot < slots_.size() ? slots_[slot].resident : 0;
}

double Index::last_store_ms(uint32_t slot) const {
  return slot < slots_.size() ? slots_[slot].last_store_ms : -1;
}

}  // namespace kvidx
