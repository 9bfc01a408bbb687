#include "test/twin.hpp"

#include <algorithm>

namespace kvidx {

namespace {
constexpr uint32_t kWholeBlock = 1u << 20;
}

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
  return Status::kOk;
}

uint32_t Twin::slot_count() const {
  return slots_.empty() ? 0 : slots_.rbegin()->first + 1;
}

std::vector<uint32_t> Twin::slot_numbers() const {
  std::vector<uint32_t> numbers;
  for (const auto& [slot, _] : slots_) numbers.push_back(slot);
  return numbers;
}

std::vector<SeqHash> Twin::enumerate(uint32_t slot) const {
  const auto& blocks = slots_.at(slot).blocks;
  return {blocks.begin(), blocks.end()};
}

uint64_t Twin::resident_blocks(uint32_t slot) const {
  return slots_.at(slot).blocks.size();
}

double Twin::last_store_ms(uint32_t slot) const {
  return slots_.at(slot).last_store_ms;
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
  if (seq.empty() || refuses(seq, parent, result)) return Status::kOk;
  slot->last_store_ms = now_ms;
  tell(seq, parent);
  for (const SeqHash h : seq) {
    if (!slot->blocks.insert(h).second) continue;
    ++blocks_.at(h).holders;
    ++result.applied;
  }
  result.duplicate = seq.size() - result.applied;
  duplicates_ += result.duplicate;
  if (!has_resident_path(seq[0])) result.orphaned = seq.size();
  return Status::kOk;
}

Status Twin::remove(SlotRef ref, SeqSpan seq, FeedResult& result) {
  result = {};
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  for (size_t i = 0; i < seq.size(); ++i) {
    if (slot->blocks.erase(seq[i]) == 1) {
      unhold(seq[i]);
      ++result.applied;
    } else {
      if (result.unknown == 0) result.first_bad = static_cast<int64_t>(i);
      ++result.unknown;
    }
  }
  unknown_removes_ += result.unknown;
  return Status::kOk;
}

Status Twin::clear(SlotRef ref, uint64_t& removed) {
  Slot* slot = live(ref);
  if (!slot) return Status::kUnknownWorker;
  removed = slot->blocks.size();
  for (const SeqHash h : slot->blocks) unhold(h);
  slot->blocks.clear();
  return Status::kOk;
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
  for (const SeqHash h : seq) {
    if (!owner.blocks.insert(h).second) continue;
    ++blocks_.at(h).owners;
    ++result.applied;
  }
  result.duplicate = seq.size() - result.applied;
  if (options_.max_sessions > 0 && sessions_.size() > options_.max_sessions) {
    result.ended_session = recency_.front();
    end_session(result.ended_session);
  }
  return session;
}

uint64_t Twin::end_session(uint32_t session) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return 0;
  for (const SeqHash h : it->second.blocks) {
    --blocks_.at(h).owners;
    forget_unknown(h);
  }
  const uint64_t owned = it->second.blocks.size();
  sessions_.erase(it);
  recency_.remove(session);
  return owned;
}

std::vector<uint32_t> Twin::end_idle_sessions(double cutoff_ms) {
  std::vector<uint32_t> idle;
  for (const auto& [number, session] : sessions_) {
    if (session.last_own_ms <= cutoff_ms) idle.push_back(number);
  }
  for (const uint32_t number : idle) end_session(number);
  return idle;
}

// Predecessors
// ----------------------------------------------------------------------------------------------------

bool Twin::refuses(SeqSpan seq, Parent parent, FeedResult& result) {
  result.first_bad = first_bad(seq, parent);
  if (result.first_bad < 0) return false;
  result.rejected = seq.size();
  rejected_ += seq.size();
  return true;
}

int64_t Twin::first_bad(SeqSpan seq, Parent parent) const {
  const Parent unknown = Parent::unknown();
  Parent told = parent;
  for (size_t i = 0; i < seq.size(); ++i) {
    const auto it = blocks_.find(seq[i]);
    if (it != blocks_.end()) {
      const Parent& known = it->second.predecessor;
      if (told != unknown && known != unknown && told != known) return static_cast<int64_t>(i);
    }
    told = Parent::of(seq[i]);
  }
  std::set<SeqHash> in_call;
  for (size_t i = 0; i < seq.size(); ++i) {
    if (!in_call.insert(seq[i]).second) return static_cast<int64_t>(i);
  }
  // A call tells one path: it closes a cycle exactly when the way up from its first block comes back to it.
  Parent up = parent;
  if (up == unknown && blocks_.contains(seq[0])) up = blocks_.at(seq[0]).predecessor;
  while (up.kind == PredKind::kHash) {
    if (in_call.contains(up.hash)) return 0;
    const auto it = blocks_.find(up.hash);
    if (it == blocks_.end()) break;
    up = it->second.predecessor;
  }
  return -1;
}

