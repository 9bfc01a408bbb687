// Reads msgpack (github.com/msgpack/msgpack, spec.md) where it lies.
//
// Idea: a reader asks for what it expects and goes back when that is not what comes. Every method takes the next item, or
// its header, and answers false where it is of another kind or is not whole: then `p_` may have moved. No length is
// believed before as many bytes are known to be left, and an item is at least a byte: headers cannot promise more.
//
// Costs: a comparison of pointers an item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace kvidx {

/// Of an item that `pass` takes.
constexpr size_t kMaxDepth = 32;
/// Of the longest integer.
constexpr size_t kMaxIntegerBytes = 9;

template <class T>
T big_endian(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  if constexpr (sizeof value == 2) return __builtin_bswap16(value);
  if constexpr (sizeof value == 4) return __builtin_bswap32(value);
  if constexpr (sizeof value == 8) return __builtin_bswap64(value);
  return value;
}

inline bool is_ascii(std::string_view text) {
  uint8_t all = 0;
  for (const char c : text) all |= static_cast<uint8_t>(c);
  return all < 0x80;
}

/// A base: who reads knows the places and takes the fast ways.
class MsgpackReader {
 public:
  explicit MsgpackReader(std::span<const uint8_t> bytes)
      : begin_(bytes.data()), p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

