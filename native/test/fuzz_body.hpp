// Bytes → operations on the index and on its twin: one body for the unit test with random seeds, for replay
// of files and for libFuzzer.
//
// Every answer of the index is compared with the twin's; builds with assertions also validate() after every
// operation.
#pragma once

#include <bit>
#include <functional>
#include <optional>
#include <string>

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
  /// What an operation answers, in words that compare.
  using Answer = std::vector<uint64_t>;
  using Describe = std::function<std::string()>;

  void step();
  void turn();
  void store(SlotRef, const Chain&);
  void remove(SlotRef, const Path&);
  void remove_some();
  void own(uint32_t session, const Path&);
  void own_some();
  void end_sessions();
  void change_slots();
  void query();
  void query(const Path&, uint32_t session);
  void snapshot();
  void damage();
  void check_all();
  void empty_and_check();

  SlotRef pick_slot();
  uint32_t pick_session();
  double later() { return now_ms_ += choose_.below(3); }

  /// Runs an operation on both; ask() does not change them.
  template <class Op>
  Answer ask(const Describe& what, Op&& op);
  template <class Op>
  Answer feed(const Describe& what, Op&& op);
  void demand(bool holds, const std::string& what);
  void validate(const std::string& after);

  ByteSource choose_;
  bool verbose_;
  IndexOptions options_;
  uint32_t target_slots_;
  World world_;
  Index index_;
  Twin twin_;
  std::vector<SlotRef> slots_;  // live ones
  std::vector<SlotRef> former_;
  struct Saved {
    std::vector<uint8_t> bytes;
    Twin twin;
  };
  std::optional<Saved> saved_;
  double now_ms_ = 0;
  uint64_t operations_ = 0;
};

}  // namespace kvidx
