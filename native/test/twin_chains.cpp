// What calls tell of predecessors, and whether they may.
#include "test/twin.hpp"

namespace kvidx {

bool Twin::refuses(SeqSpan seq, Parent parent, FeedResult& result) {
  result.first_bad = first_bad(seq, parent);
  if (result.first_bad < 0) return false;
  result.rejected = seq.size();
  rejected_ += seq.size();
  return true;
}

int64_t Twin::first_bad(SeqSpan seq, Parent parent) const {
  const Parent unknown = Parent::unknown();
  Parent told = parent;
  for (size_t i = 0; i < seq.size(); ++i) {
    const auto it = blocks_.find(seq[i]);
    if (it != blocks_.end()) {
      const Parent& known = it->second.predecessor;
      if (told != unknown && known != unknown && told != known) return static_cast<int64_t>(i);
    }
    told = Parent::of(seq[i]);
  }
  std::set<SeqHash> in_call;
  for (size_t i = 0; i < seq.size(); ++i) {
    if (!in_call.insert(seq[i]).second) return static_cast<int64_t>(i);
  }
  // A call tells one path: it closes a cycle exactly when the way up from its first block comes back to it.
  Parent up = parent;
  if (up == unknown && blocks_.contains(seq[0])) up = blocks_.at(seq[0]).predecessor;
  while (up.kind == PredKind::kHash) {
    if (in_call.contains(up.hash)) return 0;
    const auto it = blocks_.find(up.hash);
    if (it == blocks_.end()) break;
    up = it->second.predecessor;
  }
  return -1;
}

void Twin::tell(SeqSpan seq, Parent parent) {
  Parent told = parent;
  for (const SeqHash h : seq) {
    const auto [it, is_new] = blocks_.try_emplace(h, Block{told});
    if (!is_new && told != Parent::unknown()) it->second.predecessor = told;
    told = Parent::of(h);
  }
}

void Twin::forget_unknown(SeqHash h) {
  const auto it = blocks_.find(h);
  if (it->second.holders > 0 || it->second.owners > 0) return;
  by_stamp_.erase(it->second.stamp);
  blocks_.erase(it);
}

bool Twin::is_resident(SeqHash h) const {
  const auto it = blocks_.find(h);
  return it != blocks_.end() && it->second.holders > 0;
}

bool Twin::has_resident_path(SeqHash h) const {
  Parent up = blocks_.at(h).predecessor;
  while (up.kind == PredKind::kHash) {
    if (!is_resident(up.hash)) return false;
    up = blocks_.at(up.hash).predecessor;
  }
  return up == Parent::root();
}

}  // namespace kvidx
