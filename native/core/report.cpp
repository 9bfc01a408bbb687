// Full reports. The chains are stored first and what they do not name goes afterwards, so that a block which stays never
// stops being known, and keeps its predecessor though the report may not know it.
#include <algorithm>

#include "core/index.hpp"

namespace kvidx {

Status Index::replace(SlotRef ref, std::span<const ToldChain> chains, double now_ms, FeedResult& result) {
  result = {};
  if (check(ref) != Status::kOk) return Status::kUnknownWorker;
  const auto away_from_root = [](const ToldChain& chain) {
    return !chain.seq.empty() && chain.parent.kind != PredKind::kRoot;
  };
  Slot& slot = slots_[ref.slot];
  if (bounded(slot) && std::any_of(chains.begin(), chains.end(), away_from_root))
    return Status::kParentOnBounded;

  std::vector<SeqHash> before;
  if (bounded(slot) || bounds_all()) before = enumerate(ref.slot);
  Call call{result, ref.slot, next_stamp_, 0, &before};
  std::vector<size_t> taken;
  for (size_t k = 0; k < chains.size(); ++k) {
    const auto& [seq, parent] = chains[k];
    if (seq.empty()) continue;
    if (!place(seq, parent)) {
      result.rejected += seq.size();
      rejected_ += seq.size();
      if (result.first_bad < 0) result.first_bad = static_cast<int64_t>(k);
      continue;
    }
    try {
      prepare_hold(ref.slot, seq);
      taken.push_back(k);
    } catch (...) {
      roll_back(seq);
      throw;
    }
    result.orphaned += resident_path_ ? 0 : seq.size();
    result.applied += hold(ref.slot, seq, parent, now_ms);
  }

  std::vector<Stretch> reported;
  for (const size_t k : taken) {
    each_known_stretch(chains[k].seq, [&](const Stretch& s, const Run&) {
      reported.push_back(s);
      return true;
    });
  }
  std::sort(reported.begin(), reported.end(), [](const Stretch& a, const Stretch& b) {
    return std::pair(a.run, a.at) < std::pair(b.run, b.at);
  });
  drop_unreported(ref.slot, reported);
  slot.last_store_ms = now_ms;
  slot.degraded = false;
  enforce(call);
  return Status::kOk;
}

/// The slot keeps one copy of each reported block and nothing else. `reported` is sorted by place.
void Index::drop_unreported(uint32_t number, std::span<const Stretch> reported) {
  Slot& slot = slots_[number];
  prune(slot.runs, &Run::holders, number);
  const std::vector<uint32_t> ids = slot.runs.ids();  // a split adds to the list
  for (const uint32_t id : ids) {
    if (RunSide* beside = side(id)) {
      beside->copies.subtract(number, 0, pos(kMaxRun));
      sides_.drop_if_empty(id);
    }
    parts_.clear();
    auto s = std::lower_bound(reported.begin(), reported.end(), id,
                              [](const Stretch& stretch, uint32_t run) { return stretch.run < run; });
    Pos from = runs_[id].first;
    for (; s != reported.end() && s->run == id; ++s) {
      if (from < s->at) parts_.push_back({from, s->at});
      from = std::max(from, s->end());
    }
    if (from < runs_[id].end) parts_.push_back({from, runs_[id].end});
    if (!parts_.empty()) release(number, id, parts_);
  }
}

}  // namespace kvidx
