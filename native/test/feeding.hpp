// Short words for the tests that feed an index; every call validates it.
#pragma once

#include <algorithm>
#include <vector>

#include "core/index.hpp"
#include "test/byte_source.hpp"
#include "test/check.hpp"

namespace kvidx {

using Path = std::vector<SeqHash>;

inline Path chain(uint64_t salt, size_t size) {
  Path seq(size);
  for (size_t i = 0; i < size; ++i) seq[i] = SeqHash{mixed(salt * 1000000 + i)};
  return seq;
}

inline Path joined(const Path& a, const Path& b) {
  Path seq = a;
  seq.insert(seq.end(), b.begin(), b.end());
  return seq;
}

inline Path sorted(Path seq) {
  std::sort(seq.begin(), seq.end());
  return seq;
}

inline Path part(const Path& seq, size_t begin, size_t end) {
  return {seq.begin() + static_cast<ptrdiff_t>(begin), seq.begin() + static_cast<ptrdiff_t>(end)};
}

inline SlotRef bounded_slot(Index& index, uint32_t capacity, double ttl_ms = 0) {
  const SlotRef slot = index.add_slot();
  FeedResult result;
  CHECK(index.set_capacity(slot, capacity, ttl_ms, result) == Status::kOk);
  return slot;
}

inline SlotRef counted_slot(Index& index) {
  const SlotRef slot = index.add_slot();
  CHECK(index.count_references(slot) == Status::kOk);
  return slot;
}

inline FeedResult store(Index& index, SlotRef slot, const Path& seq, double now_ms = 1) {
  FeedResult result;
  CHECK(index.store(slot, seq, Parent::root(), now_ms, result) == Status::kOk);
  CHECK(index.validate() == "");
  return result;
}

inline FeedResult remove(Index& index, SlotRef slot, const Path& seq) {
  FeedResult result;
  CHECK(index.remove(slot, seq, result) == Status::kOk);
  CHECK(index.validate() == "");
  return result;
}

inline FeedResult refresh(Index& index, SlotRef slot, const Path& seq, double now_ms = 1) {
  FeedResult result;
  CHECK(index.refresh(slot, seq, now_ms, result) == Status::kOk);
  CHECK(index.validate() == "");
  return result;
}

inline FeedResult pin(Index& index, SlotRef slot, const Path& seq) {
  FeedResult result;
  CHECK(index.pin(slot, seq, result) == Status::kOk);
  CHECK(index.validate() == "");
  return result;
}

inline FeedResult unpin(Index& index, SlotRef slot, const Path& seq) {
  FeedResult result;
  CHECK(index.unpin(slot, seq, result) == Status::kOk);
  CHECK(index.validate() == "");
  return result;
}

inline FeedResult replace(Index& index, SlotRef slot, const std::vector<Path>& chains, double now_ms = 1) {
  std::vector<ToldChain> told;
  for (const Path& seq : chains) told.push_back({seq, Parent::root()});
  FeedResult result;
  CHECK(index.replace(slot, told, now_ms, result) == Status::kOk);
  CHECK(index.validate() == "");
  return result;
}

inline bool holds(const Index& index, SlotRef slot, const Path& seq) {
  return index.enumerate(slot.slot) == sorted(seq);
}

}  // namespace kvidx
