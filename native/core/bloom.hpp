// Split-block Bloom filters: which seq hashes may be in a set, for some ten bits each.
//
// Idea (Putze, Sanders, Singler, "Cache-, hash- and space-efficient Bloom filters", 2007; the layout is that of
// github.com/apache/parquet-format, BloomFilter.md): the upper half of a key's hash chooses one block of 256 bits, the lower half
// one bit in each of the block's eight words, which are one vector.
//
//   words   [ block 0: w0 w1 w2 w3 w4 w5 w6 w7 ][ block 1 ] … [ block z − 1 ]    u32; in memory the bytes of Parquet's bitset
//
//   h = XXH64(u64le(key), 0)     63            32 31             0
//                               [      high      |      low      ]
//   block = (high · z) >> 32          z need not be a power of two
//   bit i = (low · salt_i) >> 27      of word i; the product modulo 2^32
//
// Invariants
//   I1  words.size() = 8 z and 1 ≤ z < 2^32; of any alignment that u32 allows.
//   I2  Every kernel leaves the same bits and gives the same answers, unless keys, words and out overlap.
//   I3  What was added tests positive.
//   I4  All accesses stay in their arrays, whatever stands there, also when arrays overlap.
//
// Costs (bench `sketch`; ns a key, to add as to test): 17,000 keys in 22 KB: AVX-512 1.7, AVX2 3.3, scalar 6.4; 1,000,000 in
// 1.3 MB: 2.5, 4, 7.4. Beyond the second-level cache misses are most of it, and all kernels come closer. `leading` takes 10 ns
// for a miss at once, and reads at most as many blocks again as it counts, and seven. A block is one cache line if the words
// begin at a multiple of 32 bytes; where a typed array begins is up to the allocator, and at worst every second block is two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/types.hpp"

namespace kvidx {

constexpr size_t kBlockWords = 8;

/// The words of one filter.
using FilterWords = std::span<uint32_t>;
using ConstFilterWords = std::span<const uint32_t>;

/// One way to do it, for one instruction set.
struct BloomKernel {
  const char* isa;
  void (*add)(FilterWords words, SeqSpan keys);
  /// How many keys test positive. `out`: empty, or a byte a key, 1 for each that does.
  size_t (*test)(ConstFilterWords words, SeqSpan keys, std::span<uint8_t> out);
  /// How many keys test positive before the first that does not.
  size_t (*leading)(ConstFilterWords words, SeqSpan keys);
};

/// Those that this machine can run and KVIDX_ISA allows, the fastest last.
std::span<const BloomKernel> bloom_kernels();

}  // namespace kvidx
