// msgpack as trees, read as plainly as its specification (github.com/msgpack/msgpack, spec.md) is written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kvidx::plain {

enum class Type { kNil, kBoolean, kInteger, kFloat, kText, kBinary, kExtension, kArray, kMap };

struct Item {
  Type type;
  size_t begin = 0, end = 0;
  uint64_t bits = 0;  // of an integer, sign-extended
  bool is_negative = false;
  double number = 0;          // of a float
  std::string bytes{};        // of a text or a binary value, which end with the item
  std::vector<Item> items{};  // keys and values in turn
};

/// What an item begins with.
struct Header {
  Item item;
  uint64_t items = 0, bytes = 0;
};

/// msgpack as trees.
class Parser {
 public:
  explicit Parser(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ == bytes_.size(); }

  /// `depth`: containers within each other that are not empty.
  std::optional<Item> item(size_t depth) {
    auto header = open();
    if (!header || (header->items > 0 && depth == 0)) return std::nullopt;
    Item& item = header->item;
    for (uint64_t i = 0; i < header->items; ++i) {
      auto inner = this->item(depth - 1);
      if (!inner) return std::nullopt;
      item.items.push_back(std::move(*inner));
    }
    item.end = at_;
    return item;
  }

  std::optional<uint64_t> array() {
    const auto header = open();
    if (!header || header->item.type != Type::kArray) return std::nullopt;
    return header->items;
  }

 private:
  std::optional<Header> open() {
    const size_t begin = at_;
    const auto type = number(1);
    if (!type) return std::nullopt;
    auto header = of_type(static_cast<uint8_t>(*type));
    if (!header || header->bytes > left()) return std::nullopt;
    header->item.begin = begin;
    for (uint64_t i = 0; i < header->bytes; ++i) header->item.bytes += static_cast<char>(bytes_[at_++]);
    return header;
  }

  std::optional<Header> of_type(uint8_t type) {
    if (type <= 0x7F) return integer(type, false);
    if (type <= 0x8F) return Header{{Type::kMap}, 2u * (type & 15u), 0};
    if (type <= 0x9F) return Header{{Type::kArray}, type & 15u, 0};
    if (type <= 0xBF) return Header{{Type::kText}, 0, type & 31u};
    if (type >= 0xE0) return integer(uint64_t{type} | ~uint64_t{0xFF}, true);
    switch (type) {
      case 0xC0:
        return Header{{Type::kNil}};
      case 0xC2:
      case 0xC3:
        return Header{{Type::kBoolean}};
      case 0xC4:
        return sized(Type::kBinary, 1);
      case 0xC5:
        return sized(Type::kBinary, 2);
      case 0xC6:
        return sized(Type::kBinary, 4);
      case 0xC7:
        return extension(number(1));
      case 0xC8:
        return extension(number(2));
      case 0xC9:
        return extension(number(4));
      case 0xCA:
        return floating(number(4), true);
      case 0xCB:
        return floating(number(8), false);
      case 0xCC:
      case 0xCD:
      case 0xCE:
      case 0xCF: {
        const auto value = number(size_t{1} << (type - 0xCC));
        return value ? std::optional(integer(*value, false)) : std::nullopt;
      }
      case 0xD0:
      case 0xD1:
      case 0xD2:
      case 0xD3: {
        const size_t width = size_t{1} << (type - 0xD0);
        auto value = number(width);
        if (!value) return std::nullopt;
        const bool is_negative = (*value >> (8 * width - 1)) != 0;
        for (size_t byte = width; is_negative && byte < 8; ++byte) *value |= uint64_t{0xFF} << 8 * byte;
        return integer(*value, is_negative);
      }
      case 0xD4:
      case 0xD5:
      case 0xD6:
      case 0xD7:
      case 0xD8:
        return extension(uint64_t{1} << (type - 0xD4));
      case 0xD9:
        return sized(Type::kText, 1);
      case 0xDA:
        return sized(Type::kText, 2);
      case 0xDB:
        return sized(Type::kText, 4);
      case 0xDC:
        return container(Type::kArray, number(2), 1);
      case 0xDD:
        return container(Type::kArray, number(4), 1);
      case 0xDE:
        return container(Type::kMap, number(2), 2);
      case 0xDF:
        return container(Type::kMap, number(4), 2);
      default:
        return std::nullopt;
    }
  }

  static Header integer(uint64_t bits, bool is_negative) {
    Header header{{Type::kInteger}};
    header.item.bits = bits;
    header.item.is_negative = is_negative;
    return header;
  }
  static std::optional<Header> floating(std::optional<uint64_t> bits, bool is_single) {
    if (!bits) return std::nullopt;
    Header header{{Type::kFloat}};
    header.item.number =
        is_single ? double{std::bit_cast<float>(static_cast<uint32_t>(*bits))} : std::bit_cast<double>(*bits);
    return header;
  }
  std::optional<Header> sized(Type type, size_t width) {
    const auto size = number(width);
    return size ? std::optional(Header{{type}, 0, *size}) : std::nullopt;
  }
  static std::optional<Header> extension(std::optional<uint64_t> size) {
    return size ? std::optional(Header{{Type::kExtension}, 0, *size + 1}) : std::nullopt;
  }
  static std::optional<Header> container(Type type, std::optional<uint64_t> count, uint64_t items_each) {
    return count ? std::optional(Header{{type}, items_each * *count, 0}) : std::nullopt;
  }

  size_t left() const { return bytes_.size() - at_; }
  std::optional<uint64_t> number(size_t width) {
    if (width > left()) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) value = value << 8 | bytes_[at_++];
    return value;
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace kvidx::plain
