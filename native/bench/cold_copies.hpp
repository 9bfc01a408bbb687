// The floor of a query: comparing a request with a copy of it that lies somewhere in memory.
//
// Copies lie in an arena, so that they have the large pages that the index has.
//
// Costs: one memcmp of the request, each line of the copy a cache miss where it is cold.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "core/types.hpp"

namespace kvidx::bench {

class ColdCopies {
 public:
  void add(SeqSpan seq) {
    auto* copy = static_cast<SeqHash*>(arena_.allocate(seq.size_bytes()));
    std::copy(seq.begin(), seq.end(), copy);
    copies_.emplace_back(copy, seq.size());
  }

  /// out[0] says which copy, and then how many of the request's blocks are equal to it: all, or none where any differs.
  /// Whichever it is stands in an array since an argument more would be a conversion more.
  bool compare(SeqSpan request, std::span<uint32_t> out) const {
    if (out[0] >= copies_.size()) return false;
    const SeqSpan copy = copies_[out[0]];
    const bool equal =
        copy.size() == request.size() && std::memcmp(copy.data(), request.data(), request.size_bytes()) == 0;
    out[0] = equal ? static_cast<uint32_t>(request.size()) : 0;
    return true;
  }

 private:
  Arena arena_;
  std::vector<SeqSpan> copies_;
};

}  // namespace kvidx::bench
