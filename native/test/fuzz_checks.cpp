// What the fuzz body asks of index and twin, and demands of the index alone.
#include "test/fuzz_body.hpp"

namespace kvidx {

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
    // More of them than are under way at once, each another part of the request. No bytes of the source, as below.
    std::vector<SeqSpan> requests;
    for (uint64_t k = 0; k < 20; ++k) {
      requests.push_back(SeqSpan(seq).subspan(mixed(operations_ + k) % (seq.size() + 1)));
    }
    ask(what(mode == Mode::kPrefix ? "overlap_many" : "overlap_many (set)"), [&](auto& x) {
      std::vector<uint32_t> out(requests.size() * x.slot_count(), 77);
      x.overlap_many(requests, mode, out);
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
  // These take no bytes of the source, so that saved sources keep their sense.
  std::vector<uint32_t> lengths{0, static_cast<uint32_t>(seq.size())};
  while (lengths.size() < 7) {
    lengths.push_back(static_cast<uint32_t>(mixed(operations_ + lengths.size()) % (seq.size() + 1)));
  }
  ask(what("exclusive_within"), [&](auto& x) {
    std::vector<uint32_t> out(lengths.size(), 77);
    x.exclusive_within(session, seq, max_owners, lengths, out);
    return answer(out);
  });
  ask(what("fair_within"), [&](auto& x) {
    std::vector<double> out(lengths.size(), 77);
    x.fair_within(seq, lengths, out);
    return answer(out);
  });
  if (seq.empty()) return;
  ask(what("contains"), [&](auto& x) { return Answer{x.contains(seq[0]), x.contains(seq.back())}; });
  const uint32_t slot = pick_slot().slot;
  ask([&] { return what("enumerate_exclusive")() + " slot " + std::to_string(slot); },
      [&](auto& x) { return answer(x.enumerate_exclusive(slot, session)); });
  ask([&] { return "evicted_by slot " + std::to_string(slot) + " " + text(seq); },
      [&](auto& x) {
        Answer causes;
        for (const SeqHash h : SeqSpan(seq).first(std::min<size_t>(seq.size(), 64))) {
          causes.push_back(static_cast<uint64_t>(x.evicted_by(slot, h)));
        }
        return causes;
      });
}

// Whole index
// -----------------------------------------------------------------------------------------------------

/// Restores a snapshot of now or of before, here or into a fresh index, which may have another bound. Not a bound where
/// the file has no stamps: what goes then is up to the order of its chains.
void FuzzBody::snapshot() {
  if (!saved_ || choose_.one_in(2)) {
    saved_.emplace(Saved{index_.snapshot(), twin_, options_.max_blocks > 0});
  }
  if (choose_.one_in(3)) {
    if (saved_->has_stamps && choose_.one_in(3)) {
      options_.max_blocks = choose_.one_of<uint64_t>({0, 1, 5, 40, 300, 3000});
    }
    index_ = Index(options_);
    twin_ = Twin(options_);
  }
  const std::string bad = index_.restore(saved_->bytes);
  demand(bad.empty(), "restore of an own snapshot names section " + bad);
  twin_ = saved_->twin.restored_over(twin_);
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

void FuzzBody::compact() {
  index_.compact();
  validate("compact");
  if (choose_.one_in(2)) check_all();
}

void FuzzBody::check_all() {
  ask([] { return "stats"; },
      [](auto& x) {
        const IndexStats s = x.stats();
        return Answer{s.blocks,           s.slots,    s.sessions, s.duplicates,
                      s.unknown_removes,  s.rejected, s.orphans,  s.evicted_by_capacity,
                      s.evicted_by_bound, s.expired};
      });
  ask([] { return "slot_numbers"; }, [](auto& x) { return answer(x.slot_numbers()); });
  ask([] { return "session_numbers"; }, [](auto& x) { return answer(x.session_numbers()); });
  for (const uint32_t slot : twin_.slot_numbers()) {
    ask([&] { return "enumerate " + std::to_string(slot); },
        [&](auto& x) { return answer(x.enumerate(slot)); });
    ask([&] { return "slot " + std::to_string(slot); },
        [&](auto& x) { return joined(answer(x.slot_figures(slot)), {x.incarnation(slot)}); });
  }
  const std::vector<std::pair<uint32_t, SeqHash>> evicted = twin_.evicted();
  ask([] { return "evicted_by all that are remembered"; },
      [&](auto& x) {
        Answer causes;
        for (const auto& [slot, h] : evicted) causes.push_back(static_cast<uint64_t>(x.evicted_by(slot, h)));
        return causes;
      });
  check_bounds();
  const IndexStats s = index_.stats();
  demand(s.runs <= s.blocks && (s.runs > 0) == (s.blocks > 0), "runs do not fit blocks");
  demand(s.used_bytes <= s.reserved_bytes && s.ownership_bytes <= s.reserved_bytes, "bytes do not fit");
}

void FuzzBody::check_bounds() {
  for (const SlotRef ref : slots_) {
    const SlotFigures f = index_.slot_figures(ref.slot);
    if (f.mode == SlotMode::kBounded && f.resident > f.capacity) {
      demand(false, text(ref) + " holds " + std::to_string(f.resident) + " blocks of at most " +
                        std::to_string(f.capacity));
    }
  }
  const uint64_t known = index_.known_blocks();
  if (options_.max_blocks > 0 && known > options_.max_blocks) {
    demand(false, std::to_string(known) + " known blocks of at most " + std::to_string(options_.max_blocks));
  }
  if (known != twin_.known_blocks()) {
    demand(false,
           "index knows " + std::to_string(known) + " blocks, twin " + std::to_string(twin_.known_blocks()));
  }
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
       [&](auto& x) { return Answer{x.end_idle_sessions(now_ms_ + 1).size()}; });
  check_all();
  const IndexStats s = index_.stats();
  const IndexStats fresh = Index(options_).stats();
  demand(s.blocks == 0 && s.runs == 0 && s.run_holders == 0, "an emptied index is not empty");
  demand(s.used_bytes == fresh.used_bytes, "an emptied index uses " + std::to_string(s.used_bytes) +
                                               " bytes, a fresh one " + std::to_string(fresh.used_bytes));
  index_.compact();
  validate("compact");
}

void FuzzBody::demand(bool holds, const std::string& what) {
  if (!holds) throw Difference{operations_, what};
}

void FuzzBody::validate(const std::string& after) {
  const std::string broken = index_.validate();
  demand(broken.empty(), "after " + after + ": " + broken);
}

}  // namespace kvidx
