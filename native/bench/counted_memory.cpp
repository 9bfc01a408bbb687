#include "bench/counted_memory.hpp"

#if defined(KVIDX_COUNTED_MEMORY)

#include <malloc.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>

namespace {

std::atomic<int64_t> taken{0}, peak{0};
std::atomic<uint64_t> asked{0};

void add(int64_t bytes) {
  const int64_t now = taken.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
}

void ask() {
  asked.fetch_add(1, std::memory_order_relaxed);
}

/// Bytes that a block of the heap takes: what may be used of it, and the word of its size.
int64_t cost(void* p) {
  if (p == nullptr) return 0;
#if defined(__GLIBC__)
  // A large block is a mapping of its own. Alignment may have left memory in front of it, which stays taken; glibc
  // (malloc.c, struct malloc_chunk) keeps its size in the word before the block's size.
  constexpr size_t kMapped = 2, kFlags = 7;
  const auto* words = static_cast<const size_t*>(p);
  if ((words[-1] & kMapped) != 0) return static_cast<int64_t>((words[-1] & ~kFlags) + words[-2]);
#endif
  return static_cast<int64_t>(malloc_usable_size(p) + sizeof(size_t));
}

void* counted(void* p) {
  ask();
  add(cost(p));
  return p;
}

void* mapped(void* p, size_t bytes) {
  ask();
  if (p != reinterpret_cast<void*>(-1)) add(static_cast<int64_t>(bytes));
  return p;
}

}  // namespace

namespace kvidx::bench {

int64_t allocated_bytes() {
  return taken.load(std::memory_order_relaxed);
}

int64_t peak_bytes() {
  return peak.load(std::memory_order_relaxed);
}

void restart_peak() {
  peak.store(allocated_bytes(), std::memory_order_relaxed);
}

uint64_t allocations() {
  return asked.load(std::memory_order_relaxed);
}

}  // namespace kvidx::bench

extern "C" {

void* __real_malloc(size_t bytes);
void* __real_calloc(size_t n, size_t bytes);
void* __real_realloc(void* p, size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void** p, size_t alignment, size_t bytes);
void __real_free(void* p);
void* __real_mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset);
void* __real_mmap64(void* at, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void* p, size_t bytes);

void* __wrap_malloc(size_t bytes) {
  return counted(__real_malloc(bytes));
}

void* __wrap_calloc(size_t n, size_t bytes) {
  return counted(__real_calloc(n, bytes));
}

void* __wrap_realloc(void* p, size_t bytes) {
  ask();
  const int64_t before = cost(p);
  void* fresh = __real_realloc(p, bytes);
  if (fresh != nullptr || bytes == 0) add(cost(fresh) - before);
  return fresh;
}

void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return counted(__real_aligned_alloc(alignment, bytes));
}

int __wrap_posix_memalign(void** p, size_t alignment, size_t bytes) {
  const int status = __real_posix_memalign(p, alignment, bytes);
  if (status == 0) {
    counted(*p);
  } else {
    ask();
  }
  return status;
}

void __wrap_free(void* p) {
  add(-cost(p));
  __real_free(p);
}

void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mapped(__real_mmap(at, bytes, protection, flags, file, offset), bytes);
}

/// What mmap is called where offsets of files are asked to have 64 bits (node-gyp does).
void* __wrap_mmap64(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mapped(__real_mmap64(at, bytes, protection, flags, file, offset), bytes);
}

int __wrap_munmap(void* p, size_t bytes) {
  const int status = __real_munmap(p, bytes);
  if (status == 0) add(-static_cast<int64_t>(bytes));
  return status;
}

}  // extern "C"

#endif
