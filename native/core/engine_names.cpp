#include "core/engine_names.hpp"

#include <algorithm>

#include "core/xxh64.hpp"

namespace kvidx {

namespace {

/// How far ahead a name's place is asked for.
constexpr size_t kAhead = 24;
/// Names beyond twice the resident blocks that are kept without a look.
constexpr uint64_t kSlack = 4096;

}  // namespace

Status EngineNames::apply(Index& index, const EngineCall& told, EngineResult& result) {
  result = {};
  for (const SlotRef& slot : told.slots) {
    if (slot.incarnation != 0 && index.incarnation(slot.slot) != slot.incarnation)
      return Status::kUnknownWorker;
  }
  for (const SlotRef& slot : told.slots) {
    if (slot.incarnation != 0 && index.slot_figures(slot.slot).mode == SlotMode::kBounded)
      return Status::kOtherMode;
  }
  const Call call{index, told, result};
  asked_ = 0;
  for (size_t i = told.first; i < told.end; ++i) {
    const EventRow row = told.row(i);
    if (is_left_out(row)) continue;
    if (row.kind == EventKind::kCleared) {
      clear(call);
      continue;
    }
    const auto name_at = static_cast<size_t>(row.hash_at), blocks = static_cast<size_t>(row.blocks);
    const Event event{static_cast<size_t>(row.tier), name_at, told.columns.hashes.subspan(name_at, blocks)};
    if (row.kind == EventKind::kRemoved) {
      remove(call, event);
    } else if (row.tokens == 0) {
      store_by_name(call, event);
    } else {
      store(call, event, row.parent_at,
            told.columns.tokens.subspan(static_cast<size_t>(row.token_at), static_cast<size_t>(row.tokens)));
    }
  }
  sweep(index, told.slots);
  return Status::kOk;
}

// Events

void EngineNames::store(Call call, const Event& event, int32_t parent_at, std::span<const Token> tokens) {
  const size_t n = event.names.size();
  const ChainStart start = chain_start(call.told, parent_at);
  seqs_.resize(n);
  claims_.resize(n);
  ask_ahead(call.told, event.name_at);
  seq_hashes(tokens, call.told.block_size, start.seed, call.told.extra, seqs_);
  call.index.prefetch(SeqSpan(seqs_).first(std::min(n, kAhead)));
  const bool is_plain = claim(call, event, true);
  if (!is_plain) {
    release_others(call, event);
    drop_stale_copies(call, event);
    claim(call, event, false);
  }
  size_t begin = 0;  // of the blocks that the index has not taken yet
  try {
    for (size_t end; begin < n; begin = end) {
      end = begin;
      while (end < n && claims_[end] != Claim::kNone) ++end;
      if (end == begin) {
        ++call.result.duplicate;
        ++end;
        continue;
      }
      const Parent before = begin == 0 ? start.parent : Parent::of(seqs_[begin - 1]);
      if (!store_run(call, event.tier, SeqSpan(seqs_).subspan(begin, end - begin), before)) {
        unclaim(event, begin, end);
      }
    }
  } catch (...) {
    unclaim(event, begin, n);
    throw;
  }
  if (!is_plain) settle_again(call, event);
}

void EngineNames::store_by_name(Call call, const Event& event) {
  for (size_t i = 0; i < event.names.size(); ++i) {
    ask_ahead(call.told, event.name_at + i);
    NameTable::Entry* known = table_.find(event.names[i]);
    if (known != nullptr) {
      uint16_t& copies = known->copies[event.tier];
      if (is_stale(call, *known, event.tier)) copies = 0;
      if (!wants_copy(copies)) {
        ++call.result.duplicate;
        continue;
      }
      ++copies;
    } else if (const SeqHash* departed = departed_.find(event.names[i])) {
      known = table_.find_or_insert(event.names[i], *departed, event.tier).entry;
    } else {
      ++call.result.unresolved;
      continue;
    }
    bool is_taken = false;
    try {
      is_taken = store_run(call, event.tier, {&known->seq, 1}, Parent::unknown());
    } catch (...) {
      drop_copy(known, event.tier);
      throw;
    }
    if (!is_taken) drop_copy(known, event.tier);
  }
}

void EngineNames::remove(Call call, const Event& event) {
  seqs_.clear();
  seqs_.reserve(event.names.size());
  for (size_t i = 0; i < event.names.size(); ++i) {
    ask_ahead(call.told, event.name_at + i);
    NameTable::Entry* known = table_.find(event.names[i]);
    if (known == nullptr || known->copies[event.tier] == 0) {
      ++call.result.unknown;
      continue;
    }
    const SeqHash seq = known->seq;
    seqs_.push_back(seq);
    if (!drop_copy(known, event.tier)) departed_.note(event.names[i], seq);
  }
  remove_from_index(call, event.tier, seqs_);
}

void EngineNames::clear(Call call) {
  for (size_t tier = 0; tier < kTiers; ++tier) {
    uint64_t gone = 0;
    if (call.has_slot(tier)) (void)call.index.clear(call.slot(tier), gone);
    call.result.cleared += gone;
  }
  table_.clear();
  departed_.clear();
  kept_ = 0;
}

// Names

EngineNames::ChainStart EngineNames::chain_start(const EngineCall& told, int32_t parent_at) {
  if (parent_at < 0) return {told.root, Parent::root()};
  const uint64_t name = told.columns.hashes[static_cast<size_t>(parent_at)];
  const NameTable::Entry* known = table_.find(name);
  const SeqHash* seq = known != nullptr ? &known->seq : departed_.find(name);
  if (seq != nullptr) return {*seq, Parent::of(*seq)};
  return {SeqHash{xxh64_u64(name, kOrphanSeed)}, Parent::unknown()};
}

/// Each block's name stands for it, with a copy more where the tier wants one. A name that stands for another block is marked;
/// or, the first time, ends this, as does one whose block the index let go: then nothing has changed.
bool EngineNames::claim(Call call, const Event& event, bool is_first) {
  size_t i = 0;
  try {
    for (; i < event.names.size(); ++i) {
      ask_ahead(call.told, event.name_at + i);
      const auto [entry, fresh] = table_.find_or_insert(event.names[i], seqs_[i], event.tier);
      if (fresh) {
        claims_[i] = Claim::kMade;
        continue;
      }
      const bool is_other = entry->seq != seqs_[i];
      if (is_first && (is_other || is_stale(call, *entry, event.tier))) {
        unclaim(event, 0, i);
        return false;
      }
      if (is_other) {
        claims_[i] = Claim::kAgain;
      } else if (wants_copy(entry->copies[event.tier])) {
        ++entry->copies[event.tier];
        claims_[i] = Claim::kMade;
      } else {
        claims_[i] = Claim::kNone;
      }
    }
  } catch (...) {
    unclaim(event, 0, i);
    throw;
  }
  return true;
}

void EngineNames::unclaim(const Event& event, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    if (claims_[i] == Claim::kMade) drop_copy(table_.find(event.names[i]), event.tier);
    claims_[i] = Claim::kNone;
  }
}

