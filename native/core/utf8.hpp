// Is this UTF-8? After the table of well-formed sequences in the Unicode Standard (3-7): no overlong forms, no surrogates,
// nothing above U+10FFFF.
//
//   first byte    continuation bytes (80 … BF, but the first of them)
//   00 … 7F       none
//   C2 … DF       1
//   E0 … EF       2      behind E0 from A0, behind ED up to 9F
//   F0 … F4       3      behind F0 from 90, behind F4 up to 8F
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvidx {

inline bool is_utf8(std::span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const uint8_t first = bytes[i++];
    if (first < 0x80) continue;
    if (first < 0xC2 || first > 0xF4) return false;
    const size_t more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    if (bytes.size() - i < more) return false;
    uint8_t lo = 0x80, hi = 0xBF;
    if (first == 0xE0) lo = 0xA0;
    if (first == 0xED) hi = 0x9F;
    if (first == 0xF0) lo = 0x90;
    if (first == 0xF4) hi = 0x8F;
    for (const size_t end = i + more; i < end; ++i, lo = 0x80, hi = 0xBF) {
      if (bytes[i] < lo || bytes[i] > hi) return false;
    }
  }
  return true;
}

}  // namespace kvidx
