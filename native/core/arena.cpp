#include "core/arena.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kvidx {

namespace {

constexpr size_t kSmallestChunk = size_t{64} << 10, kHugePage = size_t{2} << 20;

size_t rounded(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

/// Memory of a multiple of kSmallestChunk; from kHugePage on of a multiple of that, aligned to it. Large memory comes
/// straight from the system: what the general allocator had in use before has small pages already.
std::byte* take_memory(size_t bytes) {
#if defined(__linux__)
  if (bytes >= kHugePage) {
    void* memory =
        mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<std::byte*>(memory);
    const size_t before =
        rounded(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
    if (before > 0) munmap(begin, before);
    if (before < kHugePage) munmap(begin + before + bytes, kHugePage - before);
    (void)madvise(begin + before, bytes, MADV_HUGEPAGE);
    return begin + before;
  }
#endif
  void* memory = std::aligned_alloc(bytes >= kHugePage ? kHugePage : 4096, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

void give_memory(std::byte* memory, size_t bytes) noexcept {
#if defined(__linux__)
  if (bytes >= kHugePage) {
    munmap(memory, bytes);
    return;
  }
#endif
  (void)bytes;
  std::free(memory);
}

}  // namespace

Arena::~Arena() {
  for (const Chunk& chunk : chunks_) give_memory(chunk.memory, chunk.bytes);
}

Arena::Arena(Arena&& o) noexcept {
  *this = std::move(o);
}

Arena& Arena::operator=(Arena&& o) noexcept {
  std::swap(chunks_, o.chunks_);
  std::swap(reserved_, o.reserved_);
  std::swap(powers_, o.powers_);
  std::swap(cuts_, o.cuts_);
  std::swap(heads_, o.heads_);
  return *this;
}

void* Arena::allocate(size_t bytes) {
  const size_t size = rounded(bytes + kTag, kLine);
  Block* block = take_from_lists(size);
  if (block == nullptr) {
    add_chunk(size);
    block = take_from_lists(size);
  }
  block = cut(block, size);
  block->size |= 1;
  return reinterpret_cast<std::byte*>(block) + kTag;
}

void Arena::release(void* p) noexcept {
  if (p == nullptr) return;
  auto* block = reinterpret_cast<Block*>(static_cast<std::byte*>(p) - kTag);
  block->size &= ~size_t{1};
  if (Block* above = block->after(); !above->used()) {
    unlink(above);
    block->size += above->size;
  }
  if (Block* below = block->before; below != nullptr && !below->used()) {
    unlink(below);
    below->size += block->size;
    block = below;
  }
  block->after()->before = block;
  link(block);
  if (block->before != nullptr || block->after()->bytes() != 0) return;
  for (size_t k = 0; k + 1 < chunks_.size(); ++k) {
    if (chunks_[k].first() == block) return drop_chunk(k);
  }
}

void* Arena::resize(void* p, size_t kept, size_t bytes) {
  void* fresh = allocate(bytes);
  if (p != nullptr) std::memcpy(fresh, p, kept);
  release(p);
  return fresh;
}

/// Class p·8 + c holds blocks of 2^p · (1 + c/8) lines and more.
uint32_t Arena::class_of(size_t bytes) {
  const uint64_t lines = bytes / kLine;
  const auto power = static_cast<uint32_t>(std::bit_width(lines)) - 1;
  const uint64_t rest = lines - (uint64_t{1} << power);
  return power * kCuts + static_cast<uint32_t>(power >= 3 ? rest >> (power - 3) : rest << (3 - power));
}

/// A free block of at least so many bytes, unlinked; null when no list has one.
Arena::Block* Arena::take_from_lists(size_t bytes) {
  uint32_t wanted = class_of(bytes);
  if (Block* block = heads_[wanted]; block != nullptr && block->bytes() >= bytes) {
    unlink(block);
    return block;
  }
  // The rest of this class may be too small as well; every block of the next one fits.
  ++wanted;
  uint32_t power = wanted / kCuts;
  uint32_t cuts = cuts_[power] & (0xffu << (wanted % kCuts));
  if (cuts == 0) {
    const uint64_t powers = powers_ & (~uint64_t{0} << (power + 1));
    if (powers == 0) return nullptr;
    power = static_cast<uint32_t>(std::countr_zero(powers));
    cuts = cuts_[power];
  }
  Block* block = heads_[power * kCuts + static_cast<uint32_t>(std::countr_zero(cuts))];
  unlink(block);
  return block;
}

void Arena::add_chunk(size_t bytes) {
  size_t size = std::clamp(std::bit_floor(reserved_ / 4), kSmallestChunk, kHugePage);
  // Room for the lines before the first tag and behind the last, and for the class search to find the block.
  size = std::max(size, rounded(bytes + bytes / kCuts + 3 * kLine, kSmallestChunk));
  if (size >= kHugePage) size = rounded(size, kHugePage);
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(chunks_.size() * 2 + 4);
  chunks_.push_back({take_memory(size), size});
  reserved_ += size;
  Block* first = chunks_.back().first();
  first->before = nullptr;
  first->size = size - 2 * kLine;
  Block* end = first->after();  // a tag of no size, in use, so that nothing joins across it
  end->before = first;
  end->size = 1;
  link(first);
}

void Arena::drop_chunk(size_t index) noexcept {
  const Chunk chunk = chunks_[index];
  unlink(chunk.first());
  reserved_ -= chunk.bytes;
  chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(index));
  give_memory(chunk.memory, chunk.bytes);
}

void Arena::link(Block* block) {
  const uint32_t c = class_of(block->bytes());
  block->prev_free = nullptr;
  block->next_free = heads_[c];
  if (heads_[c] != nullptr) heads_[c]->prev_free = block;
  heads_[c] = block;
  cuts_[c / kCuts] = static_cast<uint8_t>(cuts_[c / kCuts] | 1u << (c % kCuts));
  powers_ |= uint64_t{1} << (c / kCuts);
}

void Arena::unlink(Block* block) {
  const uint32_t c = class_of(block->bytes());
  (block->prev_free == nullptr ? heads_[c] : block->prev_free->next_free) = block->next_free;
  if (block->next_free != nullptr) block->next_free->prev_free = block->prev_free;
  if (heads_[c] != nullptr) return;
  cuts_[c / kCuts] = static_cast<uint8_t>(cuts_[c / kCuts] & ~(1u << (c % kCuts)));
  if (cuts_[c / kCuts] == 0) powers_ &= ~(uint64_t{1} << (c / kCuts));
}

/// Gives what is over behind `bytes` back to the lists.
Arena::Block* Arena::cut(Block* block, size_t bytes) {
  const size_t over = block->bytes() - bytes;
  if (over == 0) return block;
  Block* rest = reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(block) + bytes);
  rest->before = block;
  rest->size = over;
  rest->after()->before = rest;
  block->size = bytes;
  link(rest);
  return block;
}

}  // namespace kvidx
