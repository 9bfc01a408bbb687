// From a told chain to stretches: which blocks of a call are known, which are fresh, and does the call agree
// with what is known. Fresh blocks are entered in the table while the call is read (so a repeated hash shows
// at once) at positions behind their run's `end`; settle() makes them part of the run, roll_back() takes them
// out again.
#include <algorithm>
#include <unordered_set>

#include "core/index.hpp"

namespace kvidx {

namespace {
/// Table lines asked for ahead of the block being entered.
constexpr uint64_t kAhead = 24;
/// Places that a growing run gets at least.
constexpr uint64_t kFirstRoom = 32;

bool in_run_order(const Stretch& a, const Stretch& b) {
  return std::pair(a.run, a.at) < std::pair(b.run, b.at);
}
}  // namespace

Parent Index::predecessor(BlockRef ref) const {
  const Run& run = runs_[ref.run];
  if (ref.at > run.first) return Parent::of(run.blocks[ref.at - 1]);
  return {run.pred_kind, run.pred};
}

bool Index::place(SeqSpan seq, Parent parent) {
  placed_.clear();
  resident_path_ = true;
  parent_at_ = parent.kind == PredKind::kHash ? table_.find(runs_, parent.hash) : BlockRef{};
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
    // A chain that starts at the root and agrees with everything known cannot repeat a block or close a cycle.
    const bool from_root = parent.kind == PredKind::kRoot;
    if ((learns && repeats_known()) || (!from_root && (repeats_known() || !climb(parent)))) {
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
    tail = parent_at_;  // the call's first block
  }
  const uint64_t rest = seq.size() - i;
  placed_.push_back({{i, 0, kNoRun, 0}, true, false});
  uint32_t id = tail.run;
  const bool grows =
      tail.found() && runs_[id].end == tail.at + 1 && runs_[id].end < kMaxRun && !runs_[id].growing;
  if (!grows) id = runs_.take();
  Run& run = runs_[id];
  run.growing = true;
  placed_.back().run = id;
  placed_.back().at = run.end;
  // A new run borrows the call's own array until its size is known. One that grows gets room by and by: in a call that
  // fills many holes the rest of the call says little about this one.
  if (!grows) runs_.set_blocks(id, const_cast<SeqHash*>(seq.data() + i));

  const uint64_t limit = i + std::min<uint64_t>(rest, kMaxRun - run.end);
  for (uint64_t k = i; k < std::min(limit, i + kAhead); ++k) table_.prefetch(seq[k]);
  bool repeated = false;
  for (; i < limit; ++i) {
    if (i + kAhead < limit) table_.prefetch(seq[i + kAhead]);
    Placed& placed = placed_.back();
    const BlockRef here{id, placed.end()};
    if (grows) {
      if (here.at >= run.capacity) {
        const uint64_t most = std::min<uint64_t>(limit - i, std::max<uint64_t>(kFirstRoom, here.at / 4));
        reserve_room(id, here.at, static_cast<uint32_t>(here.at + most));
      }
      run.blocks[here.at] = seq[i];
    }
    const BlockRef known = table_.find_or_insert(runs_, seq[i], here);
    if (known.found()) {
      repeated = known.at >= runs_[known.run].end;  // entered by this very call
      break;
    }
    ++placed.n;
  }
  if (!grows) {
    const uint32_t n = placed_.back().n;
    auto* own = static_cast<SeqHash*>(runs_.arena().allocate(n * sizeof(SeqHash)));
    std::memcpy(own, run.blocks, n * sizeof(SeqHash));
    runs_.set_blocks(id, own);
    run.capacity = pos(n);
  }
  return !repeated;
}

/// The call's known stretches, sorted by place; answers whether two of them overlap.
bool Index::repeats_known() {
  known_.clear();
  for (const Placed& p : placed_) {
    if (!p.fresh) known_.push_back(p);
  }
  std::sort(known_.begin(), known_.end(), in_run_order);
  for (size_t k = 1; k < known_.size(); ++k) {
    if (known_[k - 1].run == known_[k].run && known_[k - 1].end() > known_[k].at) return true;
  }
  return false;
}

/// Walks up from the call's first block, after repeats_known(). False when it meets a block of the call: that would close
/// a cycle. Sets resident_path_: is every block on the way resident on some slot, up to the root?
bool Index::climb(Parent parent) {
  const bool tells =
      std::any_of(placed_.begin(), placed_.end(), [](const Placed& p) { return p.fresh || p.learns; });
  Parent up = parent;
  if (parent.kind == PredKind::kUnknown && !placed_.front().fresh) {
    up = predecessor({placed_.front().run, placed_.front().at});
  }
  // A parent that was not known may have been entered by this very call.
  BlockRef ref = parent_at_;
  while (up.kind == PredKind::kHash) {
    if (!ref.found()) ref = table_.find(runs_, up.hash);
    if (!ref.found()) break;
    const Run& run = runs_[ref.run];
    if (tells) {
      if (ref.at >= run.end) return false;
      const auto in_run =
          std::lower_bound(known_.begin(), known_.end(), Stretch{0, 0, ref.run, 0}, in_run_order);
      if (in_run != known_.end() && in_run->run == ref.run && in_run->at <= ref.at) return false;
    }
    if (resident_path_) {
      uncovered(run, {run.first, pos(ref.at + 1u)}, false, ranges_);
      resident_path_ = ranges_.empty();
    }
    up = {run.pred_kind, run.pred};
    ref = {};
  }
  resident_path_ &= up.kind == PredKind::kRoot;
  return true;
}

void Index::roll_back(SeqSpan seq) {
  for (const Placed& p : placed_) {
    if (!p.fresh || p.run == kNoRun) continue;
    for (uint32_t k = 0; k < p.n; ++k) table_.erase(runs_.arena(), seq[p.i + k], {p.run, pos(p.at + k)});
    Run& run = runs_[p.run];
    run.growing = false;
    if (run.live()) continue;
    if (run.capacity == 0) runs_.set_blocks(p.run, nullptr);  // still the caller's
    drop_run(p.run);
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