void Twin::tell(SeqSpan seq, Parent parent) {
  Parent told = parent;
  for (const SeqHash h : seq) {
    const auto [it, is_new] = blocks_.try_emplace(h, Block{told});
    if (!is_new && told != Parent::unknown()) it->second.predecessor = told;
    told = Parent::of(h);
  }
}

void Twin::unhold(SeqHash h) {
  --blocks_.at(h).holders;
  forget_unknown(h);
}

void Twin::forget_unknown(SeqHash h) {
  const auto it = blocks_.find(h);
  if (it->second.holders == 0 && it->second.owners == 0) blocks_.erase(it);
}

bool Twin::is_resident(SeqHash h) const {
  const auto it = blocks_.find(h);
  return it != blocks_.end() && it->second.holders > 0;
}

bool Twin::has_resident_path(SeqHash h) const {
  Parent up = blocks_.at(h).predecessor;
  while (up.kind == PredKind::kHash) {
    if (!is_resident(up.hash)) return false;
    up = blocks_.at(up.hash).predecessor;
  }
  return up == Parent::root();
}

// Queries
// ---------------------------------------------------------------------------------------------------------

template <class Worth, class Out>
void Twin::sum_counted(SeqSpan seq, Mode mode, Worth worth, std::span<Out> out) const {
  std::fill(out.begin(), out.end(), Out{0});
  for (const auto& [number, slot] : slots_) {
    for (const SeqHash h : seq) {
      if (slot.blocks.contains(h)) {
        out[number] += static_cast<Out>(worth(h, blocks_.at(h).owners));
      } else if (mode == Mode::kPrefix) {
        break;
      }
    }
  }
}

void Twin::overlap(SeqSpan seq, Mode mode, std::span<uint32_t> out) const {
  sum_counted(
      seq, mode, [](SeqHash, uint32_t) { return 1u; }, out);
}

void Twin::exclusive_overlap(uint32_t session, SeqSpan seq, Mode mode, uint32_t max_owners,
                             std::span<uint32_t> out) const {
  const auto owner = sessions_.find(session);
  const auto worth = [&](SeqHash h, uint32_t owners) -> uint32_t {
    if (max_owners > 1) return owners >= 1 && owners <= max_owners ? 1 : 0;
    return owners == 1 && owner != sessions_.end() && owner->second.blocks.contains(h) ? 1 : 0;
  };
  sum_counted(seq, mode, worth, out);
}

void Twin::fair_overlap(SeqSpan seq, std::span<double> out) const {
  const auto worth = [](SeqHash, uint32_t owners) { return kWholeBlock / std::max(owners, 1u); };
  sum_counted(seq, Mode::kPrefix, worth, out);
}

IndexStats Twin::stats() const {
  IndexStats stats;
  stats.blocks = blocks_.size();
  stats.slots = slots_.size();
  stats.sessions = sessions_.size();
  stats.duplicates = duplicates_;
  stats.unknown_removes = unknown_removes_;
  stats.rejected = rejected_;
  for (const auto& [_, block] : blocks_) {
    const Parent& up = block.predecessor;
    const bool hangs = up.kind == PredKind::kHash ? !is_resident(up.hash) : up == Parent::unknown();
    if (block.holders > 0 && hangs) ++stats.orphans;
  }
  return stats;
}

Twin Twin::restored_over(const Twin& before) const {
  Twin twin = *this;
  twin.incarnations_.resize(std::max(incarnations_.size(), before.incarnations_.size()));
  for (size_t slot = 0; slot < twin.incarnations_.size(); ++slot) {
    uint32_t& incarnation = twin.incarnations_[slot];
    if (slot < before.incarnations_.size()) incarnation = std::max(incarnation, before.incarnations_[slot]);
    ++incarnation;
  }
  return twin;
}

}  // namespace kvidx
