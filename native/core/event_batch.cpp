#include "core/event_batch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "core/event_fields.hpp"
#include "core/msgpack_reader.hpp"
#include "core/token_ids.hpp"

namespace kvidx {
namespace {

const ReadTokenIds kReadTokenIds = token_kernels().back().read;

class BatchReader : MsgpackReader {
 public:
  BatchReader(std::span<const uint8_t> payload, const EventColumns& columns)
      : MsgpackReader(payload), columns_(columns) {}

  bool read(EventBatch& batch) {
    uint32_t items, events;
    double time;
    int32_t rank = -1;
    if (!array(items) || items < 2 || !seconds(time) || !array(events)) return false;
    for (uint32_t i = 0; i < events; ++i) {
      if (!event(i)) return false;
    }
    if (items > 2 && !nil() && !small(rank)) return false;
    bool is_plain;
    for (uint32_t i = 3; i < items; ++i) {
      if (!pass(kMaxDepth, is_plain)) return false;
    }
    if (!at_end()) return false;
    batch = {time, rank, events, hashes_, tokens_};
    return true;
  }

 private:
  bool seconds(double& value) {
    uint64_t bits = 0;
    bool is_negative = false;
    if (take(0xCB)) {
      if (!number(8, bits)) return false;
      value = std::bit_cast<double>(bits);
    } else if (take(0xCA)) {
      if (!number(4, bits)) return false;
      value = double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
    } else {
      if (!integer(bits, is_negative)) return false;
      value = is_negative ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
    }
    return std::isfinite(value * 1000);
  }

  /// False: no msgpack.
  bool event(size_t index) {
    const uint8_t* const begin = p_;
    const size_t hashes = hashes_, tokens = tokens_;
    row_ = {};
    row_.hash_at = static_cast<int32_t>(hashes);
    row_.token_at = static_cast<int32_t>(tokens);
    seen_ = 0;
    const bool is_usual = (is_array_next() ? array_event() : map_event()) && fits_together();
    if (!is_usual) {
      p_ = begin;
      hashes_ = hashes;
      tokens_ = tokens;
      row_.kind = EventKind::kOdd;
      bool is_plain;
      if (!pass(kMaxDepth, is_plain)) return false;
    }
    row_.begin = offset(begin);
    row_.end = offset(p_);
    if (index < columns_.rows.size() / kEventPlaces) {
      int32_t* const out = &columns_.rows[kEventPlaces * index];
      // Sizes that the compiler knows: it copies the others by an instruction that takes longer than all the rest.
      if (is_usual) {
        std::memcpy(out, &row_, (kEventPlaces - 1) * sizeof(int32_t));
      } else {
        std::memcpy(out, &row_, 3 * sizeof(int32_t));
      }
    }
    return true;
  }

  bool array_event() {
    uint32_t items;
    if (!array(items) || items == 0 || !field(Field::kType)) return false;
    std::span<const Field> names(kStoredItems);
    if (row_.kind == EventKind::kRemoved) names = kRemovedItems;
    if (row_.kind == EventKind::kCleared) names = names.first(1);
    for (uint32_t i = 1; i < items; ++i) {
      if (!field(i < names.size() ? names[i] : Field::kUnknown)) return false;
    }
    return true;
  }

  bool map_event() {
    uint32_t items;
    if (!map(items)) return false;
    for (uint32_t i = 0; i < items; i += 2) {
      std::string_view name;
      if (!text(name) || !field(field_of(name))) return false;
    }
    return true;
  }

  /// What only all fields together tell.
  bool fits_together() const {
    switch (row_.kind) {
      case EventKind::kStored:
        return has(Field::kBlockHashes) &&
               (row_.tokens == 0 || int64_t{row_.blocks} * row_.block_size == row_.tokens);
      case EventKind::kRemoved:
        return has(Field::kBlockHashes) && (seen_ & ~kRemovedFields) == 0;
      case EventKind::kCleared:
        return seen_ == bit(Field::kType);
      default:
        return false;
    }
  }

  bool has(Field field) const { return (seen_ & bit(field)) != 0; }

