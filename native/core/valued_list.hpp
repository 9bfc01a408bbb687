// Values for stretches of positions in a run, run-length coded: stamps, copies, pins.
//
//   pins of a run [0 … 36):   (slot 2: 0–36, 1)  (slot 5: 0–20, 3)  (slot 5: 20–24, 1)
//                              sorted by id, then begin; positions without an item have no value
//
// A value may change from position to position in a regular way (stamps fall by one): `V::advanced(n)` is the value n
// positions later, and two items that touch are one when the second goes on where the first stops.
//
// Invariants: sorted by (id, begin); begin < end; items do not overlap, and no two could be one. Costs: look-up O(log n),
// change O(n) by memmove.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "core/interval_list.hpp"

namespace kvidx {

template <class V>
struct Valued {
  uint32_t id;
  Pos begin, end;
  V value;  // of the first position
  uint32_t size() const { return static_cast<uint32_t>(end - begin); }
};

template <class V>
class ValuedList {
 public:
  using Item = Valued<V>;

  bool empty() const { return items_.empty(); }
  uint32_t size() const { return static_cast<uint32_t>(items_.size()); }
  std::span<const Item> view() const { return items_; }
  std::span<const Item> of(uint32_t id) const {
    const size_t lo = reaching(id, 0);
    size_t hi = lo;
    while (hi < items_.size() && items_[hi].id == id) ++hi;
    return {items_.data() + lo, hi - lo};
  }
  uint64_t used_bytes() const { return items_.size() * sizeof(Item); }
  uint64_t reserved_bytes() const { return heap_bytes(items_.capacity() * sizeof(Item)); }

  /// So many items one assign() or subtract() adds at most.
  static constexpr uint32_t kMostNew = 2;
  void reserve_more(size_t n) {
    if (items_.capacity() < items_.size() + n) items_.reserve(items_.size() + n + items_.size() / 4);
  }

  /// The positions lose their values; answers how many had one.
  uint32_t subtract(uint32_t id, Pos begin, Pos end) {
    Pieces<2> rest;
    uint32_t gone = 0;
    const auto [lo, hi] = cut(id, begin, end, rest, [&gone](const Item& item) { gone += item.size(); });
    if (lo != hi) splice(lo, hi, rest.items, rest.n);
    return gone;
  }

  /// The positions get new values; answers the item that has them.
  const Item& assign(uint32_t id, Pos begin, Pos end, V value) {
    Pieces<2> rest;
    auto [lo, hi] = cut(id, begin, end, rest, [](const Item&) {});
    Pieces<3> joined;
    if (rest.n > 0 && rest.items[0].begin < begin) {
      joined.add(rest.items[0]);
    } else if (lo > 0 && touches(items_[lo - 1], id, begin)) {
      joined.add(items_[--lo]);
    }
    joined.add({id, begin, end, value});
    const uint32_t where = joined.n - 1;
    if (rest.n > 0 && rest.items[rest.n - 1].end > end) {
      joined.add(rest.items[rest.n - 1]);
    } else if (hi < items_.size() && items_[hi].id == id && items_[hi].begin == end) {
      joined.add(items_[hi++]);
    }
    splice(lo, hi, joined.items, joined.n);
    return items_[lo + where];
  }

  /// Every position gets fn(its value), told by pieces of one value; V{} stands for none. For values that do not change
  /// along an item.
  template <class Fn>
  void transform(uint32_t id, Pos begin, Pos end, Fn&& fn) {
    std::vector<Item> fresh;
    each_piece(id, begin, end, [&](Pos from, Pos to, V value) {
      const V changed = fn(from, to, value);
      if (changed != V{}) fresh.push_back({id, from, to, changed});
    });
    subtract(id, begin, end);
    for (const Item& item : fresh) assign(id, item.begin, item.end, item.value);
  }

  /// Calls fn(from, to, value) for pieces that make up [begin, end), V{} where there is no value.
  template <class Fn>
  void each_piece(uint32_t id, Pos begin, Pos end, Fn&& fn) const {
    Pos at = begin;
    for (size_t k = reaching(id, pos(begin + 1u)); at < end && k < items_.size() && items_[k].id == id; ++k) {
      const Item& item = items_[k];
      if (item.begin >= end) break;
      const Pos from = std::max(item.begin, begin), to = std::min(item.end, end);
      if (at < from) fn(at, from, V{});
      fn(from, to, item.value.advanced(static_cast<uint32_t>(from - item.begin)));
      at = to;
    }
    if (at < end) fn(at, end, V{});
  }

