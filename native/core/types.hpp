// The words that every room of the core shares.
//
// The core is plain C++20: no Node, no clock, no randomness, no logging. It takes spans, returns counts and
// statuses, and leaves its state unchanged when it refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvidx {

/// u64 of the whole prefix up to and including a block. 0 is a legal hash; absence is std::optional, never 0.
enum class SeqHash : uint64_t {};
/// u64 of one block's content alone.
enum class LocalHash : uint64_t {};
/// A token id.
using Token = uint32_t;

constexpr uint64_t raw(SeqHash h) {
  return static_cast<uint64_t>(h);
}
constexpr uint64_t raw(LocalHash h) {
  return static_cast<uint64_t>(h);
}

using SeqSpan = std::span<const SeqHash>;

}  // namespace kvidx
