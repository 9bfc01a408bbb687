// seq hash → (run, position), for every known block.
//
//   bucket, one cache line   [ 8 tags of 7 bits | overflow count, one byte ] [ entry of 7 bytes ] × 8
//   entry                    run:28 | position:12 | home:16
//
// The hash itself is not stored: it stands in the run, and a match of tag and home bits is confirmed there.
// The home bits alone give an entry's bucket at any size, so growing reads nothing but the table. A full
// bucket sends its next entry to the following bucket and counts it, so a look-up that fails mostly reads one
// line (1.7 in the mean, 3.6 just before a segment grows), and erasing needs no tombstones. The table is cut
// into segments by the hash's top bits and each grows alone: no long stall. Segments differ in their sizes, so
// they grow at different times and the mean load stays near 0.73 at every size.
//
// Invariants: exactly one entry a known block; a bucket's overflow count is the number of entries that passed
// over it (255 sticks until the segment is rebuilt). Costs: one cache line and one or two in the run a
// look-up; about 11 bytes a block. From 200 million blocks on, 16 home bits no longer tell all buckets of a
// segment apart, and a look-up reads further lines.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/run.hpp"

namespace kvidx {

class BlockTable {
 public:
  BlockTable() : segments_(std::make_unique<std::array<Segment, kSegments>>()) {}
  BlockTable(BlockTable&&) = default;
  BlockTable& operator=(BlockTable&&) = default;

  uint64_t size() const { return size_; }

  /// Always inlined: as a call of its own the compiler takes it for a pure function without a result, and
  /// drops it.
  [[gnu::always_inline]] inline void prefetch(SeqHash h) const {
    const uint64_t m = mix(h);
    const Segment& s = segment(m);
    if (s.count != 0) __builtin_prefetch(&s.buckets[home(home_bits(m), s.buckets_n)]);
  }

  BlockRef find(const RunSlab& runs, SeqHash h) const {
    const uint64_t m = mix(h);
    const Segment& s = segment(m);
    if (s.count == 0) return {};
    uint32_t b = home(home_bits(m), s.buckets_n);
    for (uint32_t walked = 0; walked < s.buckets_n; ++walked) {
      const Bucket& bucket = s.buckets[b];
      const BlockRef hit = match(bucket, runs, h, m);
      if (hit.found() || overflow(bucket) == 0) return hit;
      b = next(b, s.buckets_n);
    }
    return {};
  }

  /// As find, without a look at the run. Only 31 bits are compared (segment, home and tag): a hash meets another's entry with
  /// probability blocks / 2^31, 0.2 % in an index of 4.6 million. Whoever goes on compares the block, and asks find if it is not it.
  BlockRef guess(SeqHash h) const {
    const uint64_t m = mix(h);
    const Segment& s = segment(m);
    if (s.count == 0) return {};
    uint32_t b = home(home_bits(m), s.buckets_n);
    for (uint32_t walked = 0; walked < s.buckets_n; ++walked) {
      const Bucket& bucket = s.buckets[b];
      for (uint64_t c = candidates(bucket, tag(m)); c != 0; c &= c - 1) {
        const uint64_t e = bucket.entry(offset_of(c));
        if ((e & kHomeMask) == home_bits(m)) return ref_of(e);
      }
      if (overflow(bucket) == 0) break;
      b = next(b, s.buckets_n);
    }
    return {};
  }

  /// Inserts h unless it is there; answers the entry that was there. The run's block must already be written.
  BlockRef find_or_insert(RunSlab& runs, SeqHash h, BlockRef fresh) {
    const BlockRef known = find(runs, h);
    if (known.found()) return known;
    const uint64_t m = mix(h);
    Segment& s = segment(m);
    if (s.count >= uint64_t{s.buckets_n} * kFullBucket) rebuild(runs.arena(), s, grown(s, s.buckets_n));
    put(s, tag(m), entry(m, fresh));
    ++size_;
    return {};
  }