  /// Takes out the items within [begin, end), which none crosses.
  std::vector<Item> take_within(Pos begin, Pos end) {
    std::vector<Item> taken;
    const auto within = [begin, end](const Item& item) { return begin <= item.begin && item.end <= end; };
    std::copy_if(items_.begin(), items_.end(), std::back_inserter(taken), within);
    std::erase_if(items_, within);
    return taken;
  }
  /// Puts in items that are in order and meet none of those here. Costs: O(all items).
  void put(std::span<const Item> items) {
    if (items.empty()) return;
    std::vector<Item> all;
    all.reserve(items_.size() + items.size());
    std::merge(
        items_.begin(), items_.end(), items.begin(), items.end(), std::back_inserter(all),
        [](const Item& a, const Item& b) { return std::pair(a.id, a.begin) < std::pair(b.id, b.begin); });
    items_.clear();
    for (const Item& item : all) {
      if (!items_.empty() && goes_on(items_.back(), item)) {
        items_.back().end = item.end;
      } else {
        items_.push_back(item);
      }
    }
  }

  void shift(int delta) {
    for (Item& item : items_) {
      item.begin = pos(static_cast<uint64_t>(item.begin + delta));
      item.end = pos(static_cast<uint64_t>(item.end + delta));
    }
  }
  void shrink() { items_.shrink_to_fit(); }

 private:
  static bool goes_on(const Item& before, const Item& item) {
    return before.id == item.id && before.end == item.begin &&
           before.value.advanced(before.size()) == item.value;
  }
  template <size_t kMost>
  struct Pieces {
    Item items[kMost];
    uint32_t n = 0;
    void add(Item item) {
      if (n > 0 && goes_on(items[n - 1], item)) {
        items[n - 1].end = item.end;
      } else {
        items[n++] = item;
      }
    }
  };

  static bool touches(const Item& before, uint32_t id, Pos begin) {
    return before.id == id && before.end == begin;
  }

  /// The first item of the id that ends at `at` or behind it, or the place where it would be.
  size_t reaching(uint32_t id, Pos at) const {
    const auto before = [id, at](const Item& item) {
      return item.id < id || (item.id == id && item.end < at);
    };
    return static_cast<size_t>(std::partition_point(items_.begin(), items_.end(), before) - items_.begin());
  }

  /// The items that [begin, end) meets, as places; `rest` gets what is left of them, `lost` sees what is not.
  template <class Lost>
  std::pair<size_t, size_t> cut(uint32_t id, Pos begin, Pos end, Pieces<2>& rest, Lost&& lost) const {
    const size_t lo = reaching(id, pos(begin + 1u));
    size_t hi = lo;
    for (; hi < items_.size() && items_[hi].id == id && items_[hi].begin < end; ++hi) {
      const Item& item = items_[hi];
      const Pos from = std::max(item.begin, begin), to = std::min(item.end, end);
      if (item.begin < from) rest.items[rest.n++] = {id, item.begin, from, item.value};
      if (to < item.end) {
        rest.items[rest.n++] = {id, to, item.end,
                                item.value.advanced(static_cast<uint32_t>(to - item.begin))};
      }
      lost(Item{id, from, to, item.value});
    }
    return {lo, hi};
  }

  /// Replaces [lo, hi) by n items.
  void splice(size_t lo, size_t hi, const Item* fresh, uint32_t n) {
    const size_t overwritten = std::min<size_t>(hi - lo, n);
    std::copy_n(fresh, overwritten, items_.begin() + static_cast<std::ptrdiff_t>(lo));
    const auto at = items_.begin() + static_cast<std::ptrdiff_t>(lo + overwritten);
    if (n > overwritten) {
      items_.insert(at, fresh + overwritten, fresh + n);
    } else {
      items_.erase(at, items_.begin() + static_cast<std::ptrdiff_t>(hi));
    }
  }

  std::vector<Item> items_;
};

}  // namespace kvidx
