#include "test/fuzz_body.hpp"

#include <cstdio>

namespace kvidx {

namespace {

std::string text(const Path& seq) {
  std::string out = "{";
  for (size_t i = 0; i < seq.size(); ++i) {
    if (i == 8 && seq.size() > 12) {
      out += " … " + std::to_string(seq.size()) + " blocks";
      break;
    }
    char hash[24];
    std::snprintf(hash, sizeof hash, " %llx", static_cast<unsigned long long>(raw(seq[i])));
    out += hash;
  }
  return out + " }";
}

std::string text(const Parent& parent) {
  if (parent.kind == PredKind::kHash) return text(Path{parent.hash});
  return parent.kind == PredKind::kRoot ? "root" : "unknown";
}

std::string text(SlotRef ref) {
  return "slot " + std::to_string(ref.slot) + "/" + std::to_string(ref.incarnation);
}

std::vector<uint64_t> answer(Status status, const FeedResult& r) {
  return {static_cast<uint64_t>(status),      r.applied,      r.duplicate, r.unknown, r.orphaned, r.rejected,
          static_cast<uint64_t>(r.first_bad), r.ended_session};
}

template <class T>
std::vector<uint64_t> answer(const std::vector<T>& values) {
  std::vector<uint64_t> out;
  for (const T& value : values) {
    if constexpr (std::is_same_v<T, double>) {
      out.push_back(std::bit_cast<uint64_t>(value));
    } else {
      out.push_back(static_cast<uint64_t>(value));
    }
  }
  return out;
}

std::string text(const std::vector<uint64_t>& answer) {
  std::string out = "[";
  for (size_t i = 0; i < answer.size() && i < 90; ++i) out += " " + std::to_string(answer[i]);
  return out + (answer.size() > 90 ? " … ]" : " ]");
}

}  // namespace

FuzzBody::FuzzBody(std::span<const uint8_t> bytes, bool verbose)
    : choose_(bytes),
      verbose_(verbose),
      options_{choose_.one_of<uint32_t>({0, 0, 1, 3, 8, 40})},
      target_slots_(choose_.one_of<uint32_t>({1, 3, 9, 80})),
      world_(choose_),
      index_(options_),
      twin_(options_) {}

std::optional<Difference> FuzzBody::run() {
  // Long chains make operations a thousand times dearer.
  const uint64_t most = world_.is_long() ? 200 : UINT64_MAX;
  try {
    while (!choose_.empty() && operations_ < most) step();
    check_all();
    empty_and_check();
  } catch (const Difference& difference) {
    return difference;
  }
  return std::nullopt;
}

void FuzzBody::step() {
  const uint32_t kind = choose_.below(100);
  if (slots_.empty()) return change_slots();
  if (kind < 16) return turn();
  if (kind < 34) return store(pick_slot(), world_.part());
  if (kind < 50) return remove_some();
  if (kind < 60) return own_some();
  if (kind < 63) return end_sessions();
  if (kind < 67) return change_slots();
  if (kind < 88) return query();
  if (kind < 94) return store(pick_slot(), world_.lie());
  if (kind < 95) return own(pick_session(), world_.lie().seq);
  if (kind < 97) return check_all();
  if (kind < 98) return snapshot();
  if (kind < 99) return damage();
  index_.compact();
  validate("compact");
}

// One conversation goes on: its new blocks, or its whole prompt, appear on a slot, and its session owns the
// prompt.
void FuzzBody::turn() {
  const Path path = world_.turn();
  const SlotRef slot = pick_slot();
  const size_t known = choose_.one_in(3) ? 0 : choose_.below(path.size());
  query(path, pick_session());
  store(slot, world_.cut(path, known, path.size()));
  own(pick_session(), path);
}

void FuzzBody::store(SlotRef slot, const Chain& chain) {
  const double now = later();
  feed([&] { return "store " + text(slot) + " " + text(chain.seq) + " after " + text(chain.parent); },
       [&](auto& x) {
         FeedResult result;
         const Status status = x.store(slot, chain.seq, chain.parent, now, result);
         return answer(status, result);
       });
}

void FuzzBody::remove(SlotRef slot, const Path& seq) {
  feed([&] { return "remove " + text(slot) + " " + text(seq); },
       [&](auto& x) {
         FeedResult result;
         const Status status = x.remove(slot, seq, result);
         return answer(status, result);
       });
}

void FuzzBody::remove_some() {
  const SlotRef slot = pick_slot();
  Path seq = world_.part().seq;
  switch (choose_.below(8)) {
    case 0:
    case 1:
      return remove(slot, seq);
    case 2:
      std::reverse(seq.begin(), seq.end());
      return remove(slot, seq);
    case 3:
      return remove(slot, world_.handful());
    case 4:
      if (!seq.empty()) seq.push_back(seq[choose_.below(seq.size())]);
      return remove(slot, seq);
    case 5: {
      Path holes;
      const uint32_t stride = choose_.between(2, 5);
      for (size_t i = choose_.below(stride); i < seq.size(); i += stride) holes.push_back(seq[i]);
      return remove(slot, holes);
    }
    default: {
      const bool tail_first = choose_.one_in(2);
      for (size_t n = std::min<size_t>(seq.size(), 5), i = 0; i < n; ++i) {
        remove(slot, {tail_first ? seq[seq.size() - 1 - i] : seq[i]});
      }
    }
  }
}

void FuzzBody::own(uint32_t session, const Path& seq) {
  const double now = later();
  feed([&] { return "own session " + std::to_string(session) + " " + text(seq); },
       [&](auto& x) {
         FeedResult result;
         const uint32_t number = x.own(session, seq, now, result);
         Answer out = answer(Status::kOk, result);
         out.push_back(number);
         return out;
       });
}

void FuzzBody::own_some() {
  const Path& path = world_.pick();
  const size_t end = choose_.one_in(2) ? path.size() : choose_.below(path.size() + 1);
  own(pick_session(), Path(path.begin(), path.begin() + static_cast<ptrdiff_t>(end)));
}

void FuzzBody::end_sessions() {
  if (choose_.one_in(3)) {
    const double cutoff = now_ms_ - choose_.below(60);
    feed([&] { return "end_idle_sessions " + std::to_string(cutoff); },
         [&](auto& x) {
           Answer ended = answer(x.end_idle_sessions(cutoff));
           std::sort(ended.begin(), ended.end());
           return ended;
         });
  } else {
    const uint32_t session = pick_session();
    feed([&] { return "end_session " + std::to_string(session); },
         [&](auto& x) { return Answer{x.end_session(session)}; });
  }
}

void FuzzBody::change_slots() {
  const uint32_t kind = choose_.below(8);
  if (slots_.size() < target_slots_ && (slots_.empty() || kind < 5)) {
    const Answer ref = feed([] { return "add_slot"; },
                            [](auto& x) {
                              const SlotRef added = x.add_slot();
                              return Answer{added.slot, added.incarnation};
                            });
    slots_.push_back({static_cast<uint32_t>(ref[0]), static_cast<uint32_t>(ref[1])});
    return;
  }
  const bool stale = kind == 7 && !former_.empty();
  const SlotRef ref = stale ? former_[choose_.below(former_.size())] : pick_slot();
  if (kind < 2 || kind == 7) {
    feed([&] { return "remove_slot " + text(ref); },
         [&](auto& x) { return Answer{static_cast<uint64_t>(x.remove_slot(ref))}; });
    former_.push_back(ref);
    std::erase_if(slots_, [&](SlotRef s) { return s.slot == ref.slot && s.incarnation == ref.incarnation; });
  } else {
    feed([&] { return "clear " + text(ref); },
         [&](auto& x) {
           uint64_t removed = 0;
           const Status status = x.clear(ref, removed);
           return Answer{static_cast<uint64_t>(status), removed};
         });
  }
}

// Queries
// ---------------------------------------------------------------------------------------------------------

void FuzzBody::query() {
  Path seq;
  switch (choose_.below(6)) {
    case 0:
      seq = world_.handful();
      break;
    case 1:
      seq = world_.lie().seq;
      break;
    case 2:
      seq = world_.part().seq;
      break;
    default:
      seq = world_.pick();
  }
  query(seq, pick_session());
}

void FuzzBody::query(const Path& seq, uint32_t session) {
  const uint32_t max_owners = choose_.one_of<uint32_t>({1, 1, 2, 8});
  const auto what = [&](const char* name) {
    return [&, name] {
      return std::string(name) + " session " + std::to_string(session) + " max_owners " +
             std::to_string(max_owners) + " " + text(seq);
    };
  };
  for (const Mode mode : {Mode::kPrefix, Mode::kSet}) {
    ask(what(mode == Mode::kPrefix ? "overlap" : "overlap (set)"), [&](auto& x) {
      std::vector<uint32_t> out(x.slot_count(), 77);
      x.overlap(seq, mode, out);
      return answer(out);
    });
    ask(what(mode == Mode::kPrefix ? "exclusive_overlap" : "exclusive_overlap (set)"), [&](auto& x) {
      std::vector<uint32_t> out(x.slot_count(), 77);
      x.exclusive_overlap(session, seq, mode, max_owners, out);
      return answer(out);
    });
  }
  ask(what("fair_overlap"), [&](auto& x) {
    std::vector<double> out(x.slot_count(), 77);
    x.fair_overlap(seq, out);
    return answer(out);
  });
  if (seq.empty()) return;
  ask(what("contains"), [&](auto& x) { return Answer{x.contains(seq[0]), x.contains(seq.back())}; });
}

// Whole index
// -----------------------------------------------------------------------------------------------------

void FuzzBody::snapshot() {
  if (!saved_ || choose_.one_in(2)) saved_.emplace(Saved{index_.snapshot(), twin_});
  const bool elsewhere = choose_.one_in(3);
  if (elsewhere) index_ = Index(options_);
  const std::string bad = index_.restore(saved_->bytes);
  demand(bad.empty(), "restore of an own snapshot names section " + bad);
  twin_ = saved_->twin.restored_over(elsewhere ? Twin(options_) : twin_);
  for (const SlotRef ref : slots_) former_.push_back(ref);
  slots_.clear();
  for (const uint32_t slot : twin_.slot_numbers()) slots_.push_back({slot, twin_.incarnation(slot)});
  validate("restore");
  demand(index_.dump().empty() == (index_.stats().blocks == 0), "dump does not fit the number of blocks");
  check_all();
}

void FuzzBody::damage() {
  std::vector<uint8_t> bytes = index_.snapshot();
  const size_t at = choose_.below(bytes.size());
  switch (choose_.below(3)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.push_back(0);
      break;
    default:
      bytes[at] ^= static_cast<uint8_t>(1u << choose_.below(8));
  }
  demand(!index_.restore(bytes).empty(), "restore took a snapshot damaged at byte " + std::to_string(at));
  validate("restore of a damaged snapshot");
  check_all();
}

void FuzzBody::check_all() {
  ask([] { return "stats"; },
      [](auto& x) {
        const IndexStats s = x.stats();
        return Answer{s.blocks, s.slots, s.sessions, s.duplicates, s.unknown_removes, s.rejected, s.orphans};
      });
  ask([] { return "slot_numbers"; }, [](auto& x) { return answer(x.slot_numbers()); });
  ask([] { return "session_numbers"; }, [](auto& x) { return answer(x.session_numbers()); });
  for (const uint32_t slot : twin_.slot_numbers()) {
    ask([&] { return "enumerate " + std::to_string(slot); },
        [&](auto& x) { return answer(x.enumerate(slot)); });
    ask([&] { return "slot " + std::to_string(slot); },
        [&](auto& x) {
          return Answer{x.incarnation(slot), x.resident_blocks(slot),
                        std::bit_cast<uint64_t>(x.last_store_ms(slot))};
        });
  }
  const IndexStats s = index_.stats();
  demand(s.runs <= s.blocks && (s.runs > 0) == (s.blocks > 0), "runs do not fit blocks");
  demand(s.used_bytes <= s.reserved_bytes && s.ownership_bytes <= s.reserved_bytes, "bytes do not fit");
}

void FuzzBody::empty_and_check() {
  while (!slots_.empty()) {
    const SlotRef ref = slots_.back();
    if (choose_.one_in(2)) {
      Path seq = index_.enumerate(ref.slot);
      std::sort(seq.begin(), seq.end(), [](SeqHash a, SeqHash b) { return mixed(raw(a)) < mixed(raw(b)); });
      remove(ref, seq);
    }
    feed([&] { return "remove_slot " + text(ref); },
         [&](auto& x) { return Answer{static_cast<uint64_t>(x.remove_slot(ref))}; });
    slots_.pop_back();
  }
  feed([] { return "end_idle_sessions"; },
       [&](auto& x) { return Answer{x.end_idle_sessions(now_ms_).size()}; });
  check_all();
  const IndexStats s = index_.stats();
  const IndexStats fresh = Index(options_).stats();
  demand(s.blocks == 0 && s.runs == 0 && s.run_holders == 0, "an emptied index is not empty");
  demand(s.used_bytes == fresh.used_bytes, "an emptied index uses " + std::to_string(s.used_bytes) +
                                               " bytes, a fresh one " + std::to_string(fresh.used_bytes));
  index_.compact();
  validate("compact");
}

// Helpers
// ---------------------------------------------------------------------------------------------------------

SlotRef FuzzBody::pick_slot() {
  if (!former_.empty() && choose_.one_in(40)) return former_[choose_.below(former_.size())];
  return slots_[choose_.below(slots_.size())];
}

/// A live session, none, or any number.
uint32_t FuzzBody::pick_session() {
  const std::vector<uint32_t> live = twin_.session_numbers();
  const uint32_t kind = choose_.below(16);
  if (kind == 15) return choose_.below(50);
  return kind < 4 || live.empty() ? 0 : live[choose_.below(live.size())];
}

template <class Op>
FuzzBody::Answer FuzzBody::ask(const Describe& what, Op&& op) {
  ++operations_;
  const Answer index = op(index_);
  const Answer twin = op(twin_);
  if (index != twin)
    throw Difference{operations_, what() + ": index " + text(index) + ", twin " + text(twin)};
  return twin;
}

template <class Op>
FuzzBody::Answer FuzzBody::feed(const Describe& what, Op&& op) {
  if (verbose_) {
    std::fprintf(stderr, "%6llu %s\n", static_cast<unsigned long long>(operations_ + 1), what().c_str());
  }
  const Answer twin = ask(what, op);
#ifndef NDEBUG
  validate("operation");
#endif
  return twin;
}

void FuzzBody::demand(bool holds, const std::string& what) {
  if (!holds) throw Difference{operations_, what};
}

void FuzzBody::validate(const std::string& after) {
  const std::string broken = index_.validate();
  demand(broken.empty(), "after " + after + ": " + broken);
}

}  // namespace kvidx
