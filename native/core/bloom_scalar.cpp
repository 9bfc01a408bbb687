#include "core/bloom_kernel.hpp"

namespace kvidx::bloom::scalar {
namespace {

constexpr size_t kBatch = 16;

uint32_t bit_of_word(size_t i, uint32_t low) {
  return (low * kSalts[i]) >> 27;
}

/// 1 or 0. All eight words are looked at: in a filter that is half full each jump at a missing bit would be a toss-up.
uint32_t has(ConstFilterWords words, Probe probe) {
  const uint32_t* const block = &words[probe.block * kBlockWords];
  uint32_t all = 1;
  for (size_t i = 0; i < kBlockWords; ++i) all &= block[i] >> bit_of_word(i, probe.low);
  return all;
}

void set(FilterWords words, Probe probe) {
  uint32_t* const block = &words[probe.block * kBlockWords];
  for (size_t i = 0; i < kBlockWords; ++i) block[i] |= uint32_t{1} << bit_of_word(i, probe.low);
}

}  // namespace

void add(FilterWords words, SeqSpan keys) {
  ProbeBatch<kBatch> batch(words);
  while (!keys.empty()) {
    for (const Probe p : batch.next(keys)) set(words, p);
  }
}

size_t test(ConstFilterWords words, SeqSpan keys, std::span<uint8_t> out) {
  ProbeBatch<kBatch> batch(words);
  size_t positive = 0;
  size_t k = 0;
  while (!keys.empty()) {
    for (const Probe p : batch.next(keys)) {
      const uint32_t hit = has(words, p);
      positive += hit;
      if (!out.empty()) out[k++] = static_cast<uint8_t>(hit);
    }
  }
  return positive;
}

size_t leading(ConstFilterWords words, SeqSpan keys) {
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

}  // namespace kvidx::bloom::scalar
