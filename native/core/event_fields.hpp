// Fields of a KV event by their names (vllm/distributed/kv_events.py), and by their places in its array.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/msgpack_reader.hpp"

namespace kvidx {

/// What a message says of a field is one of these; up to kSpecWindow in the order of a stored event's array.
enum class Field : uint8_t {
  kType,
  kBlockHashes,
  kParent,
  kTokenIds,
  kBlockSize,
  kLoraId,
  kMedium,
  kLoraName,
  kExtraKeys,
  kGroup,
  kSpecKind,
  kSpecWindow,
  kCacheSalt,
  kUnknown,
  kOdd
};

constexpr Field kStoredItems[] = {Field::kType,     Field::kBlockHashes, Field::kParent,
                                  Field::kTokenIds, Field::kBlockSize,   Field::kLoraId,
                                  Field::kMedium,   Field::kLoraName,    Field::kExtraKeys,
                                  Field::kGroup,    Field::kSpecKind,    Field::kSpecWindow};
constexpr Field kRemovedItems[] = {Field::kType, Field::kBlockHashes, Field::kMedium, Field::kGroup};

constexpr uint32_t bit(Field field) {
  return uint32_t{1} << static_cast<unsigned>(field);
}
constexpr uint32_t kRemovedFields =
    bit(Field::kType) | bit(Field::kBlockHashes) | bit(Field::kMedium) | bit(Field::kGroup);

template <size_t kSize>
bool equals(std::string_view text, const char (&name)[kSize]) {
  return text.size() == kSize - 1 && std::memcmp(text.data(), name, kSize - 1) == 0;
}

/// By length first: one comparison of bytes a key.
inline Field field_of(std::string_view name) {
  switch (name.size()) {
    case 4:
      if (equals(name, "type")) return Field::kType;
      break;
    case 6:
      if (equals(name, "medium")) return Field::kMedium;
      break;
    case 7:
      if (equals(name, "lora_id")) return Field::kLoraId;
      break;
    case 9:
      if (equals(name, "token_ids")) return Field::kTokenIds;
      if (equals(name, "group_idx")) return Field::kGroup;
      if (equals(name, "lora_name")) return Field::kLoraName;
      if (equals(name, "__proto__")) return Field::kOdd;
      break;
    case 10:
      if (equals(name, "block_size")) return Field::kBlockSize;
      if (equals(name, "extra_keys")) return Field::kExtraKeys;
      if (equals(name, "cache_salt")) return Field::kCacheSalt;
      if (equals(name, "event_type") || equals(name, "seq_hashes")) return Field::kOdd;
      break;
    case 11:
      if (equals(name, "parent_hash")) return Field::kOdd;
      break;
    case 12:
      if (equals(name, "block_hashes")) return Field::kBlockHashes;
      break;
    case 14:
      if (equals(name, "base_block_idx")) return Field::kOdd;
      break;
    case 15:
      if (equals(name, "additional_salt")) return Field::kOdd;
      break;
    case 17:
      if (equals(name, "parent_block_hash")) return Field::kParent;
      break;
    case 18:
      if (equals(name, "kv_cache_spec_kind")) return Field::kSpecKind;
      break;
    case 28:
      if (equals(name, "kv_cache_spec_sliding_window")) return Field::kSpecWindow;
      break;
    default:
      break;
  }
  return is_ascii(name) ? Field::kUnknown : Field::kOdd;
}

}  // namespace kvidx
