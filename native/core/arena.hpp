// Memory for blocks and table segments: a few large chunks, cut and joined again.
//
//   chunk   [ tag | payload …… ][ tag | payload … ][ tag | free ………… ][ end tag ]
//             ^ 48 mod 64        payloads start on cache lines; tag = size, previous block, in use?
//
// Why not the general allocator: look-ups jump all over this memory, and a page-table walk at every jump
// costs more than the look-up (`kvidx bench index`); chunks of 2 MiB ask the system for huge pages. Free
// neighbours are joined at once, and free blocks hang in lists by size (a power of two cut in eight), so
// taking and giving are O(1) and sizes that never come back leave no holes. A chunk that is wholly free goes
// back to the system, except the newest.
//
// Invariants: no two neighbours are free; every free block is in the list of its class; the tags of a chunk
// add up to it. Costs: 16 bytes a block and up to 63 of rounding; chunks of 64 KiB at first, 2 MiB in a large
// arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvidx {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(Arena&& o) noexcept;
  Arena& operator=(Arena&& o) noexcept;

  /// Aligned to a cache line; throws std::bad_alloc and changes nothing.
  void* allocate(size_t bytes);
  /// `p` may be null.
  void release(void* p) noexcept;
  /// Keeps the first `kept` bytes. On failure `p` stays as it is.
  void* resize(void* p, size_t kept, size_t bytes);

  uint64_t reserved_bytes() const { return reserved_; }

 private:
  struct Block {
    Block* before;  // neighbour below, null for a chunk's first
    size_t size;    // bytes with the tag, a multiple of kLine; bit 0: in use
    // In a free block the payload begins with its list links.
    Block *next_free, *prev_free;

    bool used() const { return (size & 1) != 0; }
    size_t bytes() const { return size & ~size_t{1}; }
    Block* after() { return reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(this) + bytes()); }
  };
  struct Chunk {
    std::byte* memory;
    size_t bytes;
    Block* first() const { return reinterpret_cast<Block*>(memory + kLine - kTag); }
  };

  static constexpr size_t kLine = 64, kTag = 16;
  static constexpr uint32_t kCuts = 8, kPowers = 40;

  static uint32_t class_of(size_t bytes);
  Block* take_from_lists(size_t bytes);
  void add_chunk(size_t bytes);
  void drop_chunk(size_t index) noexcept;
  void link(Block* block);
  void unlink(Block* block);
  Block* cut(Block* block, size_t bytes);

  std::vector<Chunk> chunks_;
  uint64_t reserved_ = 0;
  uint64_t powers_ = 0;         // bit p: some class of this power has blocks
  uint8_t cuts_[kPowers] = {};  // bit c: class (p, c) has blocks
  Block* heads_[kPowers * kCuts] = {};
};

}  // namespace kvidx
