// Bounds: a slot's capacity and ttl, and a bound of the whole index. What has to go goes oldest first, by stretches of blocks.
#include <algorithm>
#include <functional>

#include "core/index.hpp"

namespace kvidx {

Status Index::set_capacity(SlotRef ref, uint32_t blocks, double ttl_ms, FeedResult& result) {
  result = {};
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  Slot& slot = slots_[ref.slot];
  if (slot.mode == SlotMode::kCounted || !kWithBounds) return Status::kOtherMode;
  if (slot.mode == SlotMode::kPlain && slot.resident > 0) return Status::kNotEmpty;
  if (slot.pinned > blocks) return Status::kPinned;
  slot.mode = SlotMode::kBounded;
  slot.capacity = blocks;
  slot.ttl_ms = ttl_ms;
  enforce({result, ref.slot});
  return Status::kOk;
}

Status Index::count_references(SlotRef ref) {
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  Slot& slot = slots_[ref.slot];
  if (slot.mode == SlotMode::kCounted) return Status::kOk;
  if (slot.mode == SlotMode::kBounded || !kWithBounds) return Status::kOtherMode;
  if (slot.resident > 0) return Status::kNotEmpty;
  slot.mode = SlotMode::kCounted;
  return Status::kOk;
}

/// What the call that is being placed will make resident on the slot.
void Index::note_newcomers(uint32_t slot) {
  newcomers_.clear();
  for (const Placed& p : placed_) {
    uint64_t from = p.i;
    each_held(runs_[p.run], slot, {p.at, p.end()}, [&](Pos begin, Pos end) {
      const uint64_t at = p.i + static_cast<uint64_t>(begin - p.at);
      if (from < at) newcomers_.push_back({from, at});
      from = at + static_cast<uint64_t>(end - begin);
    });
    if (from < p.i + p.n) newcomers_.push_back({from, p.i + p.n});
  }
}

/// Did the call bring this block, and is it still where the call brought it?
bool Index::is_new(const Call& call, uint32_t run, Pos at, uint64_t stamp) const {
  if (stamp < call.base) return false;
  if (call.slot != kEverybody) {
    bool held = false;
    each_held(runs_[run], call.slot, {at, pos(at + 1u)}, [&held](Pos, Pos) { held = true; });
    if (!held) return false;
  }
  if (call.before)
    return !std::binary_search(call.before->begin(), call.before->end(), runs_[run].blocks[at]);
  const uint64_t i = call.base + (call.n - 1) - stamp;
  const auto range = std::upper_bound(newcomers_.begin(), newcomers_.end(), i,
                                      [](uint64_t at, const CallRange& r) { return at < r.end; });
  return range != newcomers_.end() && range->begin <= i;
}

/// Counts those of the victims as rejected that the call itself has brought; answers them, falling.
std::vector<Pos> Index::reject_new(const Victims& victims, Call* call) {
  std::vector<Pos> fresh;
  if (call == nullptr || victims.stamp < call->base) return fresh;
  for (Pos at = victims.range.end; at-- > victims.range.begin;) {
    const uint64_t stamp = victims.stamp - static_cast<uint64_t>(at - victims.range.begin);
    if (!is_new(*call, victims.run, at, stamp)) continue;
    fresh.push_back(at);
    if (call->before) continue;
    const auto i = static_cast<int64_t>(call->base + (call->n - 1) - stamp);
    int64_t& first_bad = call->result.first_bad;
    first_bad = first_bad < 0 ? i : std::min(first_bad, i);
  }
  call->result.applied -= fresh.size();
  call->result.rejected += fresh.size();
  rejected_ += fresh.size();
  return fresh;
}

/// After a call: first its slot's bound, then that of the whole index.
void Index::enforce(Call call) {
  if (call.slot != kEverybody && bounded(slots_[call.slot])) {
    const Slot& slot = slots_[call.slot];
    while (slot.resident > slot.capacity) {
      evict_resident(call.slot, next_victims(call.slot, slot.resident - slot.capacity), Cause::kCapacity,
                     &call);
    }
  }
  enforce_known(&call);
}

void Index::enforce_known(Call* call) {
  if (!bounds_all()) return;
  while (table_.size() > options_.max_blocks) {
    evict_known(next_victims(kEverybody, table_.size() - options_.max_blocks), call);
  }
}

void Index::evict_resident(uint32_t number, const Victims& victims, Cause cause, Call* call) {
  const std::vector<Pos> fresh = reject_new(victims, call);
  const uint64_t old = static_cast<uint64_t>(victims.range.end - victims.range.begin) - fresh.size();
  Slot& slot = slots_[number];
  (cause == Cause::kTtl ? slot.expired : slot.evicted_by_capacity) += old;
  (cause == Cause::kTtl ? expired_ : evicted_by_capacity_) += old;
  if (call) call->result.evicted += old;
  if (history_.on()) {
    for (Pos at = victims.range.end; at-- > victims.range.begin;) {
      if (!std::binary_search(fresh.begin(), fresh.end(), at, std::greater<>()))
        history_.record(number, runs_[victims.run].blocks[at], cause);
    }
  }
  release(number, victims.run, {&victims.range, 1});
}

/// Every slot and every owner loses the victims.
void Index::evict_known(const Victims& victims, Call* call) {
  const Range range = victims.range;
  const std::vector<Pos> fresh = reject_new(victims, call);
  const uint64_t old = static_cast<uint64_t>(range.end - range.begin) - fresh.size();
  evicted_by_bound_ += old;
  if (call) call->result.evicted += old;

  Run& run = runs_[victims.run];
  const uint32_t storing = call ? call->slot : kEverybody;
  std::vector<Interval> holders;
  for (const Interval& v : run.holders.view()) {
    const Pos begin = std::max(v.begin, range.begin), end = std::min(v.end, range.end);
    if (begin < end) holders.push_back({v.id, begin, end});
  }
  if (history_.on()) {
    for (Pos at = range.end; at-- > range.begin;) {
      const bool is_fresh = std::binary_search(fresh.begin(), fresh.end(), at, std::greater<>());
      for (const Interval& v : holders) {
        if (v.begin <= at && at < v.end && !(is_fresh && v.id == storing))
          history_.record(v.id, run.blocks[at], Cause::kBound);
      }
    }
  }
  for (const Interval& v : holders) {
    Slot& slot = slots_[v.id];
    slot.evicted_by_bound += static_cast<uint64_t>(v.end - v.begin);
    if (!bounded(slot)) slot.degraded = true;
    slot.resident -= static_cast<uint64_t>(v.end - v.begin);
    if (run.holders.subtract(v.id, v.begin, v.end).edge) slot.runs.lost();
    forget(v.id, victims.run, {v.begin, v.end});
  }
  if (storing != kEverybody) slots_[storing].evicted_by_bound -= fresh.size();

  // Heads are named as often as tails, so that nearly always what is owned ends here. Else the blocks behind stay owned, and
  // after the split they are the beginning of a run.
  std::vector<Interval> behind;
  std::vector<OwnerStep> steps;
  const SeqHash next = range.end < run.end ? run.blocks[range.end] : SeqHash{};
  if (run.owned_end() > range.begin) disown(victims.run, range, behind, steps);
  ranges_.assign(1, range);
  bury(victims.run);
  if (!behind.empty()) attach_owners(table_.find(runs_, next).run, behind, steps);
}

uint64_t Index::expire(double now_ms) {
  uint64_t gone = 0;
  std::vector<EvictionQueue::Entry> kept;
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    if (!slot.live || slot.ttl_ms == 0 || now_ms - slot.oldest_ms < slot.ttl_ms) continue;
    const uint64_t before = slot.expired;
    kept.clear();
    kept.reserve(slot.queue.view().size());
    slot.oldest_ms = std::numeric_limits<double>::infinity();
    // A clock may have gone back, so the order of stamps is not that of times: every item is looked at.
    while (!slot.queue.empty()) {
      const EvictionQueue::Entry entry = slot.queue.pop();
      const StampItem* item = queued(number, entry);
      if (item == nullptr) continue;
      if (now_ms - item->value.ms < slot.ttl_ms) {
        slot.oldest_ms = std::min(slot.oldest_ms, item->value.ms);
        kept.push_back(entry);
        continue;
      }
      const Range free = last_unpinned(number, entry.run, {item->begin, item->end});
      if (free.begin == free.end) continue;  // queued again when a pin goes
      const uint64_t order = item->value.advanced(static_cast<uint32_t>(free.begin - item->begin)).order;
      evict_resident(number, {entry.run, free, order}, Cause::kTtl, nullptr);
    }
    slot.queue.put(kept);  // what a split moves meanwhile comes out of order
    gone += slot.expired - before;
  }
  return gone;
}

Cause Index::evicted_by(uint32_t slot, SeqHash hash) const {
  return history_.find(slot, hash);
}

}  // namespace kvidx
