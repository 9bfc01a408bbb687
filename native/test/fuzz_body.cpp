#include "test/fuzz_body.hpp"

namespace kvidx {

FuzzBody::FuzzBody(std::span<const uint8_t> bytes, bool verbose)
    : choose_(bytes),
      verbose_(verbose),
      options_{.max_sessions = choose_.one_of<uint32_t>({0, 0, 1, 3, 8, 40}),
               .max_blocks = choose_.one_of<uint64_t>({0, 0, 0, 1, 5, 40, 300, 3000}),
               .evicted_history = choose_.one_of<uint32_t>({0, 0, 3, 1000})},
      target_slots_(choose_.one_of<uint32_t>({1, 3, 9, 80})),
      bounded_of_8_(choose_.one_of<uint32_t>({0, 2, 5, 8})),
      capacity_(choose_.one_of<uint32_t>({1, 3, 10, 60, 500})),
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
  const uint32_t kind = choose_.below(128);
  if (slots_.empty()) return change_slots();
  if (kind < 28) return turn();
  if (kind < 44) return store_some();
  if (kind < 50) return store_lie();
  if (kind < 62) return remove_some();
  if (kind < 69) return own_some();
  if (kind < 70) return own(pick_session(), world_.lie().seq);
  if (kind < 73) return end_sessions();
  if (kind < 77) return change_slots();
  if (kind < 81) return bind(pick_slot());
  if (kind < 89) return refresh_some();
  if (kind < 93) return pin_some();
  if (kind < 97) return unpin_some();
  if (kind < 103) return replace_some();
  if (kind < 106) return expire();
  if (kind < 109) return favour_tail();
  if (kind < 121) return query();
  if (kind < 124) return check_all();
  if (kind < 125) return snapshot();
  if (kind < 126) return damage();
  compact();
}

// One conversation goes on: its new blocks, or its whole prompt, appear on a slot, and its session owns the
// prompt.
void FuzzBody::turn() {
  const Path path = world_.turn();
  const SlotRef slot = pick_slot();
  const bool whole = is_bounded(slot) || choose_.one_in(3);
  const size_t known = whole ? 0 : choose_.below(path.size());
  query(path, pick_session());
  store(slot, world_.cut(path, known, path.size()));
  if (!choose_.one_in(4)) own(pick_session(), path);
}

// Residency
// -------------------------------------------------------------------------------------------------------

void FuzzBody::store(SlotRef slot, const Chain& chain) {
  const double now = later();
  feed_slot([&] { return "store " + text(slot) + " " + text(chain.seq) + " after " + text(chain.parent); },
            slot, [&](auto& x, FeedResult& r) { return x.store(slot, chain.seq, chain.parent, now, r); });
}

void FuzzBody::store_some() {
  const SlotRef slot = pick_slot();
  const bool from_root = is_bounded(slot) && !choose_.one_in(10);
  store(slot, from_root ? world_.head() : world_.part());
}

void FuzzBody::store_lie() {
  const SlotRef slot = pick_slot();
  Chain chain = world_.lie();
  if (is_bounded(slot) && !choose_.one_in(4)) chain.parent = Parent::root();
  store(slot, chain);
}

void FuzzBody::remove(SlotRef slot, const Path& seq) {
  feed_slot([&] { return "remove " + text(slot) + " " + text(seq); }, slot,
            [&](auto& x, FeedResult& r) { return x.remove(slot, seq, r); });
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

// Ownership
// -------------------------------------------------------------------------------------------------------

void FuzzBody::own(uint32_t session, const Path& seq) {
  const double now = later();
  feed([&] { return "own session " + std::to_string(session) + " " + text(seq); },
       [&](auto& x) {
         FeedResult result;
         const uint32_t number = x.own(session, seq, now, result);
         return joined(answer(Status::kOk, result), {number});
       });
}

void FuzzBody::own_some() {
  own(pick_session(), world_.head().seq);
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

// Slots
// -----------------------------------------------------------------------------------------------------------

void FuzzBody::change_slots() {
  const uint32_t kind = choose_.below(8);
  if (slots_.size() < target_slots_ && (slots_.empty() || kind < 5)) return add_slot();
  const bool stale = kind == 7 && !former_.empty();
  const SlotRef ref = stale ? former_[choose_.below(former_.size())] : pick_slot();
  if (kind < 2 || kind == 7) {
    feed_slot([&] { return "remove_slot " + text(ref); }, ref,
              [&](auto& x, FeedResult&) { return x.remove_slot(ref); });
    former_.push_back(ref);
    std::erase_if(slots_, [&](SlotRef s) { return s.slot == ref.slot && s.incarnation == ref.incarnation; });
  } else {
    feed_slot([&] { return "clear " + text(ref); }, ref,
              [&](auto& x, FeedResult& r) { return x.clear(ref, r.applied); });
    if (choose_.one_in(2)) bind(ref);
  }
}

void FuzzBody::add_slot() {
  const Answer added = feed([] { return "add_slot"; },
                            [](auto& x) {
                              const SlotRef ref = x.add_slot();
                              return Answer{ref.slot, ref.incarnation};
                            });
  const SlotRef ref{static_cast<uint32_t>(added[0]), static_cast<uint32_t>(added[1])};
  slots_.push_back(ref);
  if (choose_.below(8) < bounded_of_8_) {
    set_capacity(ref);
  } else if (choose_.one_in(3)) {
    count_references(ref);
  }
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

/// The time of a call; now and then between two milliseconds, or before that of the last one.
double FuzzBody::later() {
  const uint32_t tick = choose_.below(64);
  now_ms_ += tick % 3;
  if (tick == 63) return now_ms_ - choose_.below(40);
  return tick == 62 ? now_ms_ + 0.5 : now_ms_;
}

}  // namespace kvidx
