// Hash scheme xxh64-v1: tokens of a prompt to the hashes of its full blocks.
//
// Idea: a block's own hash is independent of every other; the chain step over it is 8 bytes long and waits for the one before.
// Kernels hash many blocks at once and look ahead, so that of a prompt little more than the latency of its chain is left; of
// several prompts the chains are interleaved too.
//
//   tokens  [ block 0 ][ block 1 ][ block 2 ][ tail, not hashed ]
//   local_i = XXH64(u32le(tokens of block i) ‖ u64le(extra keys of block i), 0)
//   seq_i   = XXH64(u64le(local_i), seq_{i-1});  seq_{-1} = parent (a namespace root, 0 when empty)
//
// Invariants
//   I1  Every kernel gives the same hashes.
//   I2  Tokens and results may begin anywhere that their type allows; nothing behind either is touched.
//
// Costs (bench `hash`; blocks of 24 on Sapphire Rapids): the chain alone 5.3 ns a block; AVX-512 1.1 times that, of several prompts
// at once 0.8 to 0.9 times; scalar 1.8 times. Blocks of 16, 32 and 64 tokens have code of their own as well (AVX-512: 1.1, 1.1 and 1.7
// times; scalar 1.5, 2.1 and 3.5), other lengths cost more than theirs. A block with extra keys is hashed by itself, some 15 ns,
// and kernels begin anew behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/types.hpp"

namespace kvidx {

/// Extra keys of some blocks, flattened: keys[i] belongs to blocks[i]; sorted by block, then by key; equal
/// lengths.
struct ExtraKeys {
  std::span<const uint32_t> blocks;
  std::span<const uint64_t> keys;
};

/// A prompt among several, with the hash before its first block and its extra keys.
struct Prompt {
  std::span<const Token> tokens;
  SeqHash parent;
  ExtraKeys extra;
  std::span<SeqHash> out;
};

// Every `out` has exactly ⌊tokens / block_size⌋ (or locals) places. Extra keys of other blocks are ignored.

namespace block_hash {
struct Stream;
}

/// One way to hash blocks of one length in bytes, without extra keys, for one instruction set.
struct HashKernel {
  const char* isa;
  void (*locals)(const uint8_t* tokens, size_t block_bytes, size_t blocks, LocalHash* out);
  void (*seqs)(block_hash::Stream& stream, size_t block_bytes);
  void (*seqs_of_many)(std::span<block_hash::Stream> streams, size_t block_bytes);
};

/// Those that this machine can run and KVIDX_ISA allows, the fastest last.
std::span<const HashKernel> hash_kernels();

void local_hashes(std::span<const Token> tokens, size_t block_size, ExtraKeys extra, std::span<LocalHash> out,
                  const HashKernel& kernel = hash_kernels().back());
void seq_hashes(std::span<const Token> tokens, size_t block_size, SeqHash parent, ExtraKeys extra,
                std::span<SeqHash> out, const HashKernel& kernel = hash_kernels().back());
/// The seq hashes of each. A prompt with extra keys is hashed after the others, by itself.
void seq_hashes_of_many(std::span<const Prompt> prompts, size_t block_size,
                        const HashKernel& kernel = hash_kernels().back());
/// `out` may be the memory of `locals`.
void chain_hashes(std::span<const LocalHash> locals, SeqHash parent, std::span<SeqHash> out);

}  // namespace kvidx
