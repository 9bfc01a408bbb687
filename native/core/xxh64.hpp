// XXH64, from its public specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md, v0.1.1).
//
// Idea: four accumulators eat 32-byte stripes, one 8-byte lane each; what is left over is mixed in by 8, 4
// and 1 bytes; a last avalanche spreads every bit. Inputs shorter than 32 bytes skip the accumulators.
//
//   bytes  [ lane 0 | lane 1 | lane 2 | lane 3 ] [ stripe 1 ] … [ 8 ] [ 8 ] [ 4 ] [1] [1]
//             acc 0    acc 1    acc 2    acc 3   → merged into one accumulator → tail → avalanche
//
// Costs: two multiplications a lane, 14 more for merge and avalanche; multiplication throughput is the bound.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kvidx {

// Lanes are read as they lie in memory.
static_assert(std::endian::native == std::endian::little,
              "block hashes are defined on little-endian integers");

namespace xxh {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

constexpr size_t kStripe = 32;

template <class Int>
inline Int load(const uint8_t* p) {
  Int value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

constexpr uint64_t round(uint64_t acc, uint64_t lane) {
  return std::rotl(acc + lane * kPrime2, 31) * kPrime1;
}

constexpr uint64_t merge(uint64_t acc, uint64_t stripe_acc) {
  return (acc ^ round(0, stripe_acc)) * kPrime1 + kPrime4;
}

constexpr uint64_t avalanche(uint64_t acc) {
  acc = (acc ^ (acc >> 33)) * kPrime2;
  acc = (acc ^ (acc >> 29)) * kPrime3;
  return acc ^ (acc >> 32);
}

constexpr uint64_t mix8(uint64_t acc, uint64_t lane) {
  return std::rotl(acc ^ round(0, lane), 27) * kPrime1 + kPrime4;
}

}  // namespace xxh

/// XXH64 of `size` bytes. Inlined, so that a constant size unrolls into straight code.
inline uint64_t xxh64(const uint8_t* p, size_t size, uint64_t seed) {
  using namespace xxh;
  const uint8_t* const end = p + size;
  uint64_t acc;
  if (size >= kStripe) {
    uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; end - p >= static_cast<ptrdiff_t>(kStripe); p += kStripe) {
      a = round(a, load<uint64_t>(p));
      b = round(b, load<uint64_t>(p + 8));
      c = round(c, load<uint64_t>(p + 16));
      d = round(d, load<uint64_t>(p + 24));
    }
    acc = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    acc = merge(merge(merge(merge(acc, a), b), c), d);
  } else {
    acc = seed + kPrime5;
  }
  acc += size;
  for (; end - p >= 8; p += 8) acc = mix8(acc, load<uint64_t>(p));
  if (end - p >= 4) {
    acc = std::rotl(acc ^ load<uint32_t>(p) * kPrime1, 23) * kPrime2 + kPrime3;
    p += 4;
  }
  for (; p != end; ++p) acc = std::rotl(acc ^ *p * kPrime5, 11) * kPrime1;
  return avalanche(acc);
}

/// XXH64 of the 8 bytes of `lane`: only what follows the first xor waits for `seed`.
constexpr uint64_t xxh64_u64(uint64_t lane, uint64_t seed) {
  return xxh::avalanche(xxh::mix8(seed + xxh::kPrime5 + 8, lane));
}

}  // namespace kvidx
