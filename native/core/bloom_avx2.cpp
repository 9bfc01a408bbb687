#include "core/bloom_kernel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define KVIDX_AVX2 __attribute__((target("avx2")))

namespace kvidx::bloom::avx2 {
namespace {

// Keys are hashed one by one: AVX2 does not multiply 64 bits, and putting the hash together from products of 32 would gain a
// few percent for as much code again.
constexpr size_t kBatch = 32;

/// A bit in each word.
KVIDX_AVX2 inline __m256i bits(uint32_t low) {
  const __m256i salts = _mm256_load_si256(reinterpret_cast<const __m256i*>(kSalts));
  const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(low)), salts);
  return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
}

/// 1 or 0. (Compared with 0 here, it would become a jump for each key.)
KVIDX_AVX2 inline int has(ConstFilterWords words, Probe probe) {
  const auto* const block = reinterpret_cast<const __m256i_u*>(&words[probe.block * kBlockWords]);
  return _mm256_testc_si256(_mm256_loadu_si256(block), bits(probe.low));
}

KVIDX_AVX2 inline void set(FilterWords words, Probe probe) {
  auto* const block = reinterpret_cast<__m256i_u*>(&words[probe.block * kBlockWords]);
  _mm256_storeu_si256(block, _mm256_or_si256(_mm256_loadu_si256(block), bits(probe.low)));
}

}  // namespace

KVIDX_AVX2 void add(FilterWords words, SeqSpan keys) {
  ProbeBatch<kBatch> batch(words);
  while (!keys.empty()) {
    for (const Probe p : batch.next(keys)) set(words, p);
  }
}

KVIDX_AVX2 size_t test(ConstFilterWords words, SeqSpan keys, std::span<uint8_t> out) {
  ProbeBatch<kBatch> batch(words);
  size_t positive = 0;
  size_t k = 0;
  while (!keys.empty()) {
    for (const Probe p : batch.next(keys)) {
      const int hit = has(words, p);
      positive += static_cast<size_t>(hit);
      if (!out.empty()) out[k++] = static_cast<uint8_t>(hit);
    }
  }
  return positive;
}

KVIDX_AVX2 size_t leading(ConstFilterWords words, SeqSpan keys) {
  ProbeBatch<kBatch> batch(words);
  size_t count = 0;
  while (!keys.empty()) {
    for (const Probe p : batch.next(keys, next_batch(count, 1, kBatch))) {
      if (!has(words, p)) return count;
      ++count;
    }
  }
  return count;
}

}  // namespace kvidx::bloom::avx2
#endif
