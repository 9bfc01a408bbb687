// What an engine's names mean, by maps, and events as a test tells them.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "core/engine_names.hpp"
#include "test/check.hpp"

namespace kvidx {

constexpr uint32_t kBlockSize = 2;
inline const SeqHash kRoot{0x5eed};

using Copies = std::array<uint16_t, kTiers>;
struct Named {
  SeqHash seq;
  Copies copies;
};

/// Columns that a test fills event by event.
struct ToldEvents {
  std::vector<int32_t> rows;
  std::vector<uint64_t> hashes;
  std::vector<Token> tokens;

  void add(EventKind kind, size_t tier, const std::vector<uint64_t>& names, const uint64_t* parent = nullptr,
           const std::vector<Token>& ids = {}) {
    int32_t row[kEventPlaces] = {};
    row[0] = static_cast<int32_t>(kind);
    row[3] = static_cast<int32_t>(names.size());
    row[4] = static_cast<int32_t>(hashes.size());
    hashes.insert(hashes.end(), names.begin(), names.end());
    row[5] = parent == nullptr ? -1 : static_cast<int32_t>(hashes.size());
    if (parent != nullptr) hashes.push_back(*parent);
    row[6] = static_cast<int32_t>(ids.size());
    row[7] = static_cast<int32_t>(tokens.size());
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    row[14] = static_cast<int32_t>(tier);
    rows.insert(rows.end(), row, row + kEventPlaces);
  }
  size_t events() const { return rows.size() / kEventPlaces; }
  EngineCall call(const TierSlots& slots) {
    return {{rows, hashes, tokens}, 0, events(), slots, kRoot, kBlockSize, {}, 1};
  }
};

/// What names mean, by maps, and an index of its own that is fed block by block as they say.
struct NamesTwin {
  bool counts_copies;
  Index index;
  TierSlots slots{};
  std::map<uint64_t, Named> names;
  std::deque<std::pair<uint64_t, SeqHash>> departed;  // the latest in front
  EngineResult result;

  bool wants(uint16_t copies) const { return counts_copies || copies == 0; }

  bool store_run(size_t tier, SeqSpan run, Parent parent) {
    FeedResult fed;
    CHECK(index.store(slots[tier], run, parent, 1, fed) == Status::kOk);
    result.stored += fed.applied;
    result.duplicate += fed.duplicate;
    result.orphaned += fed.orphaned;
    result.rejected += fed.rejected;
    result.evicted += fed.evicted;
    return fed.applied + fed.duplicate > 0 || fed.rejected != run.size();
  }
  void remove_seqs(size_t tier, const std::vector<SeqHash>& seqs) {
    FeedResult fed;
    CHECK(index.remove(slots[tier], seqs, fed) == Status::kOk);
    result.removed += fed.applied;
    result.unknown += fed.unknown;
  }
  void add_copy(uint64_t name, SeqHash seq, size_t tier) {
    Named& named = names.try_emplace(name, Named{seq, {}}).first->second;
    if (wants(named.copies[tier])) ++named.copies[tier];
  }

  std::optional<SeqHash> meaning_of(uint64_t name) const {
    if (const auto known = names.find(name); known != names.end()) return known->second.seq;
    const auto last =
        std::find_if(departed.begin(), departed.end(), [&](const auto& d) { return d.first == name; });
    return last == departed.end() ? std::nullopt : std::optional(last->second);
  }
  void drop_stale_copies(uint64_t name, size_t tier) {
    const auto known = names.find(name);
    if (known == names.end()) return;
    const auto held = index.enumerate(slots[tier].slot);
    if (std::binary_search(held.begin(), held.end(), known->second.seq)) return;
    known->second.copies[tier] = 0;
    if (known->second.copies == Copies{}) names.erase(known);
  }

  void store(size_t tier, const std::vector<uint64_t>& told, const uint64_t* parent_name,
             const std::vector<Token>& ids) {
    SeqHash seed = kRoot;
    Parent parent = Parent::root();
    if (parent_name != nullptr) {
      const auto known = meaning_of(*parent_name);
      seed = known.value_or(SeqHash{xxh64_name(*parent_name)});
      parent = known ? Parent::of(seed) : Parent::unknown();
    }
    std::vector<SeqHash> seqs(told.size());
    seq_hashes(ids, kBlockSize, seed, {}, seqs);
    for (size_t i = 0; i < told.size(); ++i) {
      const auto known = names.find(told[i]);
      if (known == names.end() || known->second.seq == seqs[i]) continue;
      for (size_t t = 0; t < kTiers; ++t) {
        if (slots[t].incarnation != 0)
          remove_seqs(t, std::vector<SeqHash>(known->second.copies[t], known->second.seq));
      }
      names.erase(known);
    }
    for (const uint64_t name : told) drop_stale_copies(name, tier);
    std::vector<bool> forwarded;
    for (const uint64_t name : told) {
      const auto known = names.find(name);
      forwarded.push_back(known == names.end() || wants(known->second.copies[tier]));
    }
    std::vector<size_t> accepted;
    for (size_t i = 0; i < told.size();) {
      if (!forwarded[i]) {
        ++result.duplicate;
        ++i;
        continue;
      }
      const size_t begin = i;
      while (i < told.size() && forwarded[i]) ++i;
      const Parent before = begin == 0 ? parent : Parent::of(seqs[begin - 1]);
      if (!store_run(tier, SeqSpan(seqs).subspan(begin, i - begin), before)) continue;
      for (size_t k = begin; k < i; ++k) accepted.push_back(k);
    }
    for (const size_t i : accepted) {
      const auto known = names.find(told[i]);
      if (known == names.end() || known->second.seq == seqs[i]) {
        add_copy(told[i], seqs[i], tier);
      } else {
        ++result.rejected;
        remove_seqs(tier, {seqs[i]});
      }
    }
  }
  void store_by_name(size_t tier, const std::vector<uint64_t>& told) {
    for (const uint64_t name : told) {
      const auto seq = meaning_of(name);
      drop_stale_copies(name, tier);
      const auto known = names.find(name);
      if (!seq) {
        ++result.unresolved;
      } else if (known != names.end() && !wants(known->second.copies[tier])) {
        ++result.duplicate;
      } else if (store_run(tier, {&*seq, 1}, Parent::unknown())) {
        add_copy(name, *seq, tier);
      }
    }
  }
  void remove(size_t tier, const std::vector<uint64_t>& told) {
    std::vector<SeqHash> gone;
    for (const uint64_t name : told) {
      const auto known = names.find(name);
      if (known == names.end() || known->second.copies[tier] == 0) {
        ++result.unknown;
        continue;
      }
      gone.push_back(known->second.seq);
      --known->second.copies[tier];
      if (known->second.copies != Copies{}) continue;
      departed.emplace_front(name, known->second.seq);
      if (departed.size() > kDepartedNames) departed.pop_back();
      names.erase(known);
    }
    remove_seqs(tier, gone);
  }
  void clear() {
    for (const SlotRef& slot : slots) {
      uint64_t gone = 0;
      if (slot.incarnation != 0) CHECK(index.clear(slot, gone) == Status::kOk);
      result.cleared += gone;
    }
    names.clear();
    departed.clear();
  }

  /// A chain step over the name, from the seed of orphans.
  static uint64_t xxh64_name(uint64_t name) {
    const LocalHash local{name};
    SeqHash seq;
    chain_hashes({&local, 1}, SeqHash{kOrphanSeed}, {&seq, 1});
    return raw(seq);
  }
};

}  // namespace kvidx
