// Choices drawn from a seed, without an end.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace kvidx
