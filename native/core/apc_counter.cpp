#include "core/apc_counter.hpp"

#include <algorithm>

#include "core/xxh64.hpp"

namespace kvidx {

void StampCounts::push(uint32_t count) {
  counts_.push_back(count);
  total_ += count;
  if (tree_.empty()) tree_.push_back(0);
  const uint64_t at = tree_.size();
  // A new node covers the nodes of its low bits, which are complete by now.
  uint64_t sum = count;
  for (uint64_t step = 1; (at & step) == 0; step <<= 1) sum += tree_[at - step];
  tree_.push_back(sum);
}

void StampCounts::take(uint32_t stamp, uint32_t count) {
  counts_[stamp] -= count;
  total_ -= count;
  for (uint64_t at = uint64_t{stamp} + 1; at < tree_.size(); at += at & (~at + 1)) tree_[at] -= count;
}

uint64_t StampCounts::up_to(uint32_t stamp) const {
  uint64_t sum = 0;
  for (uint64_t at = uint64_t{stamp} + 1; at != 0; at &= at - 1) sum += tree_[at];
  return sum;
}

ApcCounter::ApcCounter(std::span<const double> capacities) {
  for (const double capacity : capacities) capacities_.push_back(static_cast<uint64_t>(capacity));
}

void ApcCounter::Prompt::become(std::span<const uint64_t> next) {
  const auto same = static_cast<size_t>(
      std::mismatch(next.begin(), next.end(), ids.begin(), ids.end()).first - next.begin());
  seq.resize(next.size());  // before the ids, which never are more
  ids.resize(next.size());
  uint64_t chained = same == 0 ? 0 : raw(seq[same - 1]);
  for (size_t k = same; k < next.size(); ++k) {
    ids[k] = next[k];
    chained = xxh64_u64(next[k], chained);
    seq[k] = SeqHash{chained};
  }
}

void ApcCounter::add(uint32_t session, std::span<const uint64_t> ids, std::span<uint32_t> hits) {
  std::fill(hits.begin(), hits.end(), 0u);
  Prompt& prompt = prompts_[session % kPrompts];
  prompt.become(ids);
  const SeqSpan seq = prompt.seq;

  if (session >= numbers_.size()) numbers_.resize(size_t{session} + 1);
  const uint32_t owner = numbers_[session];
  uint32_t any = 0, intra = 0;
  index_.each_known_stretch(seq, [&](const Stretch& s, const Run& run) {
    if (intra == s.i && owner != 0) {
      const auto owned = run.owners.of(owner);
      if (!owned.empty() && owned.front().end > s.at)
        intra += static_cast<uint32_t>(std::min(owned.front().end, s.end()) - s.at);
    }
    any += s.n;
    return true;
  });
  hits[0] = any;
  hits[1] = session == 0 ? 0 : intra;

  // The index's ownership ends never, so runs keep their numbers and positions and stamps can stand beside
  // them.
  FeedResult result;
  numbers_[session] = index_.own(owner, seq, 0, result);
  unique_ += ids.size() - any;
  if (capacities_.empty()) return;

  path_.clear();
  index_.each_known_stretch(seq, [&](const Stretch& s, const Run&) {
    path_.push_back(s);
    return true;
  });
  for (const Stretch& s : path_) {
    if (s.run >= stamps_.size()) stamps_.resize(size_t{s.run} + 1);
  }
  count_cached(hits.subspan(2));
  stamp_path(static_cast<uint32_t>(seq.size()));
}

/// Leading blocks of the path whose stack rank is within each capacity; takes the path's blocks out of the
/// counts.
void ApcCounter::count_cached(std::span<uint32_t> hits) {
  size_t going = 0;  // capacities below this have missed
  uint64_t depth = 0;
  const auto count_stamped = [&](uint32_t stamp, uint64_t begin, uint64_t end) {
    if (going == capacities_.size()) return;
    const uint64_t later = counts_.later_than(stamp);
    const uint64_t first_stamped = path_blocks_[stamp] - counts_.count(stamp);
    for (size_t k = going; k < capacities_.size(); ++k) {
      const uint64_t limit = capacities_[k] > later ? capacities_[k] - later + first_stamped : 0;
      const uint64_t reached = std::min(end, limit);
      if (reached > begin) hits[k] = static_cast<uint32_t>(reached);
      if (reached < end) going = k + 1;
    }
  };

  constexpr uint32_t kNone = UINT32_MAX;
  uint32_t stamp = kNone;
  uint64_t begin = 0;
  std::vector<std::pair<uint32_t, uint32_t>> taken;
  const auto close = [&](uint64_t end) {
    if (stamp == kNone) return;
    count_stamped(stamp, begin, end);
    taken.emplace_back(stamp, static_cast<uint32_t>(end - begin));
  };
  for (const Stretch& s : path_) {
    Pos at = s.at;
    for (const Stamped& v : stamps_[s.run]) {
      if (v.end <= at) continue;
      if (v.stamp != stamp) {
        close(depth);
        stamp = v.stamp;
        begin = depth;
      }
      const Pos reached = std::min(v.end, s.end());
      depth += static_cast<uint64_t>(reached - at);
      at = reached;
      if (at == s.end()) break;
    }
    if (at != s.end()) break;  // the rest of the path is new
  }
  close(depth);
  for (const auto& [old, blocks] : taken) counts_.take(old, blocks);
}

/// The path carries a stamp of its own from now on.
void ApcCounter::stamp_path(uint32_t blocks) {
  const auto stamp = static_cast<uint32_t>(path_blocks_.size());
  path_blocks_.push_back(blocks);
  counts_.push(blocks);
  for (const Stretch& s : path_) {
    std::vector<Stamped>& run = stamps_[s.run];
    const auto kept = std::find_if(run.begin(), run.end(), [&](const Stamped& v) { return v.end > s.end(); });
    // The path enters every run at its first block, so it covers a prefix.
    if (kept == run.begin()) {
      run.insert(run.begin(), {s.end(), stamp});
    } else {
      run.front() = {s.end(), stamp};
      run.erase(run.begin() + 1, kept);
    }
  }
}

}  // namespace kvidx
