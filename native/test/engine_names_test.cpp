// Names of an engine against two maps that say what they mean, in random events; and what runs out of nothing.
#include "core/engine_names.hpp"

#include <cstdio>
#include <map>
#include <set>

#include "test/byte_source.hpp"
#include "test/check.hpp"

namespace kvidx {
namespace {

constexpr uint32_t kBlockSize = 2;
const SeqHash kRoot{0x5eed};

using Copies = std::array<uint16_t, kTiers>;
struct Named {
  SeqHash seq;
  Copies copies;
};

/// Columns that a test fills event by event.
struct Told {
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
struct Twin {
  bool counts_copies;
  Index index;
  TierSlots slots{};
  std::map<uint64_t, Named> names;
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

  void store(size_t tier, const std::vector<uint64_t>& told, const uint64_t* parent_name,
             const std::vector<Token>& ids) {
    SeqHash seed = kRoot;
    Parent parent = Parent::root();
    if (parent_name != nullptr) {
      const auto known = names.find(*parent_name);
      seed = known == names.end() ? SeqHash{xxh64_name(*parent_name)} : known->second.seq;
      parent = known == names.end() ? Parent::unknown() : Parent::of(seed);
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
      const auto known = names.find(name);
      if (known == names.end()) {
        ++result.unresolved;
      } else if (!wants(known->second.copies[tier])) {
        ++result.duplicate;
      } else if (store_run(tier, {&known->second.seq, 1}, Parent::unknown())) {
        add_copy(name, known->second.seq, tier);
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
      if (known->second.copies == Copies{}) names.erase(known);
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
  }

  static uint64_t xxh64_name(uint64_t name);
};

/// A chain step over the name, from the seed of orphans.
uint64_t Twin::xxh64_name(uint64_t name) {
  const LocalHash local{name};
  SeqHash seq;
  chain_hashes({&local, 1}, SeqHash{kOrphanSeed}, {&seq, 1});
  return raw(seq);
}

void check_equal(const EngineNames& names, const Index& index, const TierSlots& slots, const Twin& twin) {
  CHECK(names.validate() == "");
  CHECK(index.validate() == "");
  const auto entries = names.entries();
  CHECK(entries.size() == twin.names.size() && names.size() == entries.size());
  auto at = twin.names.begin();
  for (const NameTable::Entry& entry : entries) {
    CHECK(entry.name == at->first && entry.seq == at->second.seq && entry.copies == at->second.copies);
    ++at;
  }
  for (size_t t = 0; t < kTiers; ++t) {
    if (slots[t].incarnation != 0)
      CHECK(index.enumerate(slots[t].slot) == twin.index.enumerate(twin.slots[t].slot));
  }
}

void check_equal(const EngineResult& a, const EngineResult& b) {
  CHECK(a.stored == b.stored && a.duplicate == b.duplicate && a.orphaned == b.orphaned);
  CHECK(a.rejected == b.rejected && a.evicted == b.evicted && a.unresolved == b.unresolved);
  CHECK(a.removed == b.removed && a.unknown == b.unknown && a.cleared == b.cleared);
}

/// Few names and tokens, so that they meet again in every way.
void random_events_equal_the_maps(uint64_t seed) {
  const auto bytes = random_bytes(seed, 6000);
  ByteSource source(bytes);
  const bool counts = source.one_in(2), counted_slots = source.one_in(2);
  const IndexOptions options{0, source.one_in(3) ? 20u : 0u, 0};
  Index index(options);
  EngineNames names(counts, mixed(seed));
  TierSlots slots{};
  Twin twin{counts, Index(options), {}, {}, {}};
  const size_t tiers = source.between(1, kTiers);
  for (size_t t = 0; t < tiers; ++t) {
    slots[t] = index.add_slot();
    twin.slots[t] = twin.index.add_slot();
    if (!counted_slots) continue;
    CHECK(index.count_references(slots[t]) == Status::kOk);
    CHECK(twin.index.count_references(twin.slots[t]) == Status::kOk);
  }
  const uint32_t named = source.between(4, 40);
  const auto name = [&] { return mixed(source.below(named)); };
  while (!source.empty()) {
    Told told;
    twin.result = {};
    for (uint32_t events = source.between(1, 3); events > 0; --events) {
      const size_t tier = source.below(tiers);
      std::vector<uint64_t> blocks(source.below(6));
      for (uint64_t& block : blocks) block = name();
      const uint32_t choice = source.below(20);
      if (choice == 0) {
        told.add(EventKind::kCleared, 0, {});
        twin.clear();
      } else if (choice < 7) {
        told.add(EventKind::kRemoved, tier, blocks);
        twin.remove(tier, blocks);
      } else if (choice < 10 || blocks.empty()) {
        told.add(EventKind::kStored, tier, blocks);
        twin.store_by_name(tier, blocks);
      } else {
        const uint64_t parent = name();
        const uint64_t* parent_name = source.one_in(2) ? &parent : nullptr;
        std::vector<Token> ids(blocks.size() * kBlockSize);
        for (Token& id : ids) id = source.below(2);
        // Mostly the names that an engine would give: the same prefix, the same name.
        if (!source.one_in(3)) {
          uint64_t chained = parent_name == nullptr ? 0 : parent;
          for (size_t i = 0; i < blocks.size(); ++i)
            blocks[i] = chained = mixed(chained * 4 + ids[2 * i] * 2 + ids[2 * i + 1] + 99);
        }
        told.add(EventKind::kStored, tier, blocks, parent_name, ids);
        twin.store(tier, blocks, parent_name, ids);
      }
    }
    const EngineCall call = told.call(slots);
    CHECK(misfit(call) == "");
    EngineResult result;
    CHECK(names.apply(index, call, result) == Status::kOk);
    check_equal(result, twin.result);
    check_equal(names, index, slots, twin);
  }
}

std::vector<uint64_t> numbered(uint64_t from, size_t count) {
  std::vector<uint64_t> names(count);
  for (size_t i = 0; i < count; ++i) names[i] = mixed(from + i);
  return names;
}

EngineResult store_many(EngineNames& names, Index& index, const TierSlots& slots, uint64_t from,
                        size_t count) {
  Told told;
  std::vector<Token> ids(count * kBlockSize);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<Token>(from * kBlockSize + i);
  told.add(EventKind::kStored, 0, numbered(from, count), nullptr, ids);
  EngineResult result;
  CHECK(names.apply(index, told.call(slots), result) == Status::kOk);
  return result;
}

void memory_comes_back() {
  Index index;
  EngineNames names(false, 1);
  const TierSlots slots{index.add_slot()};
  const uint64_t empty = names.used_bytes();
  constexpr size_t kMany = 100000;
  CHECK(store_many(names, index, slots, 0, kMany).stored == kMany);
  const uint64_t full = names.used_bytes();
  CHECK(full >= kMany * sizeof(NameTable::Entry) && full < kMany * 56);
  Told told;
  told.add(EventKind::kRemoved, 0, numbered(kMany / 10, kMany - kMany / 10));
  EngineResult result;
  CHECK(names.apply(index, told.call(slots), result) == Status::kOk);
  CHECK(result.removed == kMany - kMany / 10 && names.size() == kMany / 10);
  CHECK(names.used_bytes() < full / 2);
  CHECK(names.validate() == "");
  Told rest;
  rest.add(EventKind::kRemoved, 0, numbered(0, kMany / 10));
  CHECK(names.apply(index, rest.call(slots), result) == Status::kOk);
  CHECK(names.size() == 0 && names.used_bytes() == empty && index.known_blocks() == 0);
}

void names_of_blocks_that_the_index_let_go_are_swept() {
  constexpr uint64_t kMost = 1000, kSlack = 4096;
  Index index({0, kMost, 0});
  EngineNames names(false, 1);
  const TierSlots slots{index.add_slot()};
  uint64_t from = 0;
  for (; from < 2 * kMost + kSlack; from += kMost) {
    CHECK(store_many(names, index, slots, from, kMost).stored == kMost);
    CHECK(names.size() == from + kMost || from + kMost > 2 * kMost + kSlack);
  }
  CHECK(names.size() == kMost);
  for (const NameTable::Entry& entry : names.entries()) CHECK(index.contains(entry.seq));
  CHECK(names.validate() == "");
}

void entries_can_be_loaded() {
  Index index;
  EngineNames names(true, 1), other(true, 2);
  const TierSlots slots{index.add_slot()};
  (void)store_many(names, index, slots, 0, 3000);
  (void)store_many(other, index, slots, 5000, 10);
  const auto entries = names.entries();
  other.load(entries);
  CHECK(other.validate() == "" && other.size() == entries.size());
  const auto loaded = other.entries();
  for (size_t i = 0; i < entries.size(); ++i) CHECK(loaded[i].name == entries[i].name);
}

void misfits_are_told() {
  Index index;
  const TierSlots slots{index.add_slot()};
  Told told;
  told.add(EventKind::kStored, 0, {1, 2}, nullptr, {1, 2, 3, 4});
  const EngineCall good = told.call(slots);
  CHECK(misfit(good) == "");
  const auto with = [&](size_t place, int32_t value) {
    Told bad = told;
    bad.rows[place] = value;
    return misfit(bad.call(slots));
  };
  const struct {
    size_t place;
    int32_t value;
  } kBad[] = {{0, -1}, {0, 4}, {3, -1}, {3, 1}, {3, 3},   {4, -1}, {4, 1},  {5, -2},        {5, 2},
              {6, -1}, {6, 2}, {7, -1}, {7, 1}, {14, -2}, {14, 1}, {14, 4}, {3, INT32_MAX}, {6, INT32_MAX}};
  for (const auto& [place, value] : kBad) CHECK(with(place, value) != "");
  CHECK(with(14, -1) == "" && with(0, 0) == "");
  EngineCall beyond = good;
  beyond.end = 2;
  CHECK(misfit(beyond) != "");
  beyond.first = beyond.end = 1;
  CHECK(misfit(beyond) == "");
}

void refused_calls_change_nothing() {
  Index index;
  EngineNames names(false, 1);
  TierSlots slots{index.add_slot(), index.add_slot()};
  Told told;
  told.add(EventKind::kStored, 0, {1}, nullptr, {1, 2});
  EngineResult result;
  FeedResult fed;
  CHECK(index.set_capacity(slots[1], 5, 0, fed) == Status::kOk);
  CHECK(names.apply(index, told.call(slots), result) == Status::kOtherMode);
  CHECK(index.remove_slot(slots[1]) == Status::kOk);
  CHECK(names.apply(index, told.call(slots), result) == Status::kUnknownWorker);
  CHECK(names.size() == 0 && index.known_blocks() == 0);
}

}  // namespace
}  // namespace kvidx

int main() {
  using namespace kvidx;
  for (uint64_t seed = 1; seed <= 300; ++seed) random_events_equal_the_maps(seed);
  memory_comes_back();
  names_of_blocks_that_the_index_let_go_are_swept();
  entries_can_be_loaded();
  misfits_are_told();
  refused_calls_change_nothing();
  std::puts("engine names: ok");
}
