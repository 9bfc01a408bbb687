// Hash scheme xxh64-v1: tokens of a prompt to the hashes of its full blocks.
//
// Idea: a block's own hash is independent of every other, the chain step over it is 8 bytes long. One loop
// does both: the chain step of block i waits for the one before, and the out-of-order core fills that wait
// with the locals of the blocks that follow.
//
//   tokens  [ block 0 ][ block 1 ][ block 2 ][ tail, not hashed ]
//   local_i = XXH64(u32le(tokens of block i) ‖ u64le(extra keys of block i), 0)
//   seq_i   = XXH64(u64le(local_i), seq_{i-1});  seq_{-1} = parent (a namespace root, 0 when empty)
//
// Costs, blocks of 24 (bench `hash`): 43 multiplications of 64 bits a block are the bound, one a cycle.
// Unrolling for a constant block size and pipelining by hand changed nothing.
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

/// Every `out` below has exactly ⌊tokens / block_size⌋ (or locals) places. Extra keys of other blocks are
/// ignored.
void local_hashes(std::span<const Token> tokens, size_t block_size, ExtraKeys extra,
                  std::span<LocalHash> out);
void seq_hashes(std::span<const Token> tokens, size_t block_size, SeqHash parent, ExtraKeys extra,
                std::span<SeqHash> out);
/// `out` may be the memory of `locals`.
void chain_hashes(std::span<const LocalHash> locals, SeqHash parent, std::span<SeqHash> out);

}  // namespace kvidx
