// Names of an engine against two maps that say what they mean, in random events; and what runs out of nothing.
#include "core/engine_names.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "test/byte_source.hpp"
#include "test/check.hpp"
#include "test/engine_names_twin.hpp"

namespace kvidx {
namespace {

void check_equal(const EngineNames& names, const Index& index, const TierSlots& slots,
                 const NamesTwin& twin) {
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

/// The index loses some blocks without the names' knowledge.
void let_go(Index& index, SlotRef slot, NamesTwin& twin, ByteSource& source) {
  std::vector<SeqHash> some = index.enumerate(slot.slot);
  std::erase_if(some, [&](SeqHash) { return !source.one_in(2); });
  FeedResult result;
  CHECK(index.remove(slot, some, result) == Status::kOk);
  CHECK(twin.index.remove(twin.slots[0], some, result) == Status::kOk);
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
  NamesTwin twin{counts, Index(options), {}, {}, {}, {}};
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
    if (source.one_in(8)) let_go(index, slots[0], twin, source);
    ToldEvents told;
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
  ToldEvents told;
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
  ToldEvents told;
  told.add(EventKind::kRemoved, 0, numbered(kMany / 10, kMany - kMany / 10));
  EngineResult result;
  CHECK(names.apply(index, told.call(slots), result) == Status::kOk);
  CHECK(result.removed == kMany - kMany / 10 && names.size() == kMany / 10);
  CHECK(names.used_bytes() < full / 2);
  CHECK(names.validate() == "");
  ToldEvents rest;
  rest.add(EventKind::kRemoved, 0, numbered(0, kMany / 10));
  CHECK(names.apply(index, rest.call(slots), result) == Status::kOk);
  CHECK(names.size() == 0 && index.known_blocks() == 0);
  CHECK(names.used_bytes() <= empty + kDepartedNames * 32);
  ToldEvents cleared;
  cleared.add(EventKind::kCleared, 0, {});
  CHECK(names.apply(index, cleared.call(slots), result) == Status::kOk);
  CHECK(names.used_bytes() == empty);
}

/// Names that depart anew and anew, among them some of those before, against the last departures in order.
void departures_equal_a_list(uint64_t seed) {
  DepartedNames departed(seed);
  std::vector<std::pair<uint64_t, SeqHash>> all;
  const uint64_t kinds = kDepartedNames / 2 + mixed(seed) % (2 * kDepartedNames);
  for (uint64_t i = 0; i < 3 * kDepartedNames; ++i) {
    all.emplace_back(mixed(mixed(seed + i) % kinds), SeqHash{i});
    departed.note(all.back().first, all.back().second);
    if (i % 997 != 0 && i + 1 != 3 * kDepartedNames) continue;
    CHECK(std::string_view(departed.validate()) == "");
    std::map<uint64_t, SeqHash> last;
    for (size_t k = all.size() - std::min(all.size(), kDepartedNames); k < all.size(); ++k)
      last[all[k].first] = all[k].second;
    for (uint64_t k = 0; k < kinds; ++k) {
      const auto expected = last.find(mixed(k));
      const SeqHash* seq = departed.find(mixed(k));
      CHECK(expected == last.end() ? seq == nullptr : seq != nullptr && *seq == expected->second);
    }
  }
  departed.clear();
  CHECK(departed.used_bytes() == 0 && departed.find(all.back().first) == nullptr);
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
  ToldEvents told;
  told.add(EventKind::kStored, 0, {1, 2}, nullptr, {1, 2, 3, 4});
  const EngineCall good = told.call(slots);
  CHECK(misfit(good) == "");
  const auto with = [&](size_t place, int32_t value) {
    ToldEvents bad = told;
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
  ToldEvents told;
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
  for (uint64_t seed = 1; seed <= 5; ++seed) departures_equal_a_list(seed);
  memory_comes_back();
  names_of_blocks_that_the_index_let_go_are_swept();
  entries_can_be_loaded();
  misfits_are_told();
  refused_calls_change_nothing();
  std::puts("engine names: ok");
}
