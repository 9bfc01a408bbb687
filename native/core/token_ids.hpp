// Token ids as msgpack has them: unsigned integers of at most 32 bits, of which most of a message of KV events is.
//
// Idea: ids of text come in all widths, so that a branch on the width would be guessed wrong every third time; and where an
// id begins is known only from all before it. So a kernel works without branches, several ids a step, and what it waits for
// is as short as it can be: from the place of one id to the place of the fourth behind it.
//
//   bytes      CD a b   CE c d e f   07   CC g   …      types 0xCC, 0xCD, 0xCE and those below 0x80, which are the value
//   next       3        8            9    11            of every byte, as if an id began there; by look-ups in it: the fourth
//
// A kernel stops before what it does not read: other types, an end that is near, a rest that is short. The caller reads on.
// Costs: 16 bytes a step of four ids in SSSE3, else two ids a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvidx {

/// From `p` on, behind which there is `end`, up to `count` ids into `out`. Answers how many, and moves `p` behind them. There
/// are 3 bytes before `p` that may be read.
using ReadTokenIds = uint32_t (*)(const uint8_t*& p, const uint8_t* end, uint32_t count, uint32_t* out);

struct TokenKernel {
  const char* name;
  ReadTokenIds read;
};

/// Those that this machine runs; the last one is the fastest.
std::span<const TokenKernel> token_kernels();

}  // namespace kvidx
