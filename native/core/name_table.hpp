// name → seq hash, and how many copies of that block each tier has.
//
//   bucket, two cache lines   [ 5 tags of one byte | overflow count ] [ entry ] × 5
//   entry                     name:64 | seq hash:64 | copies:16 × 4
//
// Open addressing in buckets: a look-up reads the tags and the entry whose tag fits, so it does not guess how far to go, and
// a new name is written without reading other names. A full bucket sends its next entry to the following one and counts it:
// a look-up that fails reads one bucket, and erasing leaves no tombstones, so a table through which names pass for ever stays
// as fast as on its first day. The table is cut into segments by the top bits of the mixed name, and each grows alone: no
// long stall. Segments differ in their sizes, so that they grow at different times.
//
// Names come from outside: they are mixed with a seed, so that nobody who lacks it can choose names that meet.
//
// Invariants: N1 an entry has a copy, and is found under its name; N2 a segment's count is that of a walk, on average at most
// four entries a bucket, and no buckets for none; N3 so are the table's counts. A bucket's overflow count is the number of
// entries that passed over it (255 sticks until the segment is rebuilt).
// Costs: two cache lines a look-up, erase or insert; 32 to 48 bytes a name, up to 128 after many have gone.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/arena.hpp"
#include "core/types.hpp"

namespace kvidx {

constexpr size_t kTiers = 4;

inline uint64_t mixed_name(uint64_t name, uint64_t seed) {
  uint64_t x = name ^ seed;
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9;
  return x ^ (x >> 32);
}

class NameTable {
 public:
  struct Entry {
    uint64_t name;
    SeqHash seq;
    std::array<uint16_t, kTiers> copies;
  };

  explicit NameTable(uint64_t seed) : seed_(seed), segments_(std::make_unique<Segments>()) {}
  /// Empty, with the same seed.
  NameTable like() const { return NameTable(seed_); }

  uint64_t size() const { return size_; }
  uint64_t used_bytes() const { return sizeof(Segments) + buckets_ * sizeof(Bucket); }
  uint64_t reserved_bytes() const { return sizeof(Segments) + arena_.reserved_bytes(); }

  [[gnu::always_inline]] inline void prefetch(uint64_t name) const {
    const uint64_t m = mix(name);
    const Segment& s = (*segments_)[m >> kSegmentShift];
    if (s.count == 0) return;
    const auto* lines = reinterpret_cast<const std::byte*>(&s.buckets[home_of(m, s.buckets_n)]);
    __builtin_prefetch(lines, 1);
    __builtin_prefetch(lines + sizeof(Bucket) / 2, 1);
  }

  /// Null: unknown. Good until the next insert or erase.
  Entry* find(uint64_t name) {
    const uint64_t m = mix(name);
    return find_in((*segments_)[m >> kSegmentShift], m, name);
  }
  const Entry* find(uint64_t name) const { return const_cast<NameTable*>(this)->find(name); }

  struct Found {
    Entry* entry;
    bool fresh;
  };
  /// Enters the name, with one copy in this tier, unless it is there.
  Found find_or_insert(uint64_t name, SeqHash seq, size_t tier) {
    const uint64_t m = mix(name);
    Segment& s = (*segments_)[m >> kSegmentShift];
    if (Entry* known = find_in(s, m, name)) return {known, false};
    if (s.count >= uint64_t{s.buckets_n} * kFullBucket) rebuild(s, grown(s, s.buckets_n));
    Entry* entry = put(s, m, {name, seq, {}});
    entry->copies[tier] = 1;
    ++size_;
    return {entry, true};
  }

  /// As it is; its name must not be there.
  void insert(const Entry& entry) { find_or_insert(entry.name, entry.seq, 0).entry->copies = entry.copies; }

  void erase(Entry* entry) noexcept {
    const uint64_t m = mix(entry->name);
    Segment& s = (*segments_)[m >> kSegmentShift];
    uint32_t b = home_of(m, s.buckets_n);
    for (; !s.buckets[b].has(entry); b = next(b, s.buckets_n)) {
      if (s.buckets[b].overflow() != kSticky) s.buckets[b].tags -= kOverflowOne;
    }
    s.buckets[b].tags &= ~(uint64_t{0xff} << (8 * (entry - s.buckets[b].entries)));
    --s.count;
    --size_;
    if (s.count == 0) {
      release(s);
    } else if (s.count < s.buckets_n) {
      shrink(s);
    }
  }

  void clear() noexcept {
    for (Segment& s : *segments_) release(s);
    size_ = 0;
  }

  static constexpr size_t kSegments = 256;

  /// Calls fn(Entry) for each.
  template <class Fn>
  void each(Fn&& fn) const {
    for (size_t k = 0; k < kSegments; ++k) each_of(k, fn);
  }
  /// For each of one segment.
  template <class Fn>
  void each_of(size_t segment, Fn&& fn) const {
    const Segment& s = (*segments_)[segment];
    for (uint32_t b = 0; b < s.buckets_n; ++b) {
      s.buckets[b].each(s.buckets[b].tags & kHighBits, [&](const Entry& entry) { fn(entry); });
    }
  }

  /// "" or the first broken invariant.
  const char* validate() const {
    uint64_t entries = 0, buckets = 0;
    for (size_t k = 0; k < kSegments; ++k) {
      const Segment& s = (*segments_)[k];
      uint64_t count = 0;
      bool sound = true;
      each_of(k, [&](const Entry& entry) {
        ++count;
        sound = sound && entry.copies != decltype(entry.copies){} && find(entry.name) == &entry;
      });
      if (!sound) return "N1: an entry has no copy or is not found";
      if (count != s.count || count > uint64_t{s.buckets_n} * kFullBucket || (count == 0 && s.buckets_n > 0))
        return "N2: a segment's count is wrong";
      entries += count;
      buckets += s.buckets_n;
    }
    return entries == size_ && buckets == buckets_ ? "" : "N3: the table's counts are wrong";
  }

