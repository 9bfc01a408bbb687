#include "test/twin.hpp"

namespace kvidx {

// Slots
// -----------------------------------------------------------------------------------------------------------

SlotRef Twin::add_slot() {
  uint32_t slot = 0;
  while (slots_.contains(slot)) ++slot;
  slots_[slot] = {};
  if (slot == incarnations_.size()) incarnations_.push_back(0);
  return {slot, ++incarnations_[slot]};
}

Status Twin::remove_slot(SlotRef ref) {
  uint64_t removed;
  if (clear(ref, removed) != Status::kOk) return Status::kUnknownWorker;
  slots_.erase(ref.slot);
  forget_evictions(ref.slot);
  return Status::kOk;
}

Twin::Slot* Twin::live(SlotRef ref) {
  const auto it = slots_.find(ref.slot);
  return it != slots_.end() && incarnations_[ref.slot] == ref.incarnation ? &it->second : nullptr;
}

// Residency
// -------------------------------------------------------------------------------------------------------

Status Twin::store(SlotRef ref, SeqSpan seq, Parent parent, double now_ms, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  if (slot->refuses(parent)) return Status::kParentOnBounded;
  if (seq.empty() || refuses(seq, parent, result)) return Status::kOk;
  Call call{result, ref.slot, slot};
  for (size_t i = 0; i < seq.size(); ++i) {
    if (!slot->blocks.contains(seq[i])) call.fresh[seq[i]] = static_cast<int64_t>(i);
  }
  hold(ref.slot, seq, parent, now_ms);
  slot->figures.last_store_ms = now_ms;
  result.applied = call.fresh.size();
  result.duplicate = seq.size() - result.applied;
  duplicates_ += result.duplicate;
  if (!has_resident_path(seq[0])) result.orphaned = seq.size();
  enforce(call);
  return Status::kOk;
}

Status Twin::remove(SlotRef ref, SeqSpan seq, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  for (size_t i = 0; i < seq.size(); ++i) {
    const auto held = slot->blocks.find(seq[i]);
    if (held != slot->blocks.end()) {
      if (--held->second.copies == 0) release(*slot, seq[i]);
      ++result.applied;
    } else {
      if (result.unknown == 0) result.first_bad = static_cast<int64_t>(i);
      ++result.unknown;
    }
  }
  unknown_removes_ += result.unknown;
  return Status::kOk;
}

Status Twin::replace(SlotRef ref, std::span<const ToldChain> chains, double now_ms, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  for (const ToldChain& chain : chains) {
    if (!chain.seq.empty() && slot->refuses(chain.parent)) return Status::kParentOnBounded;
  }
  Call call{result, ref.slot, slot};
  std::set<SeqHash> named;
  for (size_t i = 0; i < chains.size(); ++i) {
    const auto& [seq, parent] = chains[i];
    if (seq.empty()) continue;
    if (first_bad(seq, parent) >= 0) {
      if (result.rejected == 0) result.first_bad = static_cast<int64_t>(i);
      result.rejected += seq.size();
      rejected_ += seq.size();
      continue;
    }
    for (const SeqHash h : seq) {
      named.insert(h);
      if (!slot->blocks.contains(h)) call.fresh[h] = -1;
    }
    hold(ref.slot, seq, parent, now_ms);
    if (!has_resident_path(seq[0])) result.orphaned += seq.size();
  }
  for (const SeqHash h : enumerate(ref.slot)) {
    if (!named.contains(h)) release(*slot, h);
  }
  for (auto& [_, held] : slot->blocks) held.copies = 1;
  slot->figures.last_store_ms = now_ms;
  slot->figures.degraded = false;
  result.applied = call.fresh.size();
  enforce(call);
  return Status::kOk;
}

Status Twin::clear(SlotRef ref, uint64_t& removed) {
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  removed = slot->blocks.size();
  for (const SeqHash h : enumerate(ref.slot)) release(*slot, h);
  slot->figures.degraded = false;
  return Status::kOk;
}

/// What an accepted chain does to a slot, bounds aside.
void Twin::hold(uint32_t number, SeqSpan seq, Parent parent, double now_ms) {
  Slot& slot = slots_.at(number);
  tell(seq, parent);
  for (const SeqHash h : seq) {
    const auto [held, is_new] = slot.blocks.try_emplace(h);
    if (is_new) {
      ++blocks_.at(h).holders;
      forget_eviction({number, h});
    } else if (slot.figures.mode == SlotMode::kCounted) {
      ++held->second.copies;
    }
  }
  stamp(seq, &slot, now_ms);
}

void Twin::release(Slot& slot, SeqHash h) {
  slot.by_stamp.erase(slot.blocks.at(h).stamp);
  slot.blocks.erase(h);
  slot.pins.erase(h);
  --blocks_.at(h).holders;
  forget_unknown(h);
}

// Ownership
// -------------------------------------------------------------------------------------------------------

uint32_t Twin::own(uint32_t session, SeqSpan seq, double now_ms, FeedResult& result) {
  result = {};
  const bool present = sessions_.contains(session);
  if (seq.empty() || refuses(seq, Parent::root(), result)) return present ? session : 0;
  if (!present) {
    session = 1;
    while (sessions_.contains(session)) ++session;
  }
  Session& owner = sessions_[session];
  owner.last_own_ms = now_ms;
  recency_.remove(session);
  recency_.push_back(session);
  tell(seq, Parent::root());
  Call call{result};
  for (size_t i = 0; i < seq.size(); ++i) {
    if (!owner.blocks.insert(seq[i]).second) continue;
    ++blocks_.at(seq[i]).owners;
    call.fresh[seq[i]] = static_cast<int64_t>(i);
  }
  stamp(seq, nullptr, now_ms);
  result.applied = call.fresh.size();
  result.duplicate = seq.size() - result.applied;
  if (options_.max_sessions > 0 && sessions_.size() > options_.max_sessions) {
    result.ended_session = recency_.front();
    end_session(result.ended_session);
  }
  enforce(call);
  return session;
}

uint64_t Twin::end_session(uint32_t session) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return 0;
  const std::set<SeqHash> owned = it->second.blocks;
  for (const SeqHash h : owned) disown(it->second, h);
  sessions_.erase(it);
  recency_.remove(session);
  return owned.size();
}

std::vector<uint32_t> Twin::end_idle_sessions(double cutoff_ms) {
  std::vector<uint32_t> idle;
  for (const auto& [number, session] : sessions_) {
    if (session.last_own_ms <= cutoff_ms) idle.push_back(number);
  }
  for (const uint32_t number : idle) end_session(number);
  return idle;
}

void Twin::disown(Session& session, SeqHash h) {
  session.blocks.erase(h);
  --blocks_.at(h).owners;
  forget_unknown(h);
}

}  // namespace kvidx
