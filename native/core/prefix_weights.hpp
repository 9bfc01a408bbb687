// How much all blocks before a place weigh, told as pieces of consecutive blocks that weigh the same.
//
//   weights  3 3 3 1 1 0 0 0 1        pieces  (from 0: 3 each, 0 before) (from 3: 1, 9) (from 5: 0, 11) (from 8: 1, 11)
//
// A local of the query, over memory that the index lends, so that a query allocates nothing and where it stands is kept in
// registers. Invariants: begins rise, neighbours differ in weight. Costs: add O(1); up_to O(log pieces), O(1) in the last
// piece; 24 bytes a piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kvidx {

class PrefixWeights {
 public:
  struct Piece {
    uint64_t begin;
    uint64_t before;  // weight of all blocks in front of it
    uint32_t weight;  // of each block
  };
  /// All of it may be overwritten.
  using Room = std::vector<Piece>;

  /// The first block stands at `begin`.
  PrefixWeights(Room& room, uint64_t begin) : room_(room), end_(begin) {
    if (room_.empty()) enlarge(room_);
    use_room_from(0);
  }

  /// The blocks from where it stands up to `end` weigh this each; none, when it stands there already.
  void add(uint64_t end, uint32_t weight) {
    if (end <= end_) return;
    if (weight != weight_) {
      if (next_ == full_) {
        const size_t used = room_.size();
        enlarge(room_);
        use_room_from(used);
      }
      *next_++ = {end_, total_, weight};
      weight_ = weight;
    }
    total_ += weight * (end - end_);
    end_ = end;
  }
  /// Weight of all blocks so far.
  uint64_t total() const { return total_; }
  /// Weight of the blocks before `at`, which lies within what was added, or at its end. Not before something was added.
  uint64_t up_to(uint64_t at) const {
    const Piece* piece = next_ - 1;
    if (piece->begin > at) {
      const Piece* first = room_.data();
      piece =
          std::upper_bound(first, piece, at, [](uint64_t place, const Piece& v) { return place < v.begin; }) -
          1;
    }
    return piece->before + piece->weight * (at - piece->begin);
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  /// A call of its own that does not see this object, or add() would keep its members in memory (`kvidx bench index`).
  [[gnu::noinline]] static void enlarge(Room& room) { room.resize(2 * room.size() + 16); }
  void use_room_from(size_t used) {
    next_ = room_.data() + used;
    full_ = room_.data() + room_.size();
  }

  Room& room_;
  Piece *next_, *full_;
  uint64_t end_, total_ = 0;
  uint64_t weight_ = kNone;  // of the last piece
};

}  // namespace kvidx
