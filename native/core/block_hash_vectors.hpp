// Local hashes of eight blocks at once, a lane each: the vector operations that block_hash_avx512.cpp and its pipeline share.
//
// Two blocks of four accumulators a … d lie in one vector, four vectors make a batch:
//
//   [ block 0: a b c d | block 1: a b c d ]  [ 2 | 3 ]  [ 4 | 5 ]  [ 6 | 7 ]
//   transposed: a, b, c, d, each of blocks [ 0 2 1 3 4 6 5 7 ]
#pragma once

#include <immintrin.h>

#include "core/block_hash_kernel.hpp"

namespace kvidx::block_hash::avx512 {
namespace {

#define KVIDX_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
// State that is not inlined away stays in memory.
#define KVIDX_KERNEL KVIDX_AVX512 inline __attribute__((always_inline))

using Vector = __m512i;
using xxh::kPrime1, xxh::kPrime2, xxh::kPrime3, xxh::kPrime4;

constexpr size_t kLanes = 8;
/// Where block i of a batch is, after transposing.
constexpr size_t kPlace[kLanes] = {0, 2, 1, 3, 4, 6, 5, 7};

KVIDX_KERNEL Vector all(uint64_t value) {
  return _mm512_set1_epi64(static_cast<long long>(value));
}
KVIDX_KERNEL Vector times(Vector value, uint64_t prime) {
  return _mm512_mullo_epi64(value, all(prime));
}
template <unsigned kShift>
KVIDX_KERNEL Vector folded(Vector value) {
  return _mm512_xor_si512(value, _mm512_srli_epi64(value, kShift));
}

/// The accumulators before the first stripe, for two blocks.
KVIDX_KERNEL Vector start() {
  const auto a = static_cast<long long>(kPrime1 + kPrime2), b = static_cast<long long>(kPrime2);
  const auto d = static_cast<long long>(0 - kPrime1);
  return _mm512_setr_epi64(a, b, 0, d, a, b, 0, d);
}

/// One stripe of two blocks.
KVIDX_KERNEL Vector stripes(const uint8_t* one, const uint8_t* other) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(one));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(other));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// Two vectors of accumulators each, transposed in two steps: lanes of one kind of four blocks, then of eight.
struct Halves {
  Vector low, high;  // of blocks 0 … 3 and 4 … 7

  KVIDX_KERNEL static Halves of_ac(const Vector (&pairs)[4]) {
    return {_mm512_unpacklo_epi64(pairs[0], pairs[1]), _mm512_unpacklo_epi64(pairs[2], pairs[3])};
  }
  KVIDX_KERNEL static Halves of_bd(const Vector (&pairs)[4]) {
    return {_mm512_unpackhi_epi64(pairs[0], pairs[1]), _mm512_unpackhi_epi64(pairs[2], pairs[3])};
  }
  /// a of a and c, b of b and d.
  KVIDX_KERNEL Vector first() const { return _mm512_shuffle_i64x2(low, high, 0x88); }
  KVIDX_KERNEL Vector second() const { return _mm512_shuffle_i64x2(low, high, 0xDD); }
};

}  // namespace
}  // namespace kvidx::block_hash::avx512
