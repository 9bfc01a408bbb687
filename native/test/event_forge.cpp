#include "test/event_forge.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace kvidx {
namespace {

using Bytes = std::vector<uint8_t>;

/// Names of a stored event's fields, in the order of its array.
constexpr std::string_view kNames[] = {"type",      "block_hashes",       "parent_block_hash",
                                       "token_ids", "block_size",         "lora_id",
                                       "medium",    "lora_name",          "extra_keys",
                                       "group_idx", "kv_cache_spec_kind", "kv_cache_spec_sliding_window",
                                       "cache_salt"};
constexpr size_t kItems = 12;
constexpr std::string_view kFurtherNames[] = {
    "session_id", "locality",   "",         "medium",      "event_type",      "seq_hashes", "parent_hash",
    "lora_id",    "cache_salt", "\xC3\xA9", "parent_hush", "additional_salt", "__proto__",  "block_hashe"};
constexpr std::string_view kTags[] = {"BlockStored", "BlockRemoved", "AllBlocksCleared", "BlockMoved",
                                      "stored"};
constexpr uint64_t kBounds[] = {
    0,        1,   127,        128,        255,        256,         65535, 65536, (1u << 31) - 1,
    1u << 31, ~0u, 1ull << 32, 1ull << 53, 1ull << 63, ~uint64_t{0}};
constexpr uint8_t kTypes[] = {0x7F, 0x80, 0x81, 0x8F, 0x90, 0x91, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xC4,
                              0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCC, 0xCD, 0xCE, 0xCF, 0xD0, 0xD1, 0xD2, 0xD3,
                              0xD4, 0xD8, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0xE0, 0xFF};

/// Writes msgpack, each header and integer of any width that holds it.
class Writer {
 public:
  Writer(Bytes& out, Dice& dice) : out_(out), dice_(dice) {}

  void byte(uint64_t value) { out_.push_back(static_cast<uint8_t>(value)); }
  void nil() { byte(0xC0); }
  void number(uint64_t value, size_t width) {
    for (size_t i = width; i-- > 0;) byte(value >> 8 * i);
  }
  void array(size_t items) { header(items, 0x90, 15, 0xDC, 2); }
  void map(size_t entries) { header(entries, 0x80, 15, 0xDE, 2); }
  void text(std::string_view value) {
    header(value.size(), 0xA0, 31, 0xD9, 1);
    out_.insert(out_.end(), value.begin(), value.end());
  }
  void binary(size_t size) {
    // No length is in the type itself.
    header(size, 0, SIZE_MAX, 0xC4, 1);
    for (size_t i = 0; i < size; ++i) byte(dice_.u64());
  }
  void unsigned_integer(uint64_t value) {
    if (value < 128 && !dice_.one_in(6)) return byte(value);
    size_t power = static_cast<size_t>(
        std::bit_width(std::max<size_t>(1, (static_cast<size_t>(std::bit_width(value)) + 7) / 8) - 1));
    while (power < 3 && dice_.one_in(6)) ++power;
    const bool fits_signed = power == 3 ? value >> 63 == 0 : value >> (8 * (size_t{1} << power) - 1) == 0;
    byte((fits_signed && dice_.one_in(8) ? 0xD0 : 0xCC) + power);
    number(value, size_t{1} << power);
  }
  void negative_integer() {
    const size_t power = dice_.below(5);
    if (power == 4) return byte(0xE0 | dice_.below(32));
    byte(0xD0 + power);
    number(dice_.u64(), size_t{1} << power);
  }
  void floating() {
    if (dice_.one_in(4)) {
      byte(0xCA);
      return number(std::bit_cast<uint32_t>(static_cast<float>(dice_.below(1000)) / 8), 4);
    }
    byte(0xCB);
    number(dice_.one_in(20) ? dice_.u64() | 0x7FE0'0000'0000'0000 : std::bit_cast<uint64_t>(1789095808.83),
           8);
  }

