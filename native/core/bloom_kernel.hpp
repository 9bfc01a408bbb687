// What the kernels of bloom.hpp share: where a key's bits are, and batches.
//
// Idea: a kernel works by batches. All keys of a batch are hashed before the first block is touched, so that the misses of the
// whole batch are under way together.
//
// Vector kernels carry their instruction set as an attribute of each function, not as a flag of the file: an inline function
// of a header that was compiled under such a flag could be the one that the linker keeps for everybody. A function with the
// attribute is inlined only into its like, so the loops stand in each kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/bloom.hpp"
#include "core/xxh64.hpp"

namespace kvidx::bloom {

#define KVIDX_BLOOM_KERNEL(isa)                                              \
  namespace isa {                                                            \
  void add(FilterWords words, SeqSpan keys);                                 \
  size_t test(ConstFilterWords words, SeqSpan keys, std::span<uint8_t> out); \
  size_t leading(ConstFilterWords words, SeqSpan keys);                      \
  }
KVIDX_BLOOM_KERNEL(scalar)
#if defined(__x86_64__)
KVIDX_BLOOM_KERNEL(avx2)
KVIDX_BLOOM_KERNEL(avx512)
#endif
#undef KVIDX_BLOOM_KERNEL

alignas(32) inline constexpr uint32_t kSalts[kBlockWords] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                                             0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

/// What a key asks of a filter: the bits that `low` chooses in a block.
struct Probe {
  uint32_t block;
  uint32_t low;
};

/// `z` blocks.
inline Probe probe(SeqHash key, uint64_t z) {
  const uint64_t hash = xxh64_u64(raw(key), 0);
  return {static_cast<uint32_t>(((hash >> 32) * z) >> 32), static_cast<uint32_t>(hash)};
}

/// The first `most` keys, or all; they are taken off.
inline SeqSpan take(SeqSpan& keys, size_t most) {
  const SeqSpan first = keys.first(std::min(keys.size(), most));
  keys = keys.subspan(first.size());
  return first;
}

/// Keys that `leading` hashes at once after it counted so many: most requests end soon, and the rest are long.
constexpr size_t next_batch(size_t counted, size_t least, size_t most) {
  return std::clamp(counted, least, most);
}

/// For kernels that hash key by key.
template <size_t kSize>
class ProbeBatch {
 public:
  explicit ProbeBatch(ConstFilterWords words) : words_(words.data()), z_(words.size() / kBlockWords) {}

  /// Probes of the first `most` ≤ kSize keys, which are taken off; their blocks are asked for.
  std::span<const Probe> next(SeqSpan& keys, size_t most = kSize) {
    size_t count = 0;
    for (const SeqHash key : take(keys, most)) {
      const Probe p = probe(key, z_);
      __builtin_prefetch(words_ + p.block * kBlockWords);
      probes_[count++] = p;
    }
    return {probes_, count};
  }

 private:
  const uint32_t* words_;
  uint64_t z_;
  Probe probes_[kSize];
};

}  // namespace kvidx::bloom
