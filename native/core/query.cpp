// Overlap, exclusive overlap and fair overlap. A slot's answer is kept in its output while the query is read:
// in prefix mode a slot is still in the race at block i exactly when it has counted i leading blocks, so a
// stretch costs one pass over the run's intervals and no bookkeeping beside.
#include <algorithm>

#include "core/index.hpp"

namespace kvidx {

/// Every known stretch of seq, unknown blocks skipped.
template <class Fn>
void Index::each_stretch_skipping(SeqSpan seq, Fn&& fn) const {
  constexpr uint64_t kAhead = 8;
  for (uint64_t i = 0; i < seq.size();) {
    if (i + kAhead < seq.size()) table_.prefetch(seq[i + kAhead]);
    const BlockRef ref = table_.find(runs_, seq[i]);
    if (!ref.found()) {
      ++i;
      continue;
    }
    const Run& run = runs_[ref.run];
    const Stretch s{i, match(run, ref.at, seq.subspan(i)), ref.run, ref.at};
    fn(s, run);
    i += s.n;
  }
}

void Index::overlap(SeqSpan seq, Mode mode, std::span<uint32_t> out) const {
  std::fill(out.begin(), out.end(), 0u);
  if (mode == Mode::kPrefix) {
    each_known_stretch(seq, [&](const Stretch& s, const Run& run) {
      bool somebody_goes_on = false;
      for (const Interval& v : run.holders.view()) {
        if (out[v.id] != s.i || s.at < v.begin || v.end <= s.at) continue;
        const Pos reached = std::min(v.end, s.end());
        out[v.id] += static_cast<uint32_t>(reached - s.at);
        somebody_goes_on |= reached == s.end();
      }
      return somebody_goes_on;
    });
    return;
  }
  each_stretch_skipping(seq, [&](const Stretch& s, const Run& run) {
    for (const Interval& v : run.holders.view()) {
      const int shared = std::min(v.end, s.end()) - std::max(v.begin, s.at);
      if (shared > 0) out[v.id] += static_cast<uint32_t>(shared);
    }
  });
}

/// The parts of a stretch that weigh the same a block, from the run's owner steps.
template <class Weigh>
void Index::weigh_stretch(const Run& run, const Stretch& s, Weigh&& weigh) const {
  pieces_.clear();
  Pos begin = s.at;
  uint64_t before = 0;
  const auto piece = [&](Pos end, uint32_t count, uint32_t owners_xor) {
    end = std::min(end, s.end());
    if (end <= begin) return;
    const uint32_t weight = weigh(count, owners_xor);
    pieces_.push_back({begin, weight, before});
    before += uint64_t{weight} * static_cast<uint64_t>(end - begin);
    begin = end;
  };
  run.each_step([&](const OwnerStep& step) { piece(step.end, step.count, step.owners_xor); });
  piece(s.end(), 0, 0);
}

/// out[slot] = Σ weight of the blocks that `overlap` counts for the slot.
template <class Out, class Weigh>
void Index::weighted_overlap(SeqSpan seq, Mode mode, Weigh&& weigh, std::span<Out> out) const {
  std::fill(out.begin(), out.end(), Out{0});
  // Weight of a stretch's blocks before `at`.
  const auto up_to = [&](Pos at) {
    auto piece = pieces_.end() - 1;
    if (piece->begin > at) {
      piece = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                               [](Pos p, const Piece& v) { return p < v.begin; }) -
              1;
    }
    return piece->before + uint64_t{piece->weight} * static_cast<uint64_t>(at - piece->begin);
  };
  // Most holders have the whole stretch: its sum is reckoned once.
  const auto add = [&](uint32_t slot, const Stretch& s, uint64_t whole, Pos begin, Pos end) {
    if (begin >= end) return;
    out[slot] += static_cast<Out>(begin == s.at && end == s.end() ? whole : up_to(end) - up_to(begin));
  };
  if (mode == Mode::kPrefix) {
    lead_.assign(out.size(), 0);
    each_known_stretch(seq, [&](const Stretch& s, const Run& run) {
      weigh_stretch(run, s, weigh);
      const uint64_t whole = up_to(s.end());
      bool somebody_goes_on = false;
      for (const Interval& v : run.holders.view()) {
        if (lead_[v.id] != s.i || s.at < v.begin || v.end <= s.at) continue;
        const Pos reached = std::min(v.end, s.end());
        lead_[v.id] += static_cast<uint32_t>(reached - s.at);
        add(v.id, s, whole, s.at, reached);
        somebody_goes_on |= reached == s.end();
      }
      return somebody_goes_on;
    });
    return;
  }
  each_stretch_skipping(seq, [&](const Stretch& s, const Run& run) {
    weigh_stretch(run, s, weigh);
    const uint64_t whole = up_to(s.end());
    for (const Interval& v : run.holders.view()) {
      add(v.id, s, whole, std::max(v.begin, s.at), std::min(v.end, s.end()));
    }
  });
}

void Index::exclusive_overlap(uint32_t session, SeqSpan seq, Mode mode, uint32_t max_owners,
                              std::span<uint32_t> out) const {
  if (max_owners == 1) {
    weighted_overlap(
        seq, mode,
        [session](uint32_t count, uint32_t owners_xor) {
          return count == 1 && owners_xor == session ? 1u : 0u;
        },
        out);
  } else {
    weighted_overlap(
        seq, mode,
        [max_owners](uint32_t count, uint32_t) { return count >= 1 && count <= max_owners ? 1u : 0u; }, out);
  }
}

void Index::fair_overlap(SeqSpan seq, std::span<double> out) const {
  constexpr uint32_t kWhole = 1u << 20;
  weighted_overlap(
      seq, Mode::kPrefix, [](uint32_t count, uint32_t) { return count == 0 ? kWhole : kWhole / count; }, out);
}

bool Index::contains(SeqHash hash) const {
  return table_.find(runs_, hash).found();
}

}  // namespace kvidx
