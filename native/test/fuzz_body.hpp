// Bytes → operations on the index and on its twin: one body for the unit test with random seeds, for replay
// of files and for libFuzzer.
//
// Every answer of the index is compared with the twin's, and the bounds have to hold after every operation; builds with
// assertions also validate() then. What feeds is in fuzz_body.cpp, what concerns bounds in fuzz_bounds.cpp, what compares
// in fuzz_checks.cpp.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "test/fuzz_text.hpp"
#include "test/fuzz_world.hpp"
#include "test/twin.hpp"

namespace kvidx {

/// The first difference; what happened before it is printed when FuzzBody is verbose.
struct Difference {
  uint64_t operation;
  std::string text;
};

class FuzzBody {
 public:
  explicit FuzzBody(std::span<const uint8_t> bytes, bool verbose = false);

  std::optional<Difference> run();
  uint64_t operations() const { return operations_; }

 private:
  using Describe = std::function<std::string()>;

  void step();
  void turn();
  void store(SlotRef, const Chain&);
  void store_some();
  void store_lie();
  void remove(SlotRef, const Path&);
  void remove_some();
  void own(uint32_t session, const Path&);
  void own_some();
  void end_sessions();
  void change_slots();
  void add_slot();

  // fuzz_bounds.cpp
  void bind(SlotRef);
  void set_capacity(SlotRef);
  void count_references(SlotRef);
  void refresh(SlotRef, const Path&);
  void refresh_some();
  void favour_tail();
  void pin(SlotRef, const Path&);
  void pin_some();
  void unpin(SlotRef, const Path&);
  void unpin_some();
  void replace(SlotRef, const std::vector<Chain>&);
  void replace_some();
  void expire();
  Path some_blocks(SlotRef);
  bool is_bounded(SlotRef) const;
  bool is_live(SlotRef) const;

  // fuzz_checks.cpp
  void query();
  void query(const Path&, uint32_t session);
  void snapshot();
  void damage();
  void compact();
  void check_all();
  void check_bounds();
  void empty_and_check();
  void demand(bool holds, const std::string& what);
  void validate(const std::string& after);

  SlotRef pick_slot();
  uint32_t pick_session();
  double later();

  /// Runs an operation on both; ask() does not change them.
  template <class Op>
  Answer ask(const Describe& what, Op&& op);
  template <class Op>
  Answer feed(const Describe& what, Op&& op);
  /// Feeds an operation (index, result) → status, and compares the slot's figures after it as well.
  template <class Op>
  void feed_slot(const Describe& what, SlotRef, Op&& op);

  ByteSource choose_;
  bool verbose_;
  IndexOptions options_;
  uint32_t target_slots_;
  uint32_t bounded_of_8_;  // of new slots
  uint32_t capacity_;      // of most bounded slots
  World world_;
  Index index_;
  Twin twin_;
  std::vector<SlotRef> slots_;  // live ones
  std::vector<SlotRef> former_;
  struct Saved {
    std::vector<uint8_t> bytes;
    Twin twin;
    bool has_stamps;  // of all known blocks
  };
  std::optional<Saved> saved_;
  std::vector<std::pair<SlotRef, Path>> pinned_;  // some calls that pinned
  double now_ms_ = 0;
  uint64_t operations_ = 0;
};

template <class Op>
Answer FuzzBody::ask(const Describe& what, Op&& op) {
  ++operations_;
  const Answer index = op(index_);
  const Answer twin = op(twin_);
  if (index != twin)
    throw Difference{operations_, what() + ": index " + text(index) + ", twin " + text(twin)};
  return twin;
}

template <class Op>
Answer FuzzBody::feed(const Describe& what, Op&& op) {
  if (verbose_) {
    std::fprintf(stderr, "%6llu %s\n", static_cast<unsigned long long>(operations_ + 1), what().c_str());
  }
  const Answer twin = ask(what, op);
  check_bounds();
#ifndef NDEBUG
  validate("operation");
#endif
  return twin;
}

template <class Op>
void FuzzBody::feed_slot(const Describe& what, SlotRef slot, Op&& op) {
  feed(what, [&](auto& x) {
    FeedResult result;
    const Status status = op(x, result);
    return joined(answer(status, result), answer(x.slot_figures(slot.slot)));
  });
}

}  // namespace kvidx
