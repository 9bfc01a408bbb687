// Long chains and long lives: a million blocks in one chain, a million random stores and removes, and the
// index that is left when all of it is gone.
#include <algorithm>
#include <cstdio>

#include "core/index.hpp"
#include "test/byte_source.hpp"
#include "test/check.hpp"

namespace {

using namespace kvidx;

constexpr uint32_t kMillion = 1000000;

std::vector<SeqHash> chain(uint64_t salt, size_t size) {
  std::vector<SeqHash> seq(size);
  for (size_t i = 0; i < size; ++i) seq[i] = SeqHash{mixed(salt * kMillion + i)};
  return seq;
}

uint32_t overlap(const Index& index, SeqSpan seq, uint32_t slot) {
  std::vector<uint32_t> out(index.slot_count());
  index.overlap(seq, Mode::kPrefix, out);
  return out[slot];
}

void check_empty(Index& index, const IndexStats& empty) {
  const IndexStats s = index.stats();
  CHECK(s.blocks == 0);
  CHECK(s.runs == 0);
  CHECK(s.run_holders == 0);
  CHECK(s.used_bytes == empty.used_bytes);
  index.compact();
  CHECK(index.stats().reserved_bytes <= 2 * std::max<uint64_t>(index.stats().used_bytes, 1));
  CHECK(index.validate().empty());
}

void a_chain_of_a_million_blocks_comes_and_goes() {
  const std::vector<SeqHash> seq = chain(1, kMillion);
  for (const size_t call : {size_t{kMillion}, size_t{1000}, size_t{1}}) {
    Index index;
    const SlotRef slot = index.add_slot();
    const SlotRef other = index.add_slot();
    const IndexStats empty = index.stats();
    FeedResult result;
    for (size_t i = 0; i < seq.size(); i += call) {
      // One call at a time checks the way up to the root each time; an unknown parent would make all of them
      // orphans.
      const Parent parent = i == 0 ? Parent::root() : call == 1 ? Parent::unknown() : Parent::of(seq[i - 1]);
      CHECK(index.store(slot, SeqSpan(seq).subspan(i, call), parent, 1, result) == Status::kOk);
      CHECK(result.applied == call);
    }
    CHECK(overlap(index, seq, slot.slot) == kMillion);
    CHECK(index.stats().blocks == kMillion);

    const uint32_t session = index.own(0, seq, 1, result);
    CHECK(result.applied == kMillion);
    CHECK(index.store(other, seq, Parent::root(), 1, result) == Status::kOk);
    CHECK(result.applied == kMillion && result.orphaned == 0);
    std::vector<uint32_t> out(2);
    index.exclusive_overlap(session, seq, Mode::kPrefix, 1, out);
    CHECK(out[0] == kMillion && out[1] == kMillion);
    CHECK(index.validate().empty());

    CHECK(index.remove(other, seq, result) == Status::kOk);
    CHECK(result.applied == kMillion);
    for (size_t i = seq.size(); i > 0; i -= call) {
      CHECK(index.remove(slot, SeqSpan(seq).subspan(i - call, call), result) == Status::kOk);
      CHECK(result.applied == call);
    }
    CHECK(index.end_session(session) == kMillion);
    check_empty(index, empty);
  }
}

// Short calls on chains that fork from each other: holes, splits, merges and dead interiors, many times over.
void a_million_random_stores_and_removes_leave_nothing() {
  constexpr uint32_t kSlots = 64;
  constexpr uint32_t kPaths = 200;
  constexpr uint32_t kLength = 600;
  constexpr uint32_t kShared = 100;
  Index index;
  std::vector<SlotRef> slots;
  for (uint32_t i = 0; i < kSlots; ++i) slots.push_back(index.add_slot());
  const IndexStats empty = index.stats();
  const std::vector<SeqHash> shared = chain(2, kShared);
  std::vector<std::vector<SeqHash>> paths;
  for (uint32_t i = 0; i < kPaths; ++i) {
    std::vector<SeqHash> path(shared.begin(), shared.begin() + i % kShared);
    const std::vector<SeqHash> own = chain(3 + i, kLength);
    path.insert(path.end(), own.begin(), own.end());
    paths.push_back(std::move(path));
  }
  uint64_t state = 42;
  const auto below = [&](uint64_t n) { return splitmix64(state) % n; };
  int64_t resident = 0;
  FeedResult result;
  for (uint32_t i = 0; i < kMillion; ++i) {
    const SlotRef slot = slots[below(kSlots)];
    const SeqSpan path = paths[below(kPaths)];
    const size_t begin = below(path.size());
    const SeqSpan seq = path.subspan(begin, std::min<size_t>(path.size() - begin, 1 + below(12)));
    if (below(2) == 0) {
      const Parent parent = begin == 0 ? Parent::root() : Parent::of(path[begin - 1]);
      CHECK(index.store(slot, seq, parent, 1, result) == Status::kOk);
      CHECK(result.rejected == 0);
      resident += static_cast<int64_t>(result.applied);
    } else {
      CHECK(index.remove(slot, seq, result) == Status::kOk);
      resident -= static_cast<int64_t>(result.applied);
    }
  }
  CHECK(index.validate().empty());
  for (const SlotRef slot : slots) {
    const std::vector<SeqHash> left = index.enumerate(slot.slot);
    CHECK(index.remove(slot, left, result) == Status::kOk);
    CHECK(result.unknown == 0 && result.applied == left.size());
    resident -= static_cast<int64_t>(left.size());
  }
  CHECK(resident == 0);
  check_empty(index, empty);
}

}  // namespace

int main() {
  a_chain_of_a_million_blocks_comes_and_goes();
  a_million_random_stores_and_removes_leave_nothing();
  std::printf("scale_test: passed\n");
}
