// What the kernels of block_hash.hpp hash: blocks of one length in bytes, one behind the other, without extra keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/block_hash.hpp"
#include "core/xxh64.hpp"

namespace kvidx::block_hash {

/// The next blocks of a prompt. Hashing moves it on.
struct Stream {
  const uint8_t* tokens;
  size_t blocks;
  uint64_t seq;  // of the block before
  SeqHash* out;
};

#define KVIDX_HASH_KERNEL(isa)                                                           \
  namespace isa {                                                                        \
  void locals(const uint8_t* tokens, size_t block_bytes, size_t blocks, LocalHash* out); \
  void seqs(Stream& stream, size_t block_bytes);                                         \
  void seqs_of_many(std::span<Stream> streams, size_t block_bytes);                      \
  }
KVIDX_HASH_KERNEL(scalar)
#if defined(__x86_64__)
KVIDX_HASH_KERNEL(avx512)
#endif
#undef KVIDX_HASH_KERNEL

/// The part of the chain step that does not wait for the block before.
constexpr uint64_t step_input(uint64_t local) {
  return xxh::round(0, local);
}

/// The other part, cut in five between whose multiplications other work may stand.
constexpr size_t kStepParts = 5;
template <size_t kPart>
constexpr uint64_t part_of_step(uint64_t seq, uint64_t input) {
  static_assert(kPart < kStepParts);
  using namespace xxh;
  if constexpr (kPart == 0) return std::rotl((seq + kPrime5 + 8) ^ input, 27);
  if constexpr (kPart == 1) return seq * kPrime1 + kPrime4;
  if constexpr (kPart == 2) return (seq ^ (seq >> 33)) * kPrime2;
  if constexpr (kPart == 3) return (seq ^ (seq >> 29)) * kPrime3;
  return seq ^ (seq >> 32);
}

/// xxh64_u64(local, seq), given step_input(local).
constexpr uint64_t step(uint64_t seq, uint64_t input) {
  seq = part_of_step<1>(part_of_step<0>(seq, input), input);
  return part_of_step<4>(part_of_step<3>(part_of_step<2>(seq, input), input), input);
}

}  // namespace kvidx::block_hash
