// Makes sketch frames, sound and damaged ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "byte_source.hpp"

namespace kvidx {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(mixed(seed)) {}

  uint64_t u64() { return splitmix64(state_); }
  size_t below(size_t bound) { return static_cast<size_t>(u64() % bound); }
  size_t between(size_t from, size_t to) { return from + below(to - from + 1); }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class T, size_t kSize>
  const T& one_of(const T (&values)[kSize]) {
    return values[below(kSize)];
  }

 private:
  uint64_t state_;
};

/// A frame without fault, of at most `most_blocks`.
std::vector<uint8_t> sound_frame(Dice& dice, uint32_t most_blocks);

/// Damages it in one way.
void damage(std::vector<uint8_t>& frame, Dice& dice);

/// Writes the checksum of what stands before its place.
void mend_checksum(std::vector<uint8_t>& frame);

}  // namespace kvidx
