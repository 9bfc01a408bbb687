// The fuzz body's operations on bounded and counted slots, pins, and full reports.
#include "test/fuzz_body.hpp"

namespace kvidx {

bool FuzzBody::is_bounded(SlotRef slot) const {
  return twin_.slot_figures(slot.slot).mode == SlotMode::kBounded;
}

bool FuzzBody::is_live(SlotRef slot) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [slot](SlotRef s) { return s.slot == slot.slot && s.incarnation == slot.incarnation; });
}

/// Another kind of slot, or another bound; often a refused one.
void FuzzBody::bind(SlotRef slot) {
  if (choose_.one_in(5)) {
    count_references(slot);
  } else {
    set_capacity(slot);
  }
}

void FuzzBody::set_capacity(SlotRef slot) {
  const uint32_t blocks = choose_.one_in(3) ? choose_.one_of<uint32_t>({1, 3, 10, 60, 500}) : capacity_;
  const double ttl_ms = choose_.one_of<double>({0, 0, 0.5, 5, 40, 200});
  feed_slot(
      [&] {
        return "set_capacity " + text(slot) + " " + std::to_string(blocks) + " ttl " + std::to_string(ttl_ms);
      },
      slot, [&](auto& x, FeedResult& r) { return x.set_capacity(slot, blocks, ttl_ms, r); });
}

void FuzzBody::count_references(SlotRef slot) {
  feed_slot([&] { return "count_references " + text(slot); }, slot,
            [&](auto& x, FeedResult&) { return x.count_references(slot); });
}

void FuzzBody::refresh(SlotRef slot, const Path& seq) {
  const double now = later();
  feed_slot([&] { return "refresh " + text(slot) + " " + text(seq); }, slot,
            [&](auto& x, FeedResult& r) { return x.refresh(slot, seq, now, r); });
}

void FuzzBody::refresh_some() {
  const SlotRef slot = pick_slot();
  refresh(slot, some_blocks(slot));
}

/// The tail of a prompt is named once more than its head, so that the head goes first, from its owner too; then it comes
/// back.
void FuzzBody::favour_tail() {
  const Path path = world_.pick();
  const SlotRef slot = pick_slot();
  uint32_t session = pick_session();
  own(session, path);
  if (const std::vector<uint32_t> live = twin_.session_numbers(); !live.empty()) session = live.back();
  store(slot, {path, Parent::root()});
  const size_t from = choose_.below(std::min<size_t>(path.size(), 12));
  refresh(slot, Path(path.begin() + static_cast<ptrdiff_t>(from), path.end()));
  store_some();
  if (choose_.one_in(2)) return own(session, path);
  store(slot, {path, Parent::root()});
}

void FuzzBody::pin(SlotRef slot, const Path& seq) {
  constexpr size_t kRemembered = 8;
  if (pinned_.size() == kRemembered) pinned_.erase(pinned_.begin());
  pinned_.emplace_back(slot, seq);
  feed_slot([&] { return "pin " + text(slot) + " " + text(seq); }, slot,
            [&](auto& x, FeedResult& r) { return x.pin(slot, seq, r); });
}

void FuzzBody::pin_some() {
  const SlotRef slot = pick_slot();
  pin(slot, some_blocks(slot));
}

void FuzzBody::unpin(SlotRef slot, const Path& seq) {
  feed_slot([&] { return "unpin " + text(slot) + " " + text(seq); }, slot,
            [&](auto& x, FeedResult& r) { return x.unpin(slot, seq, r); });
}

/// Mostly what was pinned, or a part of it: otherwise pins would only grow.
void FuzzBody::unpin_some() {
  std::erase_if(pinned_, [this](const auto& call) { return !is_live(call.first); });
  if (pinned_.empty() || choose_.one_in(4)) {
    const SlotRef slot = pick_slot();
    return unpin(slot, some_blocks(slot));
  }
  const size_t which = choose_.below(pinned_.size());
  auto [slot, seq] = pinned_[which];
  if (choose_.one_in(3)) {
    seq.resize(choose_.below(seq.size() + 1));
  } else {
    pinned_.erase(pinned_.begin() + static_cast<ptrdiff_t>(which));
  }
  unpin(slot, seq);
}

/// Blocks to refresh or to pin, many of them resident on the slot.
Path FuzzBody::some_blocks(SlotRef slot) {
  const uint32_t kind = choose_.below(8);
  if (kind < 2) return world_.pick();
  if (kind == 2) return world_.handful();
  if (kind < 6) {
    Path seq = world_.part().seq;
    if (kind == 4) std::reverse(seq.begin(), seq.end());
    if (kind == 5 && !seq.empty()) {
      for (uint32_t n = choose_.between(1, 3); n > 0; --n) seq.push_back(seq[choose_.below(seq.size())]);
    }
    return seq;
  }
  const Path held = twin_.enumerate(slot.slot);
  if (kind == 6 && choose_.one_in(3)) return held;
  Path some;
  for (uint32_t n = held.empty() ? 0 : choose_.below(8); n > 0; --n) {
    some.push_back(held[choose_.below(held.size())]);
  }
  return some;
}

void FuzzBody::replace(SlotRef slot, const std::vector<Chain>& chains) {
  const double now = later();
  std::vector<ToldChain> told;
  for (const Chain& chain : chains) told.push_back({chain.seq, chain.parent});
  feed_slot(
      [&] {
        std::string out = "replace " + text(slot);
        for (const Chain& chain : chains) out += " " + text(chain.seq) + " after " + text(chain.parent);
        return out;
      },
      slot, [&](auto& x, FeedResult& r) { return x.replace(slot, told, now, r); });
}

void FuzzBody::replace_some() {
  const SlotRef slot = pick_slot();
  const bool from_root = is_bounded(slot) && !choose_.one_in(8);
  std::vector<Chain> chains;
  for (uint32_t n = choose_.below(6); n > 0; --n) {
    switch (choose_.below(8)) {
      case 0:
        chains.push_back(world_.lie());
        break;
      case 1:
        chains.push_back({{}, choose_.one_in(2) ? Parent::root() : Parent::unknown()});
        break;
      case 2:
        chains.push_back(chains.empty() ? Chain{world_.handful(), Parent::unknown()} : Chain(chains.back()));
        break;
      case 3:
      case 4:
        chains.push_back(from_root ? world_.head() : world_.part());
        break;
      default:
        chains.push_back(world_.head());
    }
    if (from_root) chains.back().parent = Parent::root();
  }
  replace(slot, chains);
}

void FuzzBody::expire() {
  const double now = now_ms_ + choose_.one_of<double>({0, 0, 0.5, 20, 1e6, -3});
  feed([&] { return "expire " + std::to_string(now); }, [&](auto& x) { return Answer{x.expire(now)}; });
}

}  // namespace kvidx
