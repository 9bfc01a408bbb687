// Overlap, exclusive overlap and fair overlap, and both of these within given lengths. A slot's answer is kept in its output while the query is read:
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

void Index::overlap(SeqSpan seq, Mode mode, std::span<uint32_t> out, Equal equal) const {
  std::fill(out.begin(), out.end(), 0u);
  if (mode == Mode::kPrefix) {
    each_known_stretch(
        seq, [&](const Stretch& s, const Run& run) { return count_leading(run, s, out); }, equal);
    return;
  }
  each_stretch_skipping(seq, [&](const Stretch& s, const Run& run) {
    for (const Interval& v : run.holders.view()) {
      const int shared = std::min(v.end, s.end()) - std::max(v.begin, s.at);
      if (shared > 0) out[v.id] += static_cast<uint32_t>(shared);
    }
  });
}

/// Adds the next stretch to the slots that hold all before it; false when none of them holds all of it.
bool Index::count_leading(const Run& run, const Stretch& s, std::span<uint32_t> out) {
  bool somebody_goes_on = false;
  for (const Interval& v : run.holders.view()) {
    if (out[v.id] != s.i || s.at < v.begin || v.end <= s.at) continue;
    const Pos reached = std::min(v.end, s.end());
    out[v.id] += static_cast<uint32_t>(reached - s.at);
    somebody_goes_on |= reached == s.end();
  }
  return somebody_goes_on;
}

/// Adds what the blocks of a stretch weigh, from the run's owner steps. Always inlined, or `weights` would lie in memory.
template <class Weigh>
[[gnu::always_inline]] inline void Index::weigh_stretch(const Run& run, const Stretch& s, Weigh&& weigh,
                                                        PrefixWeights& weights) {
  run.each_step([&](const OwnerStep& step) {
    if (step.end <= s.at) return;
    weights.add(s.place(std::min(step.end, s.end())), weigh(step.count, step.owners_xor));
  });
  weights.add(s.i + s.n, weigh(0, 0));
}

/// out[slot] = Σ weight of the blocks that `overlap` counts for the slot.
template <class Out, class Weigh>
void Index::weighted_overlap(SeqSpan seq, Mode mode, Weigh&& weigh, std::span<Out> out, Equal equal) const {
  std::fill(out.begin(), out.end(), Out{0});
  // Most holders have the whole stretch: its sum is there already.
  const auto add = [&](uint32_t slot, const Stretch& s, const PrefixWeights& weights, Pos begin, Pos end) {
    if (begin >= end) return;
    out[slot] += static_cast<Out>(begin == s.at && end == s.end()
                                      ? weights.total()
                                      : weights.up_to(s.place(end)) - weights.up_to(s.place(begin)));
  };
  if (mode == Mode::kPrefix) {
    lead_.assign(out.size(), 0);
    const auto add_stretch = [&](const Stretch& s, const Run& run) {
      PrefixWeights weights(pieces_, s.i);
      weigh_stretch(run, s, weigh, weights);
      bool somebody_goes_on = false;
      for (const Interval& v : run.holders.view()) {
        if (lead_[v.id] != s.i || s.at < v.begin || v.end <= s.at) continue;
        const Pos reached = std::min(v.end, s.end());
        lead_[v.id] += static_cast<uint32_t>(reached - s.at);
        add(v.id, s, weights, s.at, reached);
        somebody_goes_on |= reached == s.end();
      }
      return somebody_goes_on;
    };
    each_known_stretch(seq, add_stretch, equal);
    return;
  }
  each_stretch_skipping(seq, [&](const Stretch& s, const Run& run) {
    PrefixWeights weights(pieces_, s.i);
    weigh_stretch(run, s, weigh, weights);
    for (const Interval& v : run.holders.view()) {
      add(v.id, s, weights, std::max(v.begin, s.at), std::min(v.end, s.end()));
    }
  });
}

/// out[w] = Σ weight of the first lengths[w] blocks, whoever holds them. One walk over the longest part serves all.
template <class Out, class Weigh>
void Index::weighted_within(SeqSpan seq, std::span<const uint32_t> lengths, Weigh&& weigh,
                            std::span<Out> out) const {
  const uint32_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  PrefixWeights weights(pieces_, 0);
  each_stretch_skipping(seq.first(longest), [&](const Stretch& s, const Run& run) {
    weights.add(s.i, weigh(0, 0));
    weigh_stretch(run, s, weigh, weights);
  });
  weights.add(longest, weigh(0, 0));
  for (size_t w = 0; w < lengths.size(); ++w) {
    out[w] = lengths[w] == 0 ? Out{0} : static_cast<Out>(weights.up_to(lengths[w]));
  }
}

namespace {

/// Calls fn(weigh), where weigh(count, owners_xor) is 1 for a block that counts as exclusive, else 0.
template <class Fn>
void weighing_exclusive(uint32_t session, uint32_t max_owners, Fn&& fn) {
  if (max_owners == 1) {
    fn([session](uint32_t count, uint32_t owners_xor) {
      return count == 1 && owners_xor == session ? 1u : 0u;
    });
  } else {
    fn([max_owners](uint32_t count, uint32_t) { return count >= 1 && count <= max_owners ? 1u : 0u; });
  }
}

constexpr auto fair_share = [](uint32_t count, uint32_t) {
  constexpr uint32_t kWhole = 1u << 20;
  return count == 0 ? kWhole : kWhole / count;
};

}  // namespace

void Index::exclusive_overlap(uint32_t session, SeqSpan seq, Mode mode, uint32_t max_owners,
                              std::span<uint32_t> out, Equal equal) const {
  weighing_exclusive(session, max_owners,
                     [&](auto weigh) { weighted_overlap(seq, mode, weigh, out, equal); });
}

void Index::fair_overlap(SeqSpan seq, std::span<double> out, Equal equal) const {
  weighted_overlap(seq, Mode::kPrefix, fair_share, out, equal);
}

void Index::exclusive_within(uint32_t session, SeqSpan seq, uint32_t max_owners,
                             std::span<const uint32_t> lengths, std::span<uint32_t> out) const {
  weighing_exclusive(session, max_owners, [&](auto weigh) { weighted_within(seq, lengths, weigh, out); });
}

void Index::fair_within(SeqSpan seq, std::span<const uint32_t> lengths, std::span<double> out) const {
  weighted_within(seq, lengths, fair_share, out);
}

bool Index::contains(SeqHash hash) const {
  return table_.find(runs_, hash).found();
}

}  // namespace kvidx
