// Choices drawn from bytes: the same bytes make the same choices, and fewer bytes make fewer of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvidx {

/// The splitmix64 step (public domain, prng.di.unimi.it/splitmix64.c): also a good mixer of small numbers.
constexpr uint64_t splitmix64(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr uint64_t mixed(uint64_t number) {
  return splitmix64(number);
}

inline std::vector<uint8_t> random_bytes(uint64_t seed, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(splitmix64(seed));
  return bytes;
}

class ByteSource {
 public:
  explicit ByteSource(std::span<const uint8_t> bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }

  /// 0 … bound − 1; 0 when the bytes have run out.
  uint32_t below(size_t bound) {
    uint32_t value = 0;
    for (size_t reach = 1; reach < bound && !rest_.empty(); reach <<= 8) {
      value = (value << 8) | rest_.front();
      rest_ = rest_.subspan(1);
    }
    return bound == 0 ? 0 : static_cast<uint32_t>(value % bound);
  }
  /// from … to, both included.
  uint32_t between(size_t from, size_t to) { return static_cast<uint32_t>(from) + below(to - from + 1); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  template <class T, size_t kSize>
  T one_of(const T (&values)[kSize]) {
    return values[below(kSize)];
  }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace kvidx
