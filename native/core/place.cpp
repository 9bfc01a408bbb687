// From a told chain to stretches: which blocks of a call are known, which are fresh, and does the call agree
// with what is known. Fresh blocks are entered in the table while the call is read (so a repeated hash shows
// at once) at positions behind their run's `end`; settle() makes them part of the run, roll_back() takes them
// out again.
#include <unordered_set>

#include "core/index.hpp"

namespace kvidx {

namespace {
/// Table lines asked for ahead of the block being entered.
constexpr uint64_t kAhead = 24;
}  // namespace

Parent Index::predecessor(BlockRef ref) const {
  const Run& run = runs_[ref.run];
  if (ref.at > run.first) return Parent::of(run.blocks[ref.at - 1]);
  return {run.pred_kind, run.pred};
}

bool Index::place(SeqSpan seq, Parent parent) {
  placed_.clear();
  try {
    Parent told = parent;
    bool learns = false;
    for (uint64_t i = 0; i < seq.size(); told = Parent::of(seq[i - 1])) {
      const BlockRef ref = table_.find(runs_, seq[i]);
      if (!(ref.found() ? place_known(seq, i, ref, told) : place_fresh(seq, i, told))) {
        roll_back(seq);
        return false;
      }
      learns |= placed_.back().learns;
    }
    // A chain that starts at the root and agrees with everything known cannot repeat a block or close a
    // cycle.
    if ((learns || parent.kind != PredKind::kRoot) && would_repeat_or_cycle(parent)) {
      roll_back(seq);
      return false;
    }
    return true;
  } catch (...) {
    roll_back(seq);
    throw;
  }
}

bool Index::place_known(SeqSpan seq, uint64_t& i, BlockRef ref, Parent told) {
  const Run& run = runs_[ref.run];
  if (ref.at >= run.end) return false;  // entered by this very call: a repeated hash
  const Parent known = predecessor(ref);
  bool learns = false;
  if (told.kind != PredKind::kUnknown && known != told) {
    if (known.kind != PredKind::kUnknown) return false;
    learns = true;
  }
  const uint32_t n = match(run, ref.at, seq.subspan(i));
  placed_.push_back({{i, n, ref.run, ref.at}, false, learns});
  i += n;
  return true;
}

bool Index::place_fresh(SeqSpan seq, uint64_t& i, Parent told) {
  BlockRef tail;
  if (!placed_.empty()) {
    tail = {placed_.back().run, pos(placed_.back().end() - 1u)};
  } else if (told.kind == PredKind::kHash) {
    tail = table_.find(runs_, told.hash);
  }
  const uint64_t rest = seq.size() - i;
  uint32_t id = tail.run;
  if (tail.found() && runs_[id].end == tail.at + 1 && runs_[id].end < kMaxRun && !runs_[id].growing) {
    reserve_room(id, static_cast<uint32_t>(std::min<uint64_t>(runs_[id].end + rest, kMaxRun)));
  } else {
    id = runs_.take();
    placed_.push_back({{i, 0, id, 0}, true, false});  // so that roll_back() gives the run back
    resize(id, static_cast<uint32_t>(std::min<uint64_t>(rest, kMaxRun)));
    placed_.pop_back();
  }
  Run& run = runs_[id];
  run.growing = true;
  const uint64_t first = i;
  placed_.push_back({{first, 0, id, run.end}, true, false});

  const uint64_t limit = i + std::min<uint64_t>(rest, kMaxRun - run.end);
  for (uint64_t k = i; k < std::min(limit, i + kAhead); ++k) table_.prefetch(seq[k]);
  for (; i < limit; ++i) {
    if (i + kAhead < limit) table_.prefetch(seq[i + kAhead]);
    Placed& placed = placed_.back();
    const BlockRef here{id, placed.end()};
    run.blocks[here.at] = seq[i];
    const BlockRef known = table_.find_or_insert(runs_, seq[i], here);
    if (known.found())
      return known.at < runs_[known.run].end;  // else entered by this very call: a repeated hash
    ++placed.n;
  }
  return true;
}

bool Index::would_repeat_or_cycle(Parent parent) const {
  std::vector<Stretch> known;
  bool tells = false;
  for (const Placed& p : placed_) {
    tells |= p.fresh || p.learns;
    if (!p.fresh) known.push_back(p);
  }
  if (!tells) return false;
  const auto earlier = [](const Stretch& a, const Stretch& b) {
    return std::pair(a.run, a.at) < std::pair(b.run, b.at);
  };
  std::sort(known.begin(), known.end(), earlier);
  for (size_t k = 1; k < known.size(); ++k) {
    if (known[k - 1].run == known[k].run && known[k - 1].end() > known[k].at) return true;
  }

  // Walk up from the call's first block; meeting a block of the call closes a cycle.
  Parent up = parent;
  if (parent.kind == PredKind::kUnknown && !placed_.front().fresh) {
    up = predecessor({placed_.front().run, placed_.front().at});
  }
  while (up.kind == PredKind::kHash) {
    const BlockRef ref = table_.find(runs_, up.hash);
    if (!ref.found()) return false;
    const Run& run = runs_[ref.run];
    if (ref.at >= run.end) return true;
    const auto in_run = std::lower_bound(known.begin(), known.end(), Stretch{0, 0, ref.run, 0}, earlier);
    if (in_run != known.end() && in_run->run == ref.run && in_run->at <= ref.at) return true;
    up = {run.pred_kind, run.pred};
  }
  return false;
}

void Index::roll_back(SeqSpan seq) {
  for (const Placed& p : placed_) {
    if (!p.fresh) continue;
    for (uint32_t k = 0; k < p.n; ++k) table_.erase(runs_.arena(), seq[p.i + k], {p.run, pos(p.at + k)});
    runs_[p.run].growing = false;
    if (!runs_[p.run].live()) runs_.give(p.run);
  }
  placed_.clear();
}

void Index::settle(SeqSpan seq, Parent parent) {
  for (const Placed& p : placed_) {
    Run& run = runs_[p.run];
    if (p.learns || (p.fresh && !run.live())) {
      const Parent told = p.i == 0 ? parent : Parent::of(seq[p.i - 1]);
      run.pred_kind = told.kind;
      run.pred = told.hash;
    }
    if (p.fresh) {
      run.end = p.end();
      run.growing = false;
      // A gap that was filled needs less than the rest of the call. Positions must not move yet.
      if (run.first == 0) shrink_if_sparse(p.run);
    }
  }
}

int64_t Index::first_bad(SeqSpan seq, Parent parent) const {
  for (uint64_t i = 0; i < seq.size(); ++i) {
    const Parent told = i == 0 ? parent : Parent::of(seq[i - 1]);
    const BlockRef ref = table_.find(runs_, seq[i]);
    if (!ref.found() || told.kind == PredKind::kUnknown) continue;
    const Parent known = predecessor(ref);
    if (known.kind != PredKind::kUnknown && known != told) return static_cast<int64_t>(i);
  }
  std::unordered_set<SeqHash> seen;
  for (uint64_t i = 0; i < seq.size(); ++i) {
    if (!seen.insert(seq[i]).second) return static_cast<int64_t>(i);
  }
  return 0;
}

void Index::reject(SeqSpan seq, Parent parent, FeedResult& result) {
  result.rejected = seq.size();
  result.first_bad = first_bad(seq, parent);
  rejected_ += seq.size();
}

}  // namespace kvidx