/// Names of the event that mean another block so far lose that, with all its copies.
void EngineNames::release_others(Call call, const Event& event) {
  for (size_t i = 0; i < event.names.size(); ++i) {
    NameTable::Entry* known = table_.find(event.names[i]);
    if (known == nullptr || known->seq == seqs_[i]) continue;
    const NameTable::Entry old = *known;
    table_.erase(known);
    for (size_t tier = 0; tier < kTiers; ++tier) {
      if (!call.has_slot(tier)) continue;
      for (uint16_t copy = 0; copy < old.copies[tier]; ++copy) {
        remove_from_index(call, tier, {&old.seq, 1});
      }
    }
  }
}

void EngineNames::drop_stale_copies(const Call& call, const Event& event) {
  for (const uint64_t name : event.names) {
    NameTable::Entry* known = table_.find(name);
    if (known != nullptr && is_stale(call, *known, event.tier)) keep_copies(known, event.tier, 0);
  }
}

/// Blocks that the index took though their name stands for another: that one may have been refused since. Else they go again.
void EngineNames::settle_again(Call call, const Event& event) {
  for (size_t i = 0; i < event.names.size(); ++i) {
    if (claims_[i] != Claim::kAgain) continue;
    if (table_.find_or_insert(event.names[i], seqs_[i], event.tier).fresh) continue;
    ++call.result.rejected;
    remove_from_index(call, event.tier, {&seqs_[i], 1});
  }
}