  /// Enters all blocks of the runs into an empty table, each segment in its final size from the start. False when a block is
  /// there twice: then the table is good for nothing. Costs: two passes over the blocks.
  [[nodiscard]] bool build(RunSlab& runs) {
    std::array<uint32_t, kSegments> counts{};
    each_live_run(runs, [&counts](uint32_t, const Run& run) {
      for (uint32_t at = run.first; at < run.end; ++at) ++counts[mix(run.blocks[at]) >> (64 - kSegmentBits)];
    });
    for (uint32_t k = 0; k < kSegments; ++k) {
      Segment& s = (*segments_)[k];
      uint32_t n = 0;
      while (uint64_t{n} * kFullBucket < counts[k]) n = grown(s, n);
      if (n > 0) rebuild(runs.arena(), s, n);
    }
    bool once = true;
    each_live_run(runs, [&](uint32_t id, const Run& run) {
      constexpr uint32_t kAhead = 24;
      for (uint32_t at = run.first; at < std::min<uint32_t>(run.end, run.first + kAhead); ++at)
        prefetch(run.blocks[at]);
      for (uint32_t at = run.first; once && at < run.end; ++at) {
        if (at + kAhead < run.end) prefetch(run.blocks[at + kAhead]);
        once = !find_or_insert(runs, run.blocks[at], {id, pos(at)}).found();
      }
    });
    return once;
  }

  void erase(Arena& arena, SeqHash h, BlockRef ref) {
    const uint64_t m = mix(h);
    Segment& s = segment(m);
    const Place place = locate(s, m, ref);
    for (uint32_t b = home(home_bits(m), s.buckets_n); b != place.bucket; b = next(b, s.buckets_n)) {
      if (overflow(s.buckets[b]) != kSticky) s.buckets[b].tags -= kOverflowOne;
    }
    s.buckets[place.bucket].tags &= ~(kTagMask << place.offset);
    --s.count;
    --size_;
    if (s.count == 0) {
      release(arena, s);
    } else if (s.count < s.buckets_n) {
      shrink(arena, s);
    }
  }

  /// The block h moved from one place to another.
  void move(SeqHash h, BlockRef from, BlockRef to) {
    const uint64_t m = mix(h);
    Segment& s = segment(m);
    const Place place = locate(s, m, from);
    s.buckets[place.bucket].set_entry(place.offset, entry(m, to));
  }

  uint64_t used_bytes() const { return sizeof(*segments_) + size_ * (kEntryBytes + 1); }
  /// Beside the arena.
  uint64_t reserved_bytes() const { return sizeof(*segments_); }

  /// Calls fn(entry's place) for each entry.
  template <class Fn>
  void each(Fn&& fn) const {
    for (const Segment& s : *segments_) {
      for (uint32_t b = 0; b < s.buckets_n; ++b) {
        for (uint64_t c = s.buckets[b].tags & kHighBits; c != 0; c &= c - 1) {
          fn(ref_of(s.buckets[b].entry(offset_of(c))));
        }
      }
    }
  }

