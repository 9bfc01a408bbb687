// What the names meant that departed last: an engine may still speak of them by name alone.
//
//   ring     departure d (from 1 on) at (d − 1) mod its size: name | seq hash | number of the one before it in its chain
//   heads    number of the latest departure of each chain, by the mixed name
//
// A departure takes the place of the oldest one, and nobody takes that out of its chain: a walk ends at a number that has
// left the ring. A name that departs again stands in front of its former departure, so that a look-up meets the latest
// first, and a name that comes back costs nothing. The ring grows by doubling up to kDepartedNames; without memory for that
// all is forgotten.
//
// Invariant: D1 chains hold exactly the departures of the ring, each behind the head of its name, later ones first.
// Costs: O(1); 32 bytes a departure, 128 KiB at most.
#pragma once

#include <algorithm>
#include <new>
#include <vector>

#include "core/name_table.hpp"

namespace kvidx {

constexpr size_t kDepartedNames = 4096;

class DepartedNames {
 public:
  explicit DepartedNames(uint64_t seed) : seed_(seed) {}

  void note(uint64_t name, SeqHash seq) noexcept {
    if (departures_ == ring_.size() && departures_ < kDepartedNames && !grow()) return;
    ++departures_;
    departure(departures_) = {name, seq, 0};
    link(departures_);
  }

  /// Null: not among them.
  const SeqHash* find(uint64_t name) const {
    if (ring_.empty()) return nullptr;
    uint64_t number = heads_[chain_of(name)];
    while (is_held(number) && departure(number).name != name) number = departure(number).before;
    return is_held(number) ? &departure(number).seq : nullptr;
  }

  void clear() noexcept {
    ring_ = std::vector<Departure>();
    heads_ = std::vector<uint64_t>();
    departures_ = 0;
  }

  uint64_t used_bytes() const {
    return ring_.capacity() * sizeof(Departure) + heads_.capacity() * sizeof(uint64_t);
  }

  /// "" or the broken invariant.
  const char* validate() const {
    uint64_t linked = 0;
    for (size_t chain = 0; chain < heads_.size(); ++chain) {
      for (uint64_t number = heads_[chain]; is_held(number); number = departure(number).before, ++linked) {
        if (number > departures_ || departure(number).before >= number) return "D1: a chain is out of order";
        if (chain_of(departure(number).name) != chain) return "D1: a departure is in another chain";
      }
    }
    return linked == std::min<uint64_t>(departures_, ring_.size()) ? "" : "D1: departures are lost";
  }

 private:
  static constexpr size_t kFewest = 64;

  struct Departure {
    uint64_t name;
    SeqHash seq;
    uint64_t before;  // 0: none
  };

  size_t chain_of(uint64_t name) const { return mixed_name(name, seed_) & (heads_.size() - 1); }
  bool is_held(uint64_t number) const { return number != 0 && number + ring_.size() > departures_; }
  Departure& departure(uint64_t number) { return ring_[(number - 1) & (ring_.size() - 1)]; }
  const Departure& departure(uint64_t number) const { return ring_[(number - 1) & (ring_.size() - 1)]; }

  void link(uint64_t number) {
    uint64_t& head = heads_[chain_of(departure(number).name)];
    departure(number).before = head;
    head = number;
  }

  /// Of a ring that has been filled once: every departure keeps its place.
  bool grow() noexcept {
    try {
      const size_t size = std::max(kFewest, 2 * ring_.size());
      std::vector<uint64_t> heads(size);
      std::vector<Departure> ring(size);
      std::copy(ring_.begin(), ring_.end(), ring.begin());
      ring_ = std::move(ring);
      heads_ = std::move(heads);
    } catch (const std::bad_alloc&) {
      clear();
      return false;
    }
    for (uint64_t number = 1; number <= departures_; ++number) link(number);
    return true;
  }

  uint64_t seed_;
  std::vector<Departure> ring_;  // as many as heads, a power of two
  std::vector<uint64_t> heads_;
  uint64_t departures_ = 0;
};

}  // namespace kvidx
