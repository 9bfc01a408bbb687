// The block table alone, against a map: growth and shrinking of segments, erasing and moving in any order; hashes that crowd a
// few homes, so that buckets overflow, counts stick and entries pass a segment's end; hashes that only their blocks tell apart.
#include "core/block_table.hpp"

#include <cstdio>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "test/check.hpp"
#include "test/dice.hpp"

namespace {

using namespace kvidx;

/// The hash that the table mixes to `bits`: its steps backwards.
SeqHash unmixed(uint64_t bits) {
  const auto inverse = [](uint64_t odd) {
    uint64_t x = odd;
    for (int k = 0; k < 5; ++k) x *= 2 - odd * x;
    return x;
  };
  uint64_t x = bits ^ bits >> 32;
  x *= inverse(0xBF58476D1CE4E5B9);
  x ^= x >> 29 ^ x >> 58;
  x *= inverse(0x9E3779B97F4A7C15);
  return SeqHash{x ^ x >> 32};
}

/// Bits that the table tells hashes apart by, without a look at their blocks.
SeqHash hash_of(uint64_t segment, uint64_t home, uint64_t tag, uint64_t rest) {
  return unmixed(segment << 55 | (rest & 0x7fff) << 40 | home << 16 | (rest >> 15 & 0x3ff) << 6 | tag);
}

class Tables {
 public:
  Tables(uint64_t seed, std::function<SeqHash(Dice&)> draw) : dice_(seed), draw_(std::move(draw)) {}

  void play(uint32_t most, int operations) {
    const int every = most < 500 ? 1 : 64;
    for (int k = 0; k < operations; ++k) {
      const bool shrink = places_.size() >= most || dice_.one_in(3);
      if (!shrink || held_.empty()) {
        insert();
      } else if (dice_.one_in(2)) {
        erase(dice_.below(held_.size()));
      } else {
        move(dice_.below(held_.size()));
      }
      if (k % every == 0) compare();
    }
    while (!held_.empty()) {
      erase(dice_.below(held_.size()));
      if (held_.size() % static_cast<size_t>(every) == 0) compare();
    }
  }

 private:
  /// A place in a run that no block has, for a hash.
  BlockRef place(SeqHash hash) {
    if (runs_.used() == 0 || runs_[runs_.used() - 1].end == kMaxRun) {
      const uint32_t id = runs_.take();
      runs_.set_blocks(id, static_cast<SeqHash*>(runs_.arena().allocate(kMaxRun * sizeof(SeqHash))));
    }
    const uint32_t id = runs_.used() - 1;
    Run& run = runs_[id];
    const BlockRef ref{id, pos(run.end)};
    run.blocks[run.end] = hash;
    run.end = static_cast<decltype(run.end)>(run.end + 1);
    return ref;
  }
  void insert() {
    const SeqHash hash = draw_(dice_);
    if (places_.contains(raw(hash))) return;
    const BlockRef ref = place(hash);
    CHECK(!table_.find_or_insert(runs_, hash, ref).found());
    CHECK(table_.find_or_insert(runs_, hash, {0, 0}) == ref);
    places_[raw(hash)] = ref;
    held_.push_back(hash);
  }
  void erase(size_t i) {
    const SeqHash hash = held_[i];
    table_.erase(runs_.arena(), hash, places_.at(raw(hash)));
    CHECK(!table_.find(runs_, hash).found());
    places_.erase(raw(hash));
    held_[i] = held_.back();
    held_.pop_back();
  }
  void move(size_t i) {
    const SeqHash hash = held_[i];
    BlockRef& ref = places_.at(raw(hash));
    const BlockRef to = place(hash);
    table_.move(hash, ref, to);
    ref = to;
    CHECK(table_.find(runs_, hash) == to);
  }
  void compare() {
    CHECK(table_.sound());
    CHECK(table_.size() == places_.size());
    for (const auto& [hash, ref] : places_) {
      CHECK(table_.find(runs_, SeqHash{hash}) == ref);
      CHECK(table_.guess(SeqHash{hash}).found());
    }
    size_t walked = 0;
    table_.each([&](BlockRef ref) {
      ++walked;
      CHECK(places_.at(raw(runs_.hash(ref))) == ref);
    });
    CHECK(walked == places_.size());
  }

  Dice dice_;
  const std::function<SeqHash(Dice&)> draw_;
  RunSlab runs_;
  BlockTable table_;
  std::vector<SeqHash> held_;
  std::unordered_map<uint64_t, BlockRef> places_;
};

/// Two hashes that agree in all bits that a guess compares: one is known, the other is asked for, or both are.
void guesses_are_compared() {
  const SeqHash known = hash_of(3, 99, 5, 1), other = hash_of(3, 99, 5, 2);
  RunSlab runs;
  const uint32_t id = runs.take();
  runs.set_blocks(id, static_cast<SeqHash*>(runs.arena().allocate(kMaxRun * sizeof(SeqHash))));
  runs[id].blocks[0] = known;
  BlockTable table;
  CHECK(!table.find_or_insert(runs, known, {id, 0}).found());
  CHECK(table.guess(other) == (BlockRef{id, 0}));
  CHECK(!table.find(runs, other).found());

  Index index;
  const SlotRef slot = index.add_slot();
  FeedResult result;
  const auto matched = [&](SeqHash hash) {
    uint32_t one[1] = {}, many[1] = {};
    index.overlap(SeqSpan(&hash, 1), Mode::kPrefix, one);
    const SeqSpan requests[] = {SeqSpan(&hash, 1)};
    index.overlap_many(requests, Mode::kPrefix, many);
    CHECK(one[0] == many[0]);
    return one[0];
  };
  CHECK(index.store(slot, SeqSpan(&known, 1), Parent::root(), 0, result) == Status::kOk);
  CHECK(matched(known) == 1 && matched(other) == 0);
  CHECK(index.store(slot, SeqSpan(&other, 1), Parent::root(), 0, result) == Status::kOk);
  CHECK(matched(known) == 1 && matched(other) == 1);
}

}  // namespace

int main() {
  const std::function<SeqHash(Dice&)> draws[] = {
      [](Dice& dice) { return SeqHash{dice.below(10000)}; },
      [](Dice& dice) { return SeqHash{dice.u64()}; },
      // All of one home, tags that differ in their lowest bit or not at all.
      [](Dice& dice) { return hash_of(7, 0x1234, dice.below(2), dice.u64()); },
      // The last home and the first, of two segments.
      [](Dice& dice) { return hash_of(dice.below(2), 0xffff * dice.below(2), dice.below(64), dice.u64()); },
      // A few homes close together.
      [](Dice& dice) { return hash_of(511, 0xf000 + dice.below(3000), dice.below(64), dice.u64()); },
  };
  uint64_t seed = 1;
  for (const auto& draw : draws) {
    Tables(seed++, draw).play(40, 4000);
    Tables(seed++, draw).play(300, 4000);
    Tables(seed++, draw).play(1500, 10000);
  }
  guesses_are_compared();
  std::puts("block table: ok");
}
