// What stands beside runs: stamps (when each block was last named, and which stretch of blocks is therefore next to go), and
// the moves of all of it when runs change their shape.
#include <algorithm>

#include "core/index.hpp"

namespace kvidx {

/// Makes room for stamp_placed().
void Index::prepare_stamps(uint32_t id) {
  for (const Placed& p : placed_) sides_.get(p.run).stamps.reserve_more(2 * ValuedList<Stamp>::kMostNew);
  queue(id).reserve_more(2 * placed_.size());
}

/// The placed call, of n blocks, named them now. From its end, so that stretches that follow each other become one item as
/// they come.
void Index::stamp_placed(uint32_t id, uint64_t base, uint64_t n, double now_ms) {
  for (size_t k = placed_.size(); k-- > 0;) {
    const Placed& p = placed_[k];
    stamp(id, p.run, {p.at, p.end()}, {base + (n - 1 - p.i), now_ms});
  }
}

void Index::stamp(uint32_t id, uint32_t run, Range range, Stamp value) {
  cut_stamps(id, run, range);
  const StampItem item = sides_.get(run).stamps.assign(id, range.begin, range.end, value);
  // An item that goes on behind the range is queued by its end already.
  if (item.end == range.end) enqueue(id, run, item);
  if (id != kEverybody) slots_[id].oldest_ms = std::min(slots_[id].oldest_ms, value.ms);
}

/// Takes the stamps of `range` away.
void Index::cut_stamps(uint32_t id, uint32_t run, Range range) {
  RunSide* beside = side(run);
  if (beside == nullptr || beside->stamps.subtract(id, range.begin, range.end) == 0) return;
  // What is left in front has another last block now.
  for (const StampItem& item : beside->stamps.of(id)) {
    if (item.end == range.begin) {
      enqueue(id, run, StampItem(item));
      return;
    }
  }
}

void Index::enqueue(uint32_t id, uint32_t run, const StampItem& item) {
  EvictionQueue& waiting = queue(id);
  if (waiting.overgrown()) prune_queue(id);
  waiting.push({oldest(item), run});
}

/// Drops the entries that stand for nothing any more, run by run: a run's items are gone through once.
void Index::prune_queue(uint32_t id) {
  uint32_t run = kNoRun;
  std::vector<uint64_t> ends;
  queue(id).prune([&](const EvictionQueue::Entry& entry) {
    if (std::exchange(run, entry.run) != entry.run) {
      ends.clear();
      if (const RunSide* beside = side(run)) {
        for (const StampItem& item : beside->stamps.of(id)) ends.push_back(oldest(item));
      }
      std::sort(ends.begin(), ends.end());
    }
    return std::binary_search(ends.begin(), ends.end(), entry.oldest);
  });
}

/// Pins have gone from the range: its stretches may go again.
void Index::enqueue_range(uint32_t id, uint32_t run, Range range) {
  for (const StampItem& item : sides_.find(run)->stamps.of(id)) {
    if (item.begin >= range.end || item.end <= range.begin) continue;
    enqueue(id, run, item);
    if (id != kEverybody) slots_[id].oldest_ms = std::min(slots_[id].oldest_ms, item.value.ms);
  }
}

/// The item that a queue's entry stands for, null when there is none any more.
const StampItem* Index::queued(uint32_t id, EvictionQueue::Entry entry) const {
  const RunSide* beside = side(entry.run);
  if (beside == nullptr) return nullptr;
  for (const StampItem& item : beside->stamps.of(id)) {
    if (oldest(item) == entry.oldest) return &item;
  }
  return nullptr;
}

/// The last part of a range without pins: of the slot, or of anybody. Empty when all of it is pinned.
Index::Range Index::last_unpinned(uint32_t id, uint32_t run, Range range) const {
  const auto& pins = sides_.find(run)->pins;
  const auto relevant = id == kEverybody ? pins.view() : pins.of(id);
  for (bool cut = true; cut && range.begin < range.end;) {
    cut = false;
    for (const auto& pin : relevant) {
      if (pin.begin >= range.end || pin.end < range.end) continue;
      range.end = std::max(pin.begin, range.begin);
      cut = true;
    }
  }
  for (const auto& pin : relevant) {
    if (pin.end <= range.end) range.begin = std::max(range.begin, pin.end);
  }
  return range;
}

/// The oldest blocks that may go, `most` of them at most: a part of one stretch, up to its end. There must be some.
Index::Victims Index::next_victims(uint32_t id, uint64_t most) {
  for (;;) {
    const EvictionQueue::Entry entry = queue(id).pop();
    const StampItem* item = queued(id, entry);
    if (item == nullptr) continue;
    const Range free = last_unpinned(id, entry.run, {item->begin, item->end});
    if (free.begin == free.end) continue;  // queued again when a pin goes
    const auto n = std::min<uint64_t>(most, static_cast<uint64_t>(free.end - free.begin));
    const Range range{pos(free.end - n), free.end};
    return {entry.run, range, item->value.advanced(static_cast<uint32_t>(range.begin - item->begin)).order};
  }
}

/// What stands beside `range` of a run comes beside another run, `delta` positions further. No item crosses the range's ends.
void Index::move_side(uint32_t from, Range range, uint32_t to, int delta) {
  RunSide* src = side(from);
  if (src == nullptr) return;
  RunSide& dst = sides_.get(to);
  const auto moved = [&](auto& before, auto& after) {
    auto items = before.take_within(range.begin, range.end);
    for (auto& item : items) {
      item.begin = pos(static_cast<uint64_t>(item.begin + delta));
      item.end = pos(static_cast<uint64_t>(item.end + delta));
    }
    after.put(items);
    return items;
  };
  moved(src->copies, dst.copies);
  moved(src->pins, dst.pins);
  for (const StampItem& item : moved(src->stamps, dst.stamps)) enqueue(item.id, to, item);
  sides_.drop_if_empty(from);
  sides_.drop_if_empty(to);
}

/// Makes room for move_side() of a whole run.
void Index::reserve_side(uint32_t left, uint32_t right) {
  const RunSide* src = side(right);
  if (src == nullptr) return;
  RunSide& dst = sides_.get(left);
  dst.stamps.reserve_more(src->stamps.size());
  dst.copies.reserve_more(src->copies.size());
  dst.pins.reserve_more(src->pins.size());
  for (const StampItem& item : src->stamps.view()) queue(item.id).reserve_more(src->stamps.size());
}

}  // namespace kvidx
