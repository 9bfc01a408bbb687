// The block table alone, against a map: growth and shrinking of segments, buckets that overflow, erasing and moving in any order.
#include "core/block_table.hpp"

#include <cstdio>
#include <unordered_map>
#include <vector>

#include "test/check.hpp"
#include "test/dice.hpp"

namespace {

using namespace kvidx;

class Tables {
 public:
  /// Hashes are `first`, `first + step` …: small integers and multiples crowd some segments.
  Tables(uint64_t seed, uint64_t step) : dice_(seed), step_(step) {}

  void play(uint32_t most, int operations) {
    for (int k = 0; k < operations; ++k) {
      const bool shrink = places_.size() >= most || dice_.one_in(3);
      if (!shrink || held_.empty()) {
        insert();
      } else if (dice_.one_in(2)) {
        erase(dice_.below(held_.size()));
      } else {
        move(dice_.below(held_.size()));
      }
      if (k % 64 == 0) compare();
    }
    while (!held_.empty()) {
      erase(dice_.below(held_.size()));
      if (held_.size() % 64 == 0) compare();
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
    const SeqHash hash{step_ * ++last_};
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
  const uint64_t step_;
  uint64_t last_ = 0;
  RunSlab runs_;
  BlockTable table_;
  std::vector<SeqHash> held_;
  std::unordered_map<uint64_t, BlockRef> places_;
};

}  // namespace

int main() {
  uint64_t seed = 1;
  for (const uint64_t step : {uint64_t{1}, uint64_t{1} << 32, uint64_t{0x9E3779B97F4A7C15}}) {
    Tables(seed++, step).play(40, 4000);
    Tables(seed++, step).play(6000, 20000);
  }
  std::puts("block table: ok");
}