  /// Anything at all.
  void strange(size_t depth) {
    switch (dice_.below(14)) {
      case 0:
        return nil();
      case 1:
        return unsigned_integer(dice_.one_of(kBounds));
      case 2:
        return negative_integer();
      case 3:
        return floating();
      case 4:
        return text(dice_.one_in(2) ? std::string_view{} : dice_.one_of(kFurtherNames));
      case 5:
        return text(std::string(dice_.below(300), 'x'));
      case 6:
        return binary(dice_.below(40));
      case 7:
        return byte(dice_.one_in(2) ? 0xC2 : 0xC1);
      case 8: {  // an extension
        const size_t power = dice_.below(5);
        byte(0xD4 + power);
        for (size_t i = 0; i <= size_t{1} << power; ++i) byte(0xFF);
        return;
      }
      case 9:  // a header that promises a lot
        byte(0xDD + dice_.below(3));
        return number(dice_.one_of(kBounds), 4);
      case 10: {  // around the deepest that is allowed
        for (size_t level = dice_.between(28, 34); level > 0; --level) byte(0x91);
        return byte(dice_.one_in(2) ? 0x90 : 0xC0);
      }
      case 11:
        return dice_.one_in(2) ? array(0) : map(0);
      case 12: {
        const size_t entries = dice_.below(3);
        map(entries);
        for (size_t i = 0; i < 2 * entries; ++i) depth == 0 ? text("a") : strange(depth - 1);
        return;
      }
      default: {
        const size_t items = dice_.below(4);
        array(items);
        for (size_t i = 0; i < items; ++i) depth == 0 ? nil() : strange(depth - 1);
      }
    }
  }

 private:
  void header(size_t length, unsigned fixed, size_t most, unsigned type, size_t least) {
    const bool has_short = fixed != 0 && length <= most;
    if (has_short && !dice_.one_in(8)) return byte(fixed + length);
    size_t power = 0;
    while (power < 3 && length >> (8 * (least << power)) != 0) ++power;
    while ((least << power) < 4 && dice_.one_in(4)) ++power;
    byte(type + power);
    number(length, least << power);
  }

  Bytes& out_;
  Dice& dice_;
};

class EventForge {
 public:
  EventForge(Bytes& out, Dice& dice) : dice_(dice), write_(out, dice) {}

  void event() {
    if (dice_.one_in(40)) return write_.strange(3);
    const size_t kind = dice_.below(8);
    tag_ = dice_.one_in(30) ? dice_.one_of(kTags) : kTags[kind == 0 ? 2 : kind < 3 ? 1 : 0];
    blocks_ = dice_.below(4);
    block_size_ = dice_.between(1, 4);
    has_tokens_ = !dice_.one_in(5);
    if (dice_.one_in(2)) {
      array_event();
    } else {
      map_event();
    }
  }

 private:
  void array_event() {
    constexpr size_t kRemovedItems[] = {0, 1, 6, 9};
    const bool is_removed = tag_ == "BlockRemoved";
    const size_t least = tag_ == "AllBlocksCleared" ? 1 : is_removed ? 2 : 5;
    const size_t most = is_removed ? 4 : least == 1 ? 1 : kItems;
    const size_t items =
        dice_.one_in(30) ? dice_.below(20) : dice_.between(least, most + (dice_.one_in(6) ? 3 : 0));
    write_.array(items);
    for (size_t i = 0; i < items; ++i) {
      if (i < most) {
        field(is_removed ? kRemovedItems[i] : i);
      } else {
        dice_.one_in(6) ? write_.strange(2) : write_.text("further");
      }
    }
  }

  void map_event() {
    std::vector<size_t> fields{0};
    if (tag_ == "BlockRemoved") fields = {0, 1, 6};
    if (tag_ == "BlockStored") fields = {0, 1, 3, 4};
    const bool is_cleared = tag_ == "AllBlocksCleared";
    for (const size_t more : {2, 5, 6, 7, 8, 9, 10, 11, 12}) {
      const bool is_own = tag_ == "BlockStored" ? more != 6 : more == 9;
      if (is_own && !is_cleared && dice_.one_in(2)) fields.push_back(more);
    }
    if (tag_ == "BlockStored" && dice_.one_in(2)) fields.push_back(6);
    if (dice_.one_in(25)) fields.push_back(dice_.below(std::size(kNames)));
    if (dice_.one_in(40)) fields.erase(fields.begin());
    for (size_t i = fields.size(); i > 1 && dice_.one_in(2); --i)
      std::swap(fields[i - 1], fields[dice_.below(i)]);
    const size_t further = dice_.one_in(3) ? dice_.between(1, 2) : 0;
    write_.map(fields.size() + further);
    for (const size_t place : fields) {
      write_.text(kNames[place]);
      field(place);
    }
    for (size_t i = 0; i < further; ++i) {
      dice_.one_in(10) ? write_.strange(1)
                       : write_.text(dice_.one_in(3) ? dice_.one_of(kFurtherNames) : "session_id");
      dice_.one_in(3) ? write_.strange(2) : write_.text("s");
    }
  }