 protected:
  bool at_end() const { return p_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - p_); }
  int32_t offset(const void* p) const {
    return static_cast<int32_t>(static_cast<const uint8_t*>(p) - begin_);
  }

  /// The next byte, passed when it is this type.
  bool take(uint8_t type) {
    if (at_end() || *p_ != type) return false;
    ++p_;
    return true;
  }

  bool nil() { return take(0xC0); }

  /// Passes an item with all in it; false also where more than `max_depth` containers that are not empty are within each
  /// other. Not plain: there is an extension type or a map that is not empty.
  bool pass(size_t max_depth, bool& is_plain) {
    uint32_t waiting[kMaxDepth + 1];  // items of each open container, from the outermost in
    size_t depth = 0;
    waiting[0] = 1;
    is_plain = true;
    while (true) {
      while (waiting[depth] == 0) {
        if (depth == 0) return true;
        --depth;
      }
      --waiting[depth];
      uint32_t items;
      if (!open(items, is_plain)) return false;
      if (items == 0) continue;
      if (depth == max_depth) return false;
      waiting[++depth] = items;
    }
  }

  /// Not more than bytes are left.
  bool array(uint32_t& items) {
    if (at_end()) return false;
    const uint8_t type = *p_++;
    if (type >= 0x90 && type < 0xA0) return container(type - 0x90u, items);
    return (type == 0xDC || type == 0xDD) && long_container(type == 0xDC, 1, items);
  }

  /// Keys and values both count.
  bool map(uint32_t& items) {
    if (at_end()) return false;
    const uint8_t type = *p_++;
    if (type >= 0x80 && type < 0x90) return container(2 * (type - 0x80u), items);
    return (type == 0xDE || type == 0xDF) && long_container(type == 0xDE, 2, items);
  }

  bool is_array_next() const { return !at_end() && ((*p_ & 0xF0) == 0x90 || *p_ == 0xDC || *p_ == 0xDD); }

  bool text(std::string_view& value) {
    if (at_end()) return false;
    const uint8_t type = *p_++;
    uint64_t size = type - 0xA0u;
    const bool is_short = type >= 0xA0 && type < 0xC0;
    if (!is_short && !(type >= 0xD9 && type <= 0xDB && number(size_t{1} << (type - 0xD9), size)))
      return false;
    if (size > left()) return false;
    value = {reinterpret_cast<const char*>(p_), static_cast<size_t>(size)};
    p_ += size;
    return true;
  }

  bool ascii(std::string_view& value) { return text(value) && is_ascii(value); }

  /// Of any width; negative ones in two's complement.
  bool integer(uint64_t& value, bool& is_negative) {
    if (at_end()) return false;
    const uint8_t type = *p_++;
    is_negative = type >= 0xE0;
    if (type < 0x80 || type >= 0xE0) {
      value = static_cast<uint64_t>(int64_t{static_cast<int8_t>(type)});
      return true;
    }
    const bool is_signed = type >= 0xD0 && type <= 0xD3;
    if (!is_signed && !(type >= 0xCC && type <= 0xCF)) return false;
    const size_t width = size_t{1} << (type & 3);
    if (!number(width, value)) return false;
    if (is_signed) {
      const auto unused = static_cast<unsigned>(64 - 8 * width);
      const int64_t extended = static_cast<int64_t>(value << unused) >> unused;
      value = static_cast<uint64_t>(extended);
      is_negative = extended < 0;
    }
    return true;
  }

  bool natural(uint64_t most, uint64_t& value) {
    bool is_negative = false;
    return integer(value, is_negative) && !is_negative && value <= most;
  }

  bool binary(std::span<const uint8_t>& value) {
    if (at_end()) return false;
    const uint8_t type = *p_++;
    uint64_t size;
    if (!(type >= 0xC4 && type <= 0xC6 && number(size_t{1} << (type - 0xC4), size)) || size > left())
      return false;
    value = {p_, static_cast<size_t>(size)};
    p_ += size;
    return true;
  }

  /// Big-endian, of 1, 2, 4 or 8 bytes.
  bool number(size_t width, uint64_t& value) {
    if (width > left()) return false;
    switch (width) {
      case 1:
        value = *p_;
        break;
      case 2:
        value = big_endian<uint16_t>(p_);
        break;
      case 4:
        value = big_endian<uint32_t>(p_);
        break;
      default:
        value = big_endian<uint64_t>(p_);
    }
    p_ += width;
    return true;
  }

  const uint8_t* const begin_;
  const uint8_t* p_;  // the next item
  const uint8_t* const end_;

 private:
  /// Passes a header, or a whole scalar, which has no items.
  bool open(uint32_t& items, bool& is_plain) {
    // Bytes behind the type byte, of 0xC0 to 0xDF: the value's own, or the length's that follows.
    constexpr int8_t kBytes[32] = {0, -1, 0, 0, 1, 2, 4, 1, 2,  4, 4, 8, 1, 2, 4, 8,
                                   1, 2,  4, 8, 2, 3, 5, 9, 17, 1, 2, 4, 2, 4, 2, 4};
    items = 0;
    if (at_end()) return false;
    const uint8_t type = *p_;
    if (type < 0x80 || type >= 0xE0) return skip(1);
    if ((type & 0xF0) == 0x90 || type == 0xDC || type == 0xDD) return array(items);
    if (type < 0x90 || type >= 0xDE) {
      if (!map(items)) return false;
      is_plain = is_plain && items == 0;
      return true;
    }
    ++p_;
    if (type < 0xC0) return skip(type - 0xA0u);
    const int8_t bytes = kBytes[type - 0xC0];
    if (bytes < 0) return false;
    const bool has_long_extension = type >= 0xC7 && type <= 0xC9;
    if (has_long_extension || (type >= 0xD4 && type <= 0xD8)) is_plain = false;
    if (!((type >= 0xC4 && type <= 0xC9) || type >= 0xD9)) return skip(static_cast<size_t>(bytes));
    uint64_t length;
    return number(static_cast<size_t>(bytes), length) && skip(length + (has_long_extension ? 1 : 0));
  }

  bool skip(uint64_t bytes) {
    if (bytes > left()) return false;
    p_ += bytes;
    return true;
  }

  bool long_container(bool is_16, uint64_t items_each, uint32_t& items) {
    uint64_t count;
    return number(is_16 ? 2 : 4, count) && container(items_each * count, items);
  }

  bool container(uint64_t count, uint32_t& items) {
    items = static_cast<uint32_t>(count);
    return count <= left();
  }
};

}  // namespace kvidx