/// False: the entry is gone.
bool EngineNames::keep_copies(NameTable::Entry* entry, size_t tier, uint16_t copies) {
  // The last copy is erased as it stands: an entry without one would be no entry.
  auto rest = entry->copies;
  rest[tier] = copies;
  if (rest == decltype(rest){}) {
    table_.erase(entry);
    return false;
  }
  entry->copies = rest;
  return true;
}

/// Does it count copies in this tier of a block that the index let go?
bool EngineNames::is_stale(const Call& call, const NameTable::Entry& entry, size_t tier) {
  if (entry.copies[tier] == 0) return false;
  uint8_t held = 0;
  call.index.resident(call.slot(tier).slot, {&entry.seq, 1}, {&held, 1});
  return held == 0;
}

/// Columns hold the names of one event after another, so this reaches into the next ones.
void EngineNames::ask_ahead(const EngineCall& told, size_t name_at) {
  const auto& names = told.columns.hashes;
  const size_t end = std::min(name_at + kAhead, names.size());
  for (asked_ = std::max(asked_, name_at); asked_ < end; ++asked_) table_.prefetch(names[asked_]);
}

/// Drops names that the index has long let go, once there are many.
void EngineNames::sweep(const Index& index, const TierSlots& slots) {
  uint64_t resident = 0;
  for (const SlotRef& slot : slots) {
    if (slot.incarnation != 0) resident += index.slot_figures(slot.slot).resident;
  }
  if (table_.size() <= 2 * resident + kSlack + kept_) return;
  try {
    for (size_t segment = 0; segment < NameTable::kSegments; ++segment) sweep_segment(index, slots, segment);
    kept_ = table_.size();
  } catch (const std::bad_alloc&) {  // the call is done; a later one sweeps
  }
}

void EngineNames::sweep_segment(const Index& index, const TierSlots& slots, size_t segment) {
  std::vector<NameTable::Entry> entries;
  table_.each_of(segment, [&](const NameTable::Entry& e) { entries.push_back(e); });
  std::vector<SeqHash> seqs(entries.size());
  std::transform(entries.begin(), entries.end(), seqs.begin(), [](const auto& e) { return e.seq; });
  std::vector<uint8_t> stays(entries.size()), held(entries.size());
  for (size_t tier = 0; tier < kTiers; ++tier) {
    if (slots[tier].incarnation == 0) continue;
    index.resident(slots[tier].slot, seqs, held);
    for (size_t i = 0; i < entries.size(); ++i) stays[i] |= held[i] && entries[i].copies[tier] > 0;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!stays[i]) table_.erase(table_.find(entries[i].name));
  }
}

std::vector<NameTable::Entry> EngineNames::entries() const {
  std::vector<NameTable::Entry> all;
  all.reserve(table_.size());
  table_.each([&](const NameTable::Entry& e) { all.push_back(e); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

void EngineNames::load(std::span<const NameTable::Entry> entries) {
  NameTable loaded = table_.like();
  for (const NameTable::Entry& e : entries) loaded.insert(e);
  table_ = std::move(loaded);
  departed_.clear();
  kept_ = 0;
}

// The index

/// False: it refused the whole run.
bool EngineNames::store_run(Call call, size_t tier, SeqSpan run, Parent before) {
  FeedResult fed;
  (void)call.index.store(call.slot(tier), run, before, call.told.now_ms, fed);
  call.result.stored += fed.applied;
  call.result.duplicate += fed.duplicate;
  call.result.orphaned += fed.orphaned;
  call.result.rejected += fed.rejected;
  call.result.evicted += fed.evicted;
  return fed.applied + fed.duplicate > 0 || fed.rejected != run.size();
}

void EngineNames::remove_from_index(Call call, size_t tier, SeqSpan seq) {
  FeedResult fed;
  (void)call.index.remove(call.slot(tier), seq, fed);
  call.result.removed += fed.applied;
  call.result.unknown += fed.unknown;
}

}  // namespace kvidx
