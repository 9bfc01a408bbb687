// Who holds which positions of a run, run-length coded.
//
//   holders of a run [0 … 36):   (slot 2: 0–36) (slot 5: 0–20) (slot 5: 24–36) (slot 9: 4–8)
//                                 sorted by id, then begin; two intervals of one id never touch
//
// A prefix is one interval, a hole makes two of one, and filling the hole makes them one again. The first
// interval lives in the list itself: most runs have one holder and one owner, and pay no allocation for
// either.
//
// Invariants: sorted by (id, begin); begin < end; intervals of one id neither overlap nor are adjacent.
// Costs: look-up O(log n), change O(n) by memmove, 16 bytes empty or with one interval, 8 bytes for each
// interval more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace kvidx {

/// Positions of a run are 0 … kMaxRun − 1, so an `end` of kMaxRun still fits.
using Pos = uint16_t;
constexpr Pos pos(uint64_t v) {
  return static_cast<Pos>(v);
}

struct Interval {
  uint32_t id;
  Pos begin, end;
};

/// Bytes that a heap block of n bytes takes: a size word, rounded to the allocator's grain.
constexpr uint64_t heap_bytes(uint64_t n) {
  return n == 0 ? 0 : std::max<uint64_t>(32, (n + 8 + 15) & ~uint64_t{15});
}

class IntervalList {
 public:
  IntervalList() : one_{}, size_(0), cap_(0) {}
  ~IntervalList() { release(); }
  IntervalList(IntervalList&& o) noexcept : IntervalList() { swap(o); }
  IntervalList& operator=(IntervalList&& o) noexcept {
    IntervalList taken(std::move(o));
    swap(taken);
    return *this;
  }

  bool empty() const { return size_ == 0; }
  uint32_t size() const { return size_; }
  std::span<const Interval> view() const { return {data(), size_}; }
  /// Asks for the first intervals, where they lie elsewhere. Always inlined, or the compiler drops the call.
  [[gnu::always_inline]] inline void prefetch() const {
    if (cap_ != 0) __builtin_prefetch(many_);
  }
  uint64_t reserved_bytes() const { return heap_bytes(uint64_t{cap_} * sizeof(Interval)); }
  uint64_t used_bytes() const { return cap_ == 0 ? 0 : uint64_t{size_} * sizeof(Interval); }

  /// The intervals of one id.
  std::span<const Interval> of(uint32_t id) const {
    const uint32_t lo = lower(id);
    uint32_t hi = lo;
    while (hi < size_ && data()[hi].id == id) ++hi;
    return {data() + lo, hi - lo};
  }
  bool has(uint32_t id) const {
    const uint32_t lo = lower(id);
    return lo < size_ && data()[lo].id == id;
  }

  struct Change {
    uint32_t positions;  // that changed
    bool edge;           // the id came into the list, or left it
  };

  /// [begin, end) belongs to id from now on.
  Change add(uint32_t id, Pos begin, Pos end) {
    const uint32_t lo = reaching(id, begin);
    uint32_t hi = lo;
    uint32_t had = 0;
    Interval joined{id, begin, end};
    for (; hi < size_ && data()[hi].id == id && data()[hi].begin <= end; ++hi) {
      const Interval& v = data()[hi];
      had += static_cast<uint32_t>(std::max(0, std::min(v.end, end) - std::max(v.begin, begin)));
      joined.begin = std::min(joined.begin, v.begin);
      joined.end = std::max(joined.end, v.end);
    }
    const bool alone =
        hi == lo && !(lo > 0 && data()[lo - 1].id == id) && !(hi < size_ && data()[hi].id == id);
    splice(lo, hi, &joined, 1);
    return {static_cast<uint32_t>(end - begin) - had, alone};
  }

  /// [begin, end) belongs to id no longer.
  Change subtract(uint32_t id, Pos begin, Pos end) {
    const uint32_t lo = reaching(id, pos(begin + 1u));
    uint32_t hi = lo;
    uint32_t gone = 0;
    Interval rest[2];
    uint32_t rests = 0;
    for (; hi < size_ && data()[hi].id == id && data()[hi].begin < end; ++hi) {
      const Interval& v = data()[hi];
      gone += static_cast<uint32_t>(std::min(v.end, end) - std::max(v.begin, begin));
      if (v.begin < begin) rest[rests++] = {id, v.begin, begin};
      if (v.end > end) rest[rests++] = {id, end, v.end};
    }
    if (lo == hi) return {0, false};
    splice(lo, hi, rest, rests);
    return {gone, !has(id)};
  }

