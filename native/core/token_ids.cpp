#include "core/token_ids.hpp"

#include <array>

#include "core/msgpack_reader.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kvidx {
namespace {

/// Where an id lies in the eight bytes from its type byte on; 0 and 0: of another type.
struct Shape {
  uint8_t left, right;
};
constexpr auto kShapes = [] {
  std::array<Shape, 256> shapes{};
  for (size_t type = 0; type < 0x80; ++type) shapes[type] = {0, 56};
  shapes[0xCC] = {8, 56};
  shapes[0xCD] = {8, 48};
  shapes[0xCE] = {8, 32};
  return shapes;
}();

inline uint32_t id_at(uint64_t bytes, uint8_t type) {
  return static_cast<uint32_t>(bytes << kShapes[type].left >> kShapes[type].right);
}

/// Without a look into memory: 1 below 0x80; 2, 3 and 5 for 0xCC, 0xCD and 0xCE.
inline uint32_t bytes_of(uint32_t type) {
  return 0x05321111U >> (4 * ((type & 3) | (type & 0x80) >> 5)) & 7;
}

/// The second of two ids is found in the bytes of the first.
uint32_t read_by_two(const uint8_t*& p, const uint8_t* end, uint32_t count, uint32_t* out) {
  constexpr ptrdiff_t kReach = 13;  // an id of five bytes, and eight from the next one on
  uint32_t read = 0;
  for (; count - read >= 2 && end - p >= kReach; read += 2) {
    const uint64_t bytes = big_endian<uint64_t>(p);
    const uint8_t first = *p;
    const uint32_t first_bytes = bytes_of(first);
    const auto second = static_cast<uint8_t>(bytes >> (56 - 8 * first_bytes));
    if (kShapes[first].right == 0 || kShapes[second].right == 0) break;
    out[read] = id_at(bytes, first);
    out[read + 1] = id_at(big_endian<uint64_t>(p + first_bytes), second);
    p += first_bytes + bytes_of(second);
  }
  return read;
}

#if defined(__x86_64__)

/// Of an id by its bytes: what of the four that end it is its value.
constexpr uint32_t kValueOf[] = {0, 0xff, 0xff, 0xffff, 0, 0xffffffff};

/// Three ids have at most 15 bytes, so that 16 tell where the fourth one ends.
[[gnu::target("ssse3")]] uint32_t read_by_four(const uint8_t*& at, const uint8_t* end, uint32_t count,
                                               uint32_t* out) {
  constexpr ptrdiff_t kReach = 20;
  const __m128i more_bytes = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 0);  // of 0xC0 … 0xCF
  const __m128i next_places = _mm_setr_epi8(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
  const uint8_t* p = at;
  uint32_t read = 0;
  for (; count - read >= 4 && end - p >= kReach; read += 4) {
    const __m128i types = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    // 0xC0 … 0xCF become 0x70 … 0x7F and all others 0x80 or more, which look up 0.
    const __m128i looked_up =
        _mm_adds_epu8(_mm_xor_si128(types, _mm_set1_epi8(static_cast<char>(0xC0))), _mm_set1_epi8(0x70));
    const __m128i more = _mm_shuffle_epi8(more_bytes, looked_up);
    const __m128i next = _mm_add_epi8(more, next_places);
    const __m128i next2 = _mm_shuffle_epi8(next, next);
    const __m128i next3 = _mm_shuffle_epi8(next, next2);
    const __m128i next4 = _mm_shuffle_epi8(next2, next2);
    // Of what follows, only the ends of the four ids from p on count: the lowest bytes.
    const __m128i ends_x =
        _mm_unpacklo_epi16(_mm_unpacklo_epi8(next, next2), _mm_unpacklo_epi8(next3, next4));
    const __m128i others = _mm_andnot_si128(_mm_cmpgt_epi8(more, _mm_setzero_si128()), types);
    const __m128i begins = _mm_slli_epi32(ends_x, 8);
    if ((_mm_movemask_epi8(_mm_shuffle_epi8(others, begins)) & 0xf) != 0) break;
    const auto ends = static_cast<uint32_t>(_mm_cvtsi128_si32(ends_x));
    uint32_t begin = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t id_end = ends >> (8 * k) & 0xff;
      out[read + k] = big_endian<uint32_t>(p + id_end - 4) & kValueOf[id_end - begin];
      begin = id_end;
    }
    p += static_cast<uint32_t>(_mm_cvtsi128_si32(next4)) & 0xff;
  }
  at = p;
  return read;
}

#endif

constexpr TokenKernel kKernels[] = {
    {"two", read_by_two},
#if defined(__x86_64__)
    {"ssse3", read_by_four},
#endif
};

size_t supported() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // not every run-time library has done so before
  return __builtin_cpu_supports("ssse3") ? 2 : 1;
#else
  return 1;
#endif
}

}  // namespace

std::span<const TokenKernel> token_kernels() {
  return std::span(kKernels).first(supported());
}

}  // namespace kvidx