  bool field(Field field) {
    if (field == Field::kUnknown) {
      bool is_plain;
      return pass(kMaxDepth - 1, is_plain) && is_plain;
    }
    if (field == Field::kOdd || has(field)) return false;
    seen_ |= bit(field);
    uint64_t window = 0;
    switch (field) {
      case Field::kType:
        return tag();
      case Field::kBlockHashes:
        return block_hashes();
      case Field::kParent:
        return nil() || parent();
      case Field::kTokenIds:
        return nil() || token_ids();
      case Field::kBlockSize:
        return nil() || small(row_.block_size);
      case Field::kLoraId:
        return nil();
      case Field::kMedium:
        return nil() || range(row_.medium_begin, row_.medium_end);
      case Field::kLoraName:
      case Field::kCacheSalt:
        return nil() || empty_text();
      case Field::kExtraKeys:
        return nil() || nils();
      case Field::kGroup:
        return nil() || small(row_.group);
      case Field::kSpecKind:
        return nil() || range(row_.spec_begin, row_.spec_end);
      case Field::kSpecWindow:
        return nil() || natural(UINT32_MAX, window);
      default:
        return false;
    }
  }

  bool tag() {
    std::string_view name;
    if (!text(name)) return false;
    if (equals(name, "BlockStored")) row_.kind = EventKind::kStored;
    if (equals(name, "BlockRemoved")) row_.kind = EventKind::kRemoved;
    if (equals(name, "AllBlocksCleared")) row_.kind = EventKind::kCleared;
    return row_.kind != EventKind::kOdd;
  }

  bool block_hashes() {
    uint32_t count;
    if (!array(count)) return false;
    row_.blocks = static_cast<int32_t>(count);
    row_.hash_at = static_cast<int32_t>(hashes_);
    for (uint32_t i = 0; i < count; ++i) {
      if (!hash()) return false;
    }
    return true;
  }

  bool parent() {
    row_.parent_at = static_cast<int32_t>(hashes_);
    return hash();
  }

  bool hash() {
    uint64_t value = 0;
    if (left() >= kMaxIntegerBytes && (*p_ == 0xCF || *p_ == 0xD3)) {
      value = big_endian<uint64_t>(p_ + 1);
      p_ += kMaxIntegerBytes;
    } else if (!at_end() && *p_ >= 0xC4 && *p_ <= 0xC6) {
      std::span<const uint8_t> digest;
      if (!binary(digest) || (digest.size() != 8 && digest.size() != 16 && digest.size() != 32)) return false;
      value = big_endian<uint64_t>(digest.data() + digest.size() - 8);
    } else {
      bool is_negative = false;
      if (!integer(value, is_negative)) return false;
    }
    if (hashes_ < columns_.hashes.size()) columns_.hashes[hashes_] = value;
    ++hashes_;
    return true;
  }

  bool token_ids() {
    uint32_t count;
    if (!array(count)) return false;
    row_.tokens = static_cast<int32_t>(count);
    row_.token_at = static_cast<int32_t>(tokens_);
    const std::span<uint32_t> room = columns_.tokens.subspan(std::min(tokens_, columns_.tokens.size()));
    const auto stored = static_cast<uint32_t>(std::min<size_t>(count, room.size()));
    tokens_ += count;
    // A batch's header, its time and the event's type are before p_: more than the 3 bytes that a kernel asks for.
    const uint32_t read = kReadTokenIds(p_, end_, stored, room.data());
    for (uint32_t i = read; i < count; ++i) {
      uint64_t value = 0;
      if (!natural(UINT32_MAX, value)) return false;
      if (i < stored) room[i] = static_cast<uint32_t>(value);
    }
    return true;
  }

  bool empty_text() {
    std::string_view value;
    return text(value) && value.empty();
  }

  bool nils() {
    uint32_t count;
    if (!array(count)) return false;
    for (uint32_t i = 0; i < count; ++i) {
      if (!nil()) return false;
    }
    return true;
  }

  /// 0 … 2^31 − 1.
  bool small(int32_t& out) {
    uint64_t value = 0;
    if (!natural(INT32_MAX, value)) return false;
    out = static_cast<int32_t>(value);
    return true;
  }

  bool range(int32_t& begin, int32_t& end) {
    std::string_view value;
    if (!ascii(value)) return false;
    if (value.empty()) return true;
    begin = offset(value.data());
    end = begin + static_cast<int32_t>(value.size());
    return true;
  }

  const EventColumns columns_;
  size_t hashes_ = 0, tokens_ = 0;
  EventRow row_;
  uint32_t seen_ = 0;  // bits of fields
};

}  // namespace

bool read_events(std::span<const uint8_t> payload, const EventColumns& columns, EventBatch& batch) {
  // Offsets are int32.
  if (payload.size() > INT32_MAX) return false;
  return BatchReader(payload, columns).read(batch);
}

}  // namespace kvidx