  /// Moves every interval by `delta` positions.
  void shift(int delta) {
    for (uint32_t i = 0; i < size_; ++i) {
      data()[i].begin = pos(static_cast<uint64_t>(data()[i].begin + delta));
      data()[i].end = pos(static_cast<uint64_t>(data()[i].end + delta));
    }
  }
  /// Adds at the end; the caller keeps the order.
  void append(Interval v) { splice(size_, size_, &v, 1); }
  void clear() {
    release();
    size_ = cap_ = 0;
  }
  /// Makes room for a following add() of the same interval, which then cannot fail.
  void prepare_add(uint32_t id, Pos begin, Pos end) {
    if (size_ < capacity()) return;
    const uint32_t at = reaching(id, begin);
    const bool touches = at < size_ && data()[at].id == id && data()[at].begin <= end;
    if (!touches) reserve_more(1);
  }
  /// Makes room for n intervals more.
  void reserve_more(uint32_t n) {
    if (size_ + n > capacity() && !resize(size_ + n + size_ / 4)) throw std::bad_alloc();
  }
  void shrink() {
    if (cap_ > size_) (void)resize(size_);
  }

 private:
  uint32_t capacity() const { return cap_ == 0 ? 1 : cap_; }
  Interval* data() { return cap_ == 0 ? &one_ : many_; }
  const Interval* data() const { return cap_ == 0 ? &one_ : many_; }
  void release() {
    if (cap_ != 0) std::free(many_);
  }
  void swap(IntervalList& o) noexcept {
    std::swap(many_, o.many_);
    std::swap(size_, o.size_);
    std::swap(cap_, o.cap_);
  }

  uint32_t lower(uint32_t id) const {
    const Interval* p = data();
    if (size_ <= 8) {
      uint32_t i = 0;
      while (i < size_ && p[i].id < id) ++i;
      return i;
    }
    return static_cast<uint32_t>(
        std::lower_bound(p, p + size_, id, [](const Interval& v, uint32_t key) { return v.id < key; }) - p);
  }

  /// The first interval of the id that ends at `at` or behind it, or the place where it would be.
  uint32_t reaching(uint32_t id, Pos at) const {
    const Interval* p = data();
    return static_cast<uint32_t>(
        std::partition_point(
            p, p + size_, [id, at](const Interval& v) { return v.id < id || (v.id == id && v.end < at); }) -
        p);
  }

  /// A capacity of at most 1 goes back to the inline place. False when there is no memory: nothing has changed.
  [[nodiscard]] bool resize(uint32_t capacity) {
    if (capacity <= 1) {
      const Interval kept = size_ == 1 ? data()[0] : Interval{};
      release();
      one_ = kept;
      cap_ = 0;
      return true;
    }
    auto* fresh = static_cast<Interval*>(std::malloc(capacity * sizeof(Interval)));
    if (fresh == nullptr) return false;
    std::memcpy(fresh, data(), size_ * sizeof(Interval));
    release();
    many_ = fresh;
    cap_ = capacity;
    return true;
  }

  /// Replaces [lo, hi) by n items.
  void splice(uint32_t lo, uint32_t hi, const Interval* items, uint32_t n) {
    const uint32_t size = size_ - (hi - lo) + n;
    if (size > capacity() && !resize(size + size / 4)) throw std::bad_alloc();
    std::memmove(data() + lo + n, data() + hi, (size_ - hi) * sizeof(Interval));
    std::copy_n(items, n, data() + lo);
    size_ = size;
    if (cap_ > 8 && size_ * 4 < cap_) (void)resize(size_ * 2);
  }

  union {
    Interval one_;
    Interval* many_;
  };
  uint32_t size_, cap_;
};

static_assert(sizeof(Interval) == 8 && sizeof(IntervalList) == 16);

}  // namespace kvidx
