#include "core/bloom_kernel.hpp"

#if defined(__x86_64__)
#if !defined(__clang__)
// gcc before 13 takes the vectors that its own header leaves open on purpose for mistakes (gcc.gnu.org/PR105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <bit>

#define KVIDX_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

namespace kvidx::bloom::avx512 {
namespace {

// Eight keys are hashed at once; then two at a time have their 2 × 8 words in one vector.
constexpr size_t kLanes = 8;
constexpr size_t kBatch = 64;
constexpr __mmask8 kAllLanes = 0xFF;

/// The first `count` lanes; all for 8 and more.
constexpr __mmask8 first_lanes(size_t count) {
  return count >= kLanes ? kAllLanes : static_cast<__mmask8>((1u << count) - 1);
}

KVIDX_AVX512 inline __m512i all(uint64_t value) {
  return _mm512_set1_epi64(static_cast<long long>(value));
}

/// xxh64_u64 with seed 0 in each lane.
KVIDX_AVX512 inline __m512i hashes_of(__m512i keys) {
  using namespace xxh;
  const __m512i lane =
      _mm512_mullo_epi64(_mm512_rol_epi64(_mm512_mullo_epi64(keys, all(kPrime2)), 31), all(kPrime1));
  __m512i h = _mm512_rol_epi64(_mm512_xor_si512(all(kPrime5 + 8), lane), 27);
  h = _mm512_add_epi64(_mm512_mullo_epi64(h, all(kPrime1)), all(kPrime4));
  h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 33)), all(kPrime2));
  h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 29)), all(kPrime3));
  return _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
}

/// Hashes of up to kBatch keys, and in the upper halves of `places` their blocks. Lanes behind the last key repeat the first.
/// Nothing is prefetched: 64 keys are few enough instructions that their misses overlap without.
struct Batch {
  struct Place {
    uint32_t fraction, block;
  };
  alignas(64) uint64_t hashes[kBatch];
  alignas(64) Place places[kBatch];

  KVIDX_AVX512 void fill(uint64_t z, SeqSpan keys) {
    const __m512i first = all(raw(keys[0]));
    for (size_t i = 0; i < keys.size(); i += kLanes) {
      const __m512i h = hashes_of(_mm512_mask_loadu_epi64(first, first_lanes(keys.size() - i), &keys[i]));
      _mm512_store_si512(hashes + i, h);
      _mm512_store_si512(places + i, _mm512_mul_epu32(_mm512_srli_epi64(h, 32), all(z)));
    }
  }
};

/// The bits of keys 2 kPair and 2 kPair + 1 of eight, each in its half.
template <int kPair>
KVIDX_AVX512 inline __m512i bits(__m512i hashes) {
  const __m512i halves =
      _mm512_inserti64x4(_mm512_set1_epi32(4 * kPair), _mm256_set1_epi32(4 * kPair + 2), 1);
  const __m512i salts = _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(kSalts)));
  const __m512i product = _mm512_mullo_epi32(_mm512_permutexvar_epi32(halves, hashes), salts);
  return _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32(product, 27));
}

KVIDX_AVX512 inline __m256i load(const uint32_t* words, Batch::Place place) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(words + place.block * kBlockWords));
}

/// The words of a pair that have not their bit.
template <int kPair>
KVIDX_AVX512 inline __mmask16 missing(const uint32_t* words, __m512i hashes, const Batch::Place* places) {
  const __m512i blocks = _mm512_inserti64x4(_mm512_castsi256_si512(load(words, places[2 * kPair])),
                                            load(words, places[2 * kPair + 1]), 1);
  return _mm512_testn_epi32_mask(blocks, bits<kPair>(hashes));
}

/// Which of the eight keys from `i` on test positive: a bit each.
KVIDX_AVX512 inline __mmask8 hits(const uint32_t* words, const Batch& batch, size_t i) {
  const __m512i h = _mm512_load_si512(batch.hashes + i);
  const Batch::Place* const places = batch.places + i;
  const __mmask32 low = _mm512_kunpackw(missing<1>(words, h, places), missing<0>(words, h, places));
  const __mmask32 high = _mm512_kunpackw(missing<3>(words, h, places), missing<2>(words, h, places));
  // A byte for each key: zero where no word misses its bit.
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(_mm512_kunpackd(high, low)));
  return static_cast<__mmask8>(_mm_cmpeq_epi8_mask(bytes, _mm_setzero_si128()));
}

KVIDX_AVX512 inline void set(uint32_t* words, Batch::Place place, __m256i bits) {
  auto* const block = reinterpret_cast<__m256i_u*>(words + place.block * kBlockWords);
  _mm256_storeu_si256(block, _mm256_or_si256(_mm256_loadu_si256(block), bits));
}

template <int kPair>
KVIDX_AVX512 inline void add_pair(uint32_t* words, __m512i hashes, const Batch::Place* places) {
  const __m512i pair = bits<kPair>(hashes);
  set(words, places[2 * kPair], _mm512_castsi512_si256(pair));  // one by one: both may be of the same block
  set(words, places[2 * kPair + 1], _mm512_extracti64x4_epi64(pair, 1));
}

}  // namespace

KVIDX_AVX512 void add(FilterWords words, SeqSpan keys) {
  Batch batch;
  while (!keys.empty()) {
    const SeqSpan some = take(keys, kBatch);
    batch.fill(words.size() / kBlockWords, some);
    for (size_t i = 0; i < some.size(); i += kLanes) {
      const __m512i h = _mm512_load_si512(batch.hashes + i);
      add_pair<0>(words.data(), h, batch.places + i);
      add_pair<1>(words.data(), h, batch.places + i);
      add_pair<2>(words.data(), h, batch.places + i);
      add_pair<3>(words.data(), h, batch.places + i);
    }
  }
}

KVIDX_AVX512 size_t test(ConstFilterWords words, SeqSpan keys, std::span<uint8_t> out) {
  Batch batch;
  size_t positive = 0;
  size_t done = 0;
  while (!keys.empty()) {
    const SeqSpan some = take(keys, kBatch);
    batch.fill(words.size() / kBlockWords, some);
    for (size_t i = 0; i < some.size(); i += kLanes) {
      const __mmask8 lanes = first_lanes(some.size() - i);
      const __mmask8 hit = hits(words.data(), batch, i) & lanes;
      positive += static_cast<size_t>(std::popcount(hit));
      if (!out.empty()) _mm_mask_storeu_epi8(&out[done + i], lanes, _mm_maskz_set1_epi8(hit, 1));
    }
    done += some.size();
  }
  return positive;
}

KVIDX_AVX512 size_t leading(ConstFilterWords words, SeqSpan keys) {
  // Most requests end at once, and one key is hashed sooner without vectors.
  size_t count = avx2::leading(words, take(keys, 1));
  if (count == 0) return 0;
  Batch batch;
  while (!keys.empty()) {
    const size_t whole_vectors = count / kLanes * kLanes;
    const SeqSpan some = take(keys, next_batch(whole_vectors, kLanes, kBatch));
    batch.fill(words.size() / kBlockWords, some);
    for (size_t i = 0; i < some.size(); i += kLanes) {
      const __mmask8 lanes = first_lanes(some.size() - i);
      const __mmask8 hit = hits(words.data(), batch, i) & lanes;
      if (hit != lanes) return count + static_cast<size_t>(std::countr_one(hit));
      count += std::min(some.size() - i, kLanes);
    }
  }
  return count;
}

}  // namespace kvidx::bloom::avx512
#endif