  void field(size_t place) {
    if (dice_.one_in(60)) return write_.strange(2);
    const bool is_absent = place > 1 && place != 3 && place != 4 && dice_.one_in(3);
    if (is_absent) return write_.nil();
    switch (place) {
      case 0:
        return write_.text(tag_);
      case 1:
        write_.array(blocks_);
        for (size_t i = 0; i < blocks_; ++i) hash();
        return;
      case 2:
        return hash();
      case 3: {
        if (!has_tokens_) return dice_.one_in(2) ? write_.nil() : write_.array(0);
        const size_t tokens = blocks_ * block_size_;
        write_.array(tokens);
        for (size_t i = 0; i < tokens; ++i) write_.unsigned_integer(dice_.u64() >> dice_.between(32, 63));
        return;
      }
      case 4:
        return !has_tokens_ && dice_.one_in(2) ? write_.nil() : write_.unsigned_integer(block_size_);
      case 6:
        return write_.text(dice_.one_in(4) ? "" : "CPU_PINNED");
      case 7:
      case 12:
        return write_.text(dice_.one_in(10) ? "x" : "");
      case 8: {
        const size_t keys = dice_.one_in(2) ? blocks_ : dice_.below(3);
        write_.array(keys);
        for (size_t i = 0; i < keys; ++i) write_.nil();
        return;
      }
      case 9:
        return write_.unsigned_integer(dice_.one_in(20) ? dice_.one_of(kBounds) : dice_.below(3));
      case 10:
        return write_.text("full_attention");
      case 11:
        return write_.unsigned_integer(4096);
      default:
        return dice_.one_in(4) ? write_.unsigned_integer(7) : write_.nil();
    }
  }

  void hash() {
    constexpr size_t kSizes[] = {8, 16, 32};
    switch (dice_.below(6)) {
      case 0:
        return write_.negative_integer();
      case 1:
        return write_.binary(dice_.one_in(20) ? dice_.below(34) : dice_.one_of(kSizes));
      default:
        return write_.unsigned_integer(dice_.u64() >> dice_.below(60));
    }
  }

  Dice& dice_;
  Writer write_;
  std::string_view tag_;
  size_t blocks_ = 0, block_size_ = 0;
  bool has_tokens_ = false;
};

}  // namespace

Bytes forged_batch(Dice& dice) {
  Bytes out;
  Writer write(out, dice);
  EventForge forge(out, dice);
  const size_t items = dice.one_in(4) ? dice.between(2, 5) : 3;
  write.array(items);
  dice.one_in(6) ? write.unsigned_integer(dice.one_of(kBounds)) : write.floating();
  const size_t events = dice.below(5);
  write.array(events);
  for (size_t i = 0; i < events; ++i) forge.event();
  if (items > 2)
    dice.one_in(2) ? write.nil() : write.unsigned_integer(dice.one_in(20) ? dice.u64() : dice.below(9));
  for (size_t i = 3; i < items; ++i) write.strange(2);
  return out;
}

void damage_batch(Bytes& batch, const Bytes& other, Dice& dice) {
  if (batch.empty()) return;
  const size_t at = dice.below(batch.size());
  const auto here = batch.begin() + static_cast<std::ptrdiff_t>(at);
  switch (dice.below(6)) {
    case 0:
      *here = static_cast<uint8_t>(*here ^ 1u << dice.below(8));
      break;
    case 1:
    case 2:
      *here = dice.one_of(kTypes);
      break;
    case 3:
      batch.erase(here, batch.end());
      break;
    case 4:
      batch.erase(here, here + static_cast<std::ptrdiff_t>(std::min(dice.between(1, 8), batch.size() - at)));
      break;
    default: {
      const size_t from = dice.below(other.size() + 1);
      const size_t size = std::min(dice.below(40), other.size() - from);
      const auto part = other.begin() + static_cast<std::ptrdiff_t>(from);
      batch.insert(here, part, part + static_cast<std::ptrdiff_t>(size));
    }
  }
}

}  // namespace kvidx