  /// Overflow counts are what the places of the entries say. For validate().
  bool sound() const {
    std::vector<uint32_t> passed;
    for (const Segment& s : *segments_) {
      passed.assign(s.buckets_n, 0);
      for (uint32_t b = 0; b < s.buckets_n; ++b) {
        for (uint64_t c = s.buckets[b].tags & kHighBits; c != 0; c &= c - 1) {
          const uint64_t e = s.buckets[b].entry(offset_of(c));
          for (uint32_t q = home(e & kHomeMask, s.buckets_n); q != b; q = next(q, s.buckets_n)) ++passed[q];
        }
      }
      for (uint32_t b = 0; b < s.buckets_n; ++b)
        if (overflow(s.buckets[b]) != kSticky && overflow(s.buckets[b]) != passed[b]) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kWays = 8, kTagBits = 7, kEntryBytes = 7;
  // As a tag has as many bits as an entry has bytes, one offset tells where both are.
  static_assert(kTagBits == kEntryBytes);
  // A bucket's bytes are taken for numbers.
  static_assert(std::endian::native == std::endian::little);
  static constexpr uint32_t kFullBucket = 7;  // mean entries a bucket at which a segment grows
  static constexpr uint32_t kSegmentBits = 9;
  static constexpr uint32_t kSegments = 1u << kSegmentBits;
  static constexpr uint64_t kOverflowOne = uint64_t{1} << 56;
  static constexpr uint32_t kSticky = 255;
  static constexpr uint32_t kHomeBits = 16;
  static constexpr uint64_t kHomeMask = (1u << kHomeBits) - 1;
  static constexpr uint32_t kAtBits = 12, kRunShift = kHomeBits + kAtBits;
  static_assert(kMaxRun == 1u << kAtBits && uint64_t{kMaxRuns} << kRunShift == uint64_t{1}
                                                                                   << 8 * kEntryBytes);
  static constexpr uint64_t kTagMask = (1u << kTagBits) - 1;
  /// The lowest bit of each tag, and the highest: that is set in a way in use.
  static constexpr uint64_t kLowBits = 0x0002040810204081, kHighBits = kLowBits << (kTagBits - 1);

  struct alignas(64) Bucket {
    uint64_t tags;  // 0 = free; the top byte counts overflow
    uint8_t entries[kWays * kEntryBytes];

    // An entry is read and written as the upper seven bytes of eight that begin one byte below it.
    uint64_t entry(uint32_t offset) const {
      uint64_t word;
      std::memcpy(&word, below(offset), sizeof word);
      return word >> 8;
    }
    void set_entry(uint32_t offset, uint64_t entry) {
      const uint64_t word = *below(offset) | entry << 8;
      std::memcpy(below(offset), &word, sizeof word);
    }

   private:
    static constexpr size_t kBelowFirst = sizeof tags - 1;
    const uint8_t* below(uint32_t offset) const {
      return reinterpret_cast<const uint8_t*>(this) + kBelowFirst + offset;
    }
    uint8_t* below(uint32_t offset) { return reinterpret_cast<uint8_t*>(this) + kBelowFirst + offset; }
  };
  static_assert(sizeof(Bucket) == 64);
  struct Segment {
    Bucket* buckets = nullptr;  // in the arena
    uint32_t buckets_n = 0;
    uint32_t count = 0;
  };
  struct Place {
    uint32_t bucket, offset;
  };

  /// Opaque hashes may be small integers; two rounds spread them over all bits.
  static uint64_t mix(SeqHash h) {
    uint64_t x = raw(h);
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9;
    return x ^ (x >> 32);
  }
  static uint64_t home_bits(uint64_t m) { return m >> 16 & kHomeMask; }
  static uint32_t home(uint64_t bits, uint32_t buckets_n) {
    return static_cast<uint32_t>((bits * buckets_n) >> kHomeBits);
  }
  static uint64_t tag(uint64_t m) { return (m & kTagMask) | (kTagMask + 1) / 2; }
  static uint64_t entry(uint64_t m, BlockRef ref) {
    return uint64_t{ref.run} << kRunShift | uint64_t{ref.at} << kHomeBits | home_bits(m);
  }
  static BlockRef ref_of(uint64_t e) {
    return {static_cast<uint32_t>(e >> kRunShift), pos(e >> kHomeBits & (kMaxRun - 1))};
  }
  static uint32_t overflow(const Bucket& b) { return static_cast<uint32_t>(b.tags >> 56); }
  static uint32_t next(uint32_t b, uint32_t n) { return b + 1 == n ? 0 : b + 1; }

  Segment& segment(uint64_t m) { return (*segments_)[m >> (64 - kSegmentBits)]; }
  const Segment& segment(uint64_t m) const { return (*segments_)[m >> (64 - kSegmentBits)]; }

  /// Of bits of kHighBits, the offset of the lowest one's way.
  static uint32_t offset_of(uint64_t bits) {
    return static_cast<uint32_t>(std::countr_zero(bits)) - (kTagBits - 1);
  }

  /// High bit of each way whose tag may equal t: the borrow can only add false candidates, which the entry
  /// rules out or whoever compares the block.
  static uint64_t candidates(const Bucket& b, uint64_t t) {
    const uint64_t x = (b.tags & 0x00ffffffffffffff) ^ (t * kLowBits);
    return (x - kLowBits) & ~x & kHighBits;
  }

  static BlockRef match(const Bucket& b, const RunSlab& runs, SeqHash h, uint64_t m) {
    for (uint64_t c = candidates(b, tag(m)); c != 0; c &= c - 1) {
      const uint64_t e = b.entry(offset_of(c));
      if ((e & kHomeMask) != home_bits(m)) continue;
      runs.prefetch(ref_of(e).run);  // whoever finds a block goes on to its run
      if (runs.hash(ref_of(e)) == h) return ref_of(e);
    }
    return {};
  }

  Place locate(const Segment& s, uint64_t m, BlockRef ref) const {
    const uint64_t wanted = entry(m, ref);
    for (uint32_t b = home(home_bits(m), s.buckets_n);; b = next(b, s.buckets_n)) {
      for (uint64_t c = candidates(s.buckets[b], tag(m)); c != 0; c &= c - 1) {
        if (s.buckets[b].entry(offset_of(c)) == wanted) return {b, offset_of(c)};
      }
    }
  }

  static void put(Segment& s, uint64_t tag, uint64_t entry) {
    uint32_t b = home(entry & kHomeMask, s.buckets_n);
    for (;; b = next(b, s.buckets_n)) {
      Bucket& bucket = s.buckets[b];
      const uint64_t free = ~bucket.tags & kHighBits;
      if (free != 0) {
        bucket.tags |= tag << offset_of(free);
        bucket.set_entry(offset_of(free), entry);
        ++s.count;
        return;
      }
      if (overflow(bucket) != kSticky) bucket.tags += kOverflowOne;
    }
  }

  template <class Fn>
  static void each_live_run(const RunSlab& runs, Fn&& fn) {
    for (uint32_t id = 0; id < runs.used(); ++id) {
      if (const Run& run = runs[id]; run.live()) fn(id, run);
    }
  }

  /// 1, 2, 4, 8, then 16 … 23 (staggered by segment), and from there one and a half times as many each time.
  uint32_t grown(const Segment& s, uint32_t buckets_n) const {
    if (buckets_n < 8) return buckets_n == 0 ? 1 : buckets_n * 2;
    return buckets_n == 8 ? 16 + (static_cast<uint32_t>(&s - segments_->data()) & 7)
                          : buckets_n + buckets_n / 2;
  }

  /// To the smallest size of the series that holds the content with room to spare. May fail for want of
  /// memory; then the segment stays as it is.
  void shrink(Arena& arena, Segment& s) {
    uint32_t n = 1;
    while (uint64_t{n} * kFullBucket <= s.count) n = grown(s, n);
    if (n >= s.buckets_n) return;
    try {
      rebuild(arena, s, n);
    } catch (const std::bad_alloc&) {
    }
  }

  void rebuild(Arena& arena, Segment& s, uint32_t n) {
    Segment fresh{static_cast<Bucket*>(arena.allocate(n * sizeof(Bucket))), n, 0};
    std::memset(static_cast<void*>(fresh.buckets), 0, n * sizeof(Bucket));
    for (uint32_t b = 0; b < s.buckets_n; ++b) {
      const Bucket& bucket = s.buckets[b];
      for (uint64_t c = bucket.tags & kHighBits; c != 0; c &= c - 1) {
        put(fresh, bucket.tags >> offset_of(c) & kTagMask, bucket.entry(offset_of(c)));
      }
    }
    arena.release(s.buckets);
    s = fresh;
  }
  static void release(Arena& arena, Segment& s) {
    arena.release(s.buckets);
    s = Segment{};
  }

  std::unique_ptr<std::array<Segment, kSegments>> segments_;
  uint64_t size_ = 0;
};

}  // namespace kvidx
