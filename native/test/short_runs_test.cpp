// Prompts that lie in many runs of all lengths: what is looked for ahead, in turns with other requests, or by the last hash
// of a stretch alone, is what the twin counts.
#include <cstdio>

#include "test/dice.hpp"
#include "test/feeding.hpp"
#include "test/twin.hpp"

namespace {

using namespace kvidx;

constexpr uint32_t kSlots = 5, kSessions = 4;

/// Conversations that branch off each other anywhere; no hash stands behind two different ones.
class Conversations {
 public:
  explicit Conversations(uint64_t seed) : dice_(seed), paths_{fresh(dice_.between(1, 600))} {
    for (uint32_t k = 0; k < kSlots; ++k) {
      CHECK(index_.add_slot().slot == k);
      (void)twin_.add_slot();
    }
  }

  void play() {
    for (int step = 0; step < 120; ++step) {
      if (dice_.one_in(4)) {
        remove_some();
      } else {
        store_more();
      }
      if (dice_.one_in(3)) compare();
    }
    CHECK(index_.validate().empty());
  }

 private:
  Path fresh(size_t n) {
    Path seq(n);
    for (SeqHash& hash : seq) hash = SeqHash{mixed(++last_)};
    return seq;
  }
  const Path& any() { return paths_[dice_.below(paths_.size())]; }
  SlotRef any_slot() { return {static_cast<uint32_t>(dice_.below(kSlots)), 1}; }

  /// A conversation goes on from somewhere; the slot may hold nothing of what came before.
  void store_more() {
    const Path& from = any();
    const size_t cut = dice_.between(1, from.size());
    const size_t more = dice_.one_in(6) ? dice_.between(200, 700) : dice_.between(1, 150);
    const Path path = joined(part(from, 0, cut), fresh(more));
    const size_t begin = dice_.one_in(2) ? 0 : cut;
    const Parent parent = begin == 0 ? Parent::root() : Parent::of(path[begin - 1]);
    const SeqSpan told = SeqSpan(path).subspan(begin);
    const SlotRef slot = any_slot();
    FeedResult ours, theirs;
    CHECK(index_.store(slot, told, parent, 0, ours) == twin_.store(slot, told, parent, 0, theirs));
    CHECK(ours.applied == theirs.applied);
    const auto session = static_cast<uint32_t>(dice_.below(kSessions));
    CHECK(index_.own(session, path, 0, ours) == twin_.own(session, path, 0, theirs));
    paths_.push_back(path);
  }

  void remove_some() {
    const Path& path = any();
    const size_t begin = dice_.below(path.size());
    const SeqSpan gone =
        SeqSpan(path).subspan(begin, std::min<size_t>(path.size() - begin, dice_.between(1, 90)));
    const SlotRef slot = any_slot();
    FeedResult ours, theirs;
    CHECK(index_.remove(slot, gone, ours) == twin_.remove(slot, gone, theirs));
    CHECK(ours.applied == theirs.applied);
  }

  /// A part of a conversation, whole or with something new behind it, or in the middle of it.
  Path request(bool chained) {
    Path seq = any();
    seq.resize(dice_.between(0, seq.size()));
    if (dice_.one_in(3)) seq = joined(seq, fresh(dice_.between(1, 300)));
    if (!chained && !seq.empty() && dice_.one_in(3)) seq[dice_.below(seq.size())] = fresh(1)[0];
    if (!chained && dice_.one_in(6)) seq = joined(seq, any());
    return seq;
  }

  void compare() {
    std::vector<Path> paths;
    for (int k = 0; k < 30; ++k) paths.push_back(request(k % 2 == 0));
    const std::vector<SeqSpan> requests(paths.begin(), paths.end());
    for (const Mode mode : {Mode::kPrefix, Mode::kSet}) {
      std::vector<uint32_t> ours(requests.size() * kSlots, 7), theirs(ours.size(), 8);
      index_.overlap_many(requests, mode, ours);
      twin_.overlap_many(requests, mode, theirs);
      CHECK(ours == theirs);
      for (size_t k = 0; k < requests.size(); ++k) {
        index_.overlap(requests[k], mode, std::span(ours).subspan(k * kSlots, kSlots));
      }
      CHECK(ours == theirs);
    }
    for (size_t k = 0; k < requests.size(); ++k) {
      for (const Equal equal : {Equal::kEach, Equal::kLast}) {
        if (equal == Equal::kEach || k % 2 == 0) compare(requests[k], equal);
      }
    }
  }

  void compare(SeqSpan seq, Equal equal) {
    const auto session = static_cast<uint32_t>(dice_.between(1, kSessions));
    std::vector<uint32_t> ours(kSlots, 7), theirs(kSlots, 8);
    index_.overlap(seq, Mode::kPrefix, ours, equal);
    twin_.overlap(seq, Mode::kPrefix, theirs);
    CHECK(ours == theirs);
    index_.exclusive_overlap(session, seq, Mode::kPrefix, 1, ours, equal);
    twin_.exclusive_overlap(session, seq, Mode::kPrefix, 1, theirs);
    CHECK(ours == theirs);
    std::vector<double> fair(kSlots, 7), fair_theirs(kSlots, 8);
    index_.fair_overlap(seq, fair, equal);
    twin_.fair_overlap(seq, fair_theirs);
    CHECK(fair == fair_theirs);
  }

  Dice dice_;
  uint64_t last_ = 0;
  std::vector<Path> paths_;
  Index index_;
  Twin twin_;
};

/// Blocks of another making between two that are equal: only who asks for the last hash alone is fooled.
void a_query_looks_at_each_hash() {
  Index index;
  const SlotRef slot = index.add_slot();
  Path stored = chain(1, 300), asked = stored;
  asked[150] = SeqHash{5};
  store(index, slot, stored);
  std::vector<uint32_t> out(1);
  index.overlap(asked, Mode::kPrefix, out);
  CHECK(out[0] == 150);
  index.overlap(asked, Mode::kPrefix, out, Equal::kLast);
  CHECK(out[0] == 300);
  const SeqSpan requests[] = {asked};
  index.overlap_many(requests, Mode::kPrefix, out);
  CHECK(out[0] == 150);
}

}  // namespace

int main() {
  a_query_looks_at_each_hash();
  for (uint64_t seed = 1; seed <= 8; ++seed) Conversations(seed).play();
  std::puts("short runs: ok");
}
