// How much all blocks before a place weigh, told as pieces of consecutive blocks that weigh the same.
//
//   weights  3 3 3 1 1 0 0 0 1        pieces  (from 0: 3 each, 0 before) (from 3: 1, 9) (from 5: 0, 11) (from 8: 1, 11)
//
// Scratch of the queries. Invariants: begins rise, neighbours differ in weight. Costs: add O(1), up_to O(log pieces) and
// O(1) at the end; 24 bytes a piece, none of it given back between queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/interval_list.hpp"

namespace kvidx {

class PrefixWeights {
 public:
  void start(uint64_t begin) {
    pieces_.clear();
    end_ = begin;
    total_ = 0;
  }
  /// The blocks from where the last add() stopped up to `end` weigh this each; none, when they are not beyond it.
  void add(uint64_t end, uint32_t weight) {
    if (end <= end_) return;
    if (pieces_.empty() || pieces_.back().weight != weight) pieces_.push_back({end_, total_, weight});
    total_ += weight * (end - end_);
    end_ = end;
  }
  uint64_t total() const { return total_; }
  /// Of the blocks before `at`, which lies within what was added, or at its end.
  uint64_t up_to(uint64_t at) const {
    auto piece = pieces_.end() - 1;
    if (piece->begin > at) {
      piece = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                               [](uint64_t place, const Piece& v) { return place < v.begin; }) -
              1;
    }
    return piece->before + piece->weight * (at - piece->begin);
  }
  uint64_t reserved_bytes() const { return heap_bytes(pieces_.capacity() * sizeof(Piece)); }

 private:
  struct Piece {
    uint64_t begin;
    uint64_t before;  // weight of all blocks in front of it
    uint32_t weight;  // of each block
  };

  std::vector<Piece> pieces_;
  uint64_t end_ = 0, total_ = 0;
};

}  // namespace kvidx
