// Calls that name blocks and tell nothing: refresh, pin, unpin. They change no run.
#include "core/index.hpp"

namespace kvidx {

/// Calls visit(stretch, hit) for the known stretches of seq; visit calls hit(begin, end) for the parts that count, in order.
/// All others are unknown.
template <class Visit>
void Index::each_named(SeqSpan seq, FeedResult& result, Visit&& visit) {
  const auto miss = [&result](uint64_t i) {
    if (result.first_bad < 0) result.first_bad = static_cast<int64_t>(i);
  };
  for (uint64_t i = 0; i < seq.size();) {
    const BlockRef ref = table_.find(runs_, seq[i]);
    if (!ref.found()) {
      miss(i++);
      continue;
    }
    const Stretch s{i, match(runs_[ref.run], ref.at, seq.subspan(i)), ref.run, ref.at};
    Pos reached = s.at;
    visit(s, [&](Pos begin, Pos end) {
      if (begin > reached) miss(i + static_cast<uint64_t>(reached - s.at));
      result.applied += static_cast<uint64_t>(end - begin);
      reached = end;
    });
    if (reached < s.end()) miss(i + static_cast<uint64_t>(reached - s.at));
    i += s.n;
  }
  result.unknown = seq.size() - result.applied;
}

Status Index::refresh(SlotRef ref, SeqSpan seq, double now_ms, FeedResult& result) {
  result = {};
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  known_.clear();
  each_named(seq, result, [&](const Stretch& s, auto&& hit) {
    each_held(runs_[s.run], ref.slot, {s.at, s.end()}, [&](Pos begin, Pos end) {
      hit(begin, end);
      known_.push_back(
          {s.i + static_cast<uint64_t>(begin - s.at), static_cast<uint32_t>(end - begin), s.run, begin});
    });
  });
  const uint64_t base = take_stamps(seq.size());
  const bool here = bounded(slots_[ref.slot]), all = bounds_all();
  // From the end: of a block that is named twice the earlier place, which is the newer stamp, stays.
  for (size_t k = known_.size(); k-- > 0;) {
    const Stretch& s = known_[k];
    const uint64_t order = base + (seq.size() - 1 - s.i);
    if (here) stamp(ref.slot, s.run, {s.at, s.end()}, {order, now_ms});
    if (all) stamp(kEverybody, s.run, {s.at, s.end()}, {order, 0});
  }
  return Status::kOk;
}

Status Index::pin(SlotRef ref, SeqSpan seq, FeedResult& result) {
  result = {};
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  Slot& slot = slots_[ref.slot];
  each_named(seq, result, [&](const Stretch& s, auto&& hit) {
    each_held(runs_[s.run], ref.slot, {s.at, s.end()}, [&](Pos begin, Pos end) {
      hit(begin, end);
      sides_.get(s.run).pins.transform(ref.slot, begin, end, [&](Pos from, Pos to, Count pins) {
        if (pins.n == 0) slot.pinned += static_cast<uint64_t>(to - from);
        return pins.n == UINT32_MAX ? pins : Count{pins.n + 1};
      });
    });
  });
  return Status::kOk;
}

Status Index::unpin(SlotRef ref, SeqSpan seq, FeedResult& result) {
  result = {};
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  Slot& slot = slots_[ref.slot];
  each_named(seq, result, [&](const Stretch& s, auto&& hit) {
    RunSide* beside = side(s.run);
    if (beside == nullptr) return;
    bool freed = false;
    beside->pins.transform(ref.slot, s.at, s.end(), [&](Pos begin, Pos end, Count pins) {
      if (pins.n == 0) return pins;
      hit(begin, end);
      if (pins.n == 1) {
        slot.pinned -= static_cast<uint64_t>(end - begin);
        freed = true;
      }
      return Count{pins.n - 1};
    });
    if (freed && bounded(slot)) enqueue_range(ref.slot, s.run, {s.at, s.end()});
    if (freed && bounds_all()) enqueue_range(kEverybody, s.run, {s.at, s.end()});
    sides_.drop_if_empty(s.run);
  });
  return Status::kOk;
}

}  // namespace kvidx