 private:
  static constexpr uint32_t kWays = 5;
  static constexpr uint32_t kFullBucket = 4;  // mean entries a bucket at which a segment grows
  static constexpr uint32_t kSegmentShift = 64 - std::countr_zero(kSegments);
  static constexpr uint64_t kOverflowOne = uint64_t{1} << 56;
  static constexpr uint32_t kSticky = 255;
  static constexpr uint64_t kTagBytes = 0xffffffffff, kLowBits = 0x0101010101, kHighBits = 0x8080808080;

  struct alignas(64) Bucket {
    uint64_t tags;  // five tags, 0 = free; the top byte counts overflow
    Entry entries[kWays];

    uint32_t overflow() const { return static_cast<uint32_t>(tags >> 56); }
    bool has(const Entry* entry) const { return entry >= entries && entry < entries + kWays; }
    /// Calls fn(Entry) for each way whose high bit is set.
    template <class Fn>
    void each(uint64_t ways, Fn&& fn) const {
      for (; ways != 0; ways &= ways - 1) fn(entries[static_cast<uint32_t>(std::countr_zero(ways)) / 8]);
    }
    /// High bit of each way whose tag may equal t: the borrow can only add false candidates, which the name rules out.
    uint64_t candidates(uint64_t t) const {
      const uint64_t x = (tags & kTagBytes) ^ (t * kLowBits);
      return (x - kLowBits) & ~x & tags & kHighBits;
    }
  };
  static_assert(sizeof(Bucket) == 128);

  struct Segment {
    Bucket* buckets = nullptr;  // in the arena
    uint32_t buckets_n = 0;
    uint32_t count = 0;
  };
  using Segments = std::array<Segment, kSegments>;

  uint64_t mix(uint64_t name) const { return mixed_name(name, seed_); }
  static uint64_t tag_of(uint64_t m) { return (m & 0x7f) | 0x80; }
  /// By the 32 bits behind those of the segment.
  static uint32_t home_of(uint64_t m, uint32_t buckets_n) {
    return static_cast<uint32_t>((m << (64 - kSegmentShift) >> 32) * buckets_n >> 32);
  }
  static uint32_t next(uint32_t b, uint32_t n) { return b + 1 == n ? 0 : b + 1; }

  static Entry* find_in(const Segment& s, uint64_t m, uint64_t name) {
    if (s.count == 0) return nullptr;
    uint32_t b = home_of(m, s.buckets_n);
    for (uint32_t walked = 0; walked < s.buckets_n; ++walked, b = next(b, s.buckets_n)) {
      Bucket& bucket = s.buckets[b];
      for (uint64_t c = bucket.candidates(tag_of(m)); c != 0; c &= c - 1) {
        Entry& entry = bucket.entries[static_cast<uint32_t>(std::countr_zero(c)) / 8];
        if (entry.name == name) return &entry;
      }
      if (bucket.overflow() == 0) return nullptr;
    }
    return nullptr;
  }

  static Entry* put(Segment& s, uint64_t m, const Entry& entry) {
    for (uint32_t b = home_of(m, s.buckets_n);; b = next(b, s.buckets_n)) {
      Bucket& bucket = s.buckets[b];
      const uint64_t free = ~bucket.tags & kHighBits;
      if (free != 0) {
        const uint32_t way = static_cast<uint32_t>(std::countr_zero(free)) / 8;
        bucket.tags |= tag_of(m) << (8 * way);
        bucket.entries[way] = entry;
        ++s.count;
        return &bucket.entries[way];
      }
      if (bucket.overflow() != kSticky) bucket.tags += kOverflowOne;
    }
  }

  /// 1, 2, 4, 8, then 16 … 23 (staggered by segment), and from there one and a half times as many each time.
  uint32_t grown(const Segment& s, uint32_t buckets_n) const {
    if (buckets_n < 8) return buckets_n == 0 ? 1 : buckets_n * 2;
    return buckets_n == 8 ? 16 + (static_cast<uint32_t>(&s - segments_->data()) & 7)
                          : buckets_n + buckets_n / 2;
  }

  /// To the smallest size of the series that holds the content with room to spare. May fail for want of memory; then the
  /// segment stays as it is.
  void shrink(Segment& s) noexcept {
    uint32_t n = 1;
    while (uint64_t{n} * kFullBucket / 2 < s.count) n = grown(s, n);
    if (n >= s.buckets_n) return;
    try {
      rebuild(s, n);
    } catch (const std::bad_alloc&) {
    }
  }

  void rebuild(Segment& s, uint32_t n) {
    Segment fresh{static_cast<Bucket*>(arena_.allocate(n * sizeof(Bucket))), n, 0};
    for (uint32_t b = 0; b < n; ++b) fresh.buckets[b].tags = 0;
    for (uint32_t b = 0; b < s.buckets_n; ++b) {
      s.buckets[b].each(s.buckets[b].tags & kHighBits,
                        [&](const Entry& entry) { put(fresh, mix(entry.name), entry); });
    }
    buckets_ = buckets_ - s.buckets_n + n;
    arena_.release(s.buckets);
    s = fresh;
  }
  void release(Segment& s) noexcept {
    buckets_ -= s.buckets_n;
    arena_.release(s.buckets);
    s = Segment{};
  }

  uint64_t seed_;
  Arena arena_;
  std::unique_ptr<Segments> segments_;
  uint64_t size_ = 0;
  uint64_t buckets_ = 0;  // of all segments
};

}  // namespace kvidx
