// Bounded, counted and pinned slots, stamps, max_blocks, and what is remembered of evictions.
#include <cassert>

#include "test/twin.hpp"

namespace kvidx {

Status Twin::set_capacity(SlotRef ref, uint32_t blocks, double ttl_ms, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  SlotFigures& figures = slot->figures;
  if (figures.mode == SlotMode::kCounted) return Status::kOtherMode;
  if (figures.mode == SlotMode::kPlain && !slot->blocks.empty()) return Status::kNotEmpty;
  if (slot->pins.size() > blocks) return Status::kPinned;
  figures.mode = SlotMode::kBounded;
  figures.capacity = blocks;
  figures.ttl_ms = ttl_ms;
  enforce({result, ref.slot, slot});
  return Status::kOk;
}

Status Twin::count_references(SlotRef ref) {
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  SlotMode& mode = slot->figures.mode;
  if (mode == SlotMode::kBounded) return Status::kOtherMode;
  if (mode == SlotMode::kPlain && !slot->blocks.empty()) return Status::kNotEmpty;
  mode = SlotMode::kCounted;
  return Status::kOk;
}

// Stamps
// ----------------------------------------------------------------------------------------------------------

Status Twin::refresh(SlotRef ref, SeqSpan seq, double now_ms, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  for (size_t i = 0; i < seq.size(); ++i) {
    if (slot->blocks.contains(seq[i])) {
      ++result.applied;
    } else {
      if (result.unknown == 0) result.first_bad = static_cast<int64_t>(i);
      ++result.unknown;
    }
  }
  stamp(seq, slot, now_ms);
  return Status::kOk;
}

/// One call: its blocks that the slot holds (all of them, without a slot) are stamped. A hash that is named twice keeps
/// the stamp of its first place, the higher one.
void Twin::stamp(SeqSpan seq, Slot* slot, double now_ms) {
  const auto set = [this](ByStamp& by_stamp, uint64_t& stamp, SeqHash h) {
    by_stamp.erase(stamp);
    stamp = next_stamp_;
    by_stamp[stamp] = h;
  };
  for (size_t i = seq.size(); i-- > 0; ++next_stamp_) {
    const SeqHash h = seq[i];
    if (slot && !slot->blocks.contains(h)) continue;
    if (slot && slot->is_bounded()) {
      Held& held = slot->blocks.at(h);
      set(slot->by_stamp, held.stamp, h);
      held.stamp_ms = now_ms;
    }
    if (options_.max_blocks > 0) set(by_stamp_, blocks_.at(h).stamp, h);
  }
}

// Pins
// ------------------------------------------------------------------------------------------------------------

Status Twin::pin(SlotRef ref, SeqSpan seq, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  for (size_t i = 0; i < seq.size(); ++i) {
    if (slot->blocks.contains(seq[i])) {
      ++slot->pins[seq[i]];
      ++result.applied;
    } else {
      if (result.unknown == 0) result.first_bad = static_cast<int64_t>(i);
      ++result.unknown;
    }
  }
  return Status::kOk;
}

Status Twin::unpin(SlotRef ref, SeqSpan seq, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  for (size_t i = 0; i < seq.size(); ++i) {
    const auto pinned = slot->pins.find(seq[i]);
    if (pinned != slot->pins.end()) {
      if (--pinned->second == 0) slot->pins.erase(pinned);
      ++result.applied;
    } else {
      if (result.unknown == 0) result.first_bad = static_cast<int64_t>(i);
      ++result.unknown;
    }
  }
  return Status::kOk;
}

bool Twin::is_pinned(SeqHash h) const {
  for (const auto& [_, slot] : slots_) {
    if (slot.pins.contains(h)) return true;
  }
  return false;
}

// Eviction
// --------------------------------------------------------------------------------------------------------

void Twin::enforce(Call call) {
  if (call.slot && call.slot->is_bounded()) enforce_capacity(call);
  if (options_.max_blocks > 0) enforce_max_blocks(call);
}

void Twin::enforce_capacity(Call& call) {
  Slot& slot = *call.slot;
  for (auto oldest = slot.by_stamp.begin(); slot.blocks.size() > slot.figures.capacity;) {
    assert(oldest != slot.by_stamp.end());
    const SeqHash victim = (oldest++)->second;
    if (slot.pins.contains(victim)) continue;
    release(slot, victim);
    if (take_back(call, victim)) continue;
    ++call.result.evicted;
    ++evicted_by_capacity_;
    ++slot.figures.evicted_by_capacity;
    remember(call.number, victim, Cause::kCapacity);
  }
}

void Twin::enforce_max_blocks(Call& call) {
  for (auto oldest = by_stamp_.begin(); blocks_.size() > options_.max_blocks;) {
    assert(oldest != by_stamp_.end());
    const SeqHash victim = (oldest++)->second;
    if (is_pinned(victim)) continue;
    const bool is_new = take_back(call, victim);
    if (!is_new) {
      ++call.result.evicted;
      ++evicted_by_bound_;
    }
    for (auto& [number, slot] : slots_) {
      if (!slot.blocks.contains(victim)) continue;
      release(slot, victim);
      if (!slot.is_bounded()) slot.figures.degraded = true;
      if (is_new && &slot == call.slot) continue;
      ++slot.figures.evicted_by_bound;
      remember(number, victim, Cause::kBound);
    }
    for (auto& [_, session] : sessions_) {
      if (session.blocks.contains(victim)) disown(session, victim);
    }
  }
}

/// Is the victim one of the call's own new blocks? Then the call is told that it was rejected.
bool Twin::take_back(Call& call, SeqHash victim) {
  const auto fresh = call.fresh.find(victim);
  if (fresh == call.fresh.end()) return false;
  const int64_t position = fresh->second;
  call.fresh.erase(fresh);
  ++call.result.rejected;
  --call.result.applied;
  ++rejected_;
  int64_t& first_bad = call.result.first_bad;
  if (position >= 0 && (first_bad < 0 || position < first_bad)) first_bad = position;
  return true;
}

uint64_t Twin::expire(double now_ms) {
  uint64_t expired = 0;
  for (auto& [number, slot] : slots_) {
    if (slot.figures.ttl_ms > 0) expired += expire(number, slot, now_ms);
  }
  expired_ += expired;
  return expired;
}

uint64_t Twin::expire(uint32_t number, Slot& slot, double now_ms) {
  uint64_t expired = 0;
  for (auto oldest = slot.by_stamp.begin(); oldest != slot.by_stamp.end();) {
    const SeqHash h = (oldest++)->second;
    if (slot.pins.contains(h) || now_ms - slot.blocks.at(h).stamp_ms < slot.figures.ttl_ms) continue;
    release(slot, h);
    remember(number, h, Cause::kTtl);
    ++expired;
  }
  slot.figures.expired += expired;
  return expired;
}

// What is remembered
// ----------------------------------------------------------------------------------------------

void Twin::remember(uint32_t slot, SeqHash h, Cause cause) {
  const SlotBlock key{slot, h};
  forget_eviction(key);
  evicted_[key] = {next_eviction_, cause};
  evicted_by_age_[next_eviction_++] = key;
  if (evicted_.size() > options_.evicted_history) forget_eviction(evicted_by_age_.begin()->second);
}

void Twin::forget_eviction(SlotBlock key) {
  const auto it = evicted_.find(key);
  if (it == evicted_.end()) return;
  evicted_by_age_.erase(it->second.number);
  evicted_.erase(it);
}

void Twin::forget_evictions(uint32_t slot) {
  for (const SlotBlock& key : evicted()) {
    if (key.first == slot) forget_eviction(key);
  }
}

Cause Twin::evicted_by(uint32_t slot, SeqHash h) const {
  const auto it = evicted_.find({slot, h});
  return it == evicted_.end() ? Cause::kNone : it->second.cause;
}

std::vector<std::pair<uint32_t, SeqHash>> Twin::evicted() const {
  std::vector<SlotBlock> keys;
  for (const auto& [_, key] : evicted_by_age_) keys.push_back(key);
  return keys;
}

}  // namespace kvidx
