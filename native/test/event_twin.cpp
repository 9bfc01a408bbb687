#include "test/event_twin.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "test/plain_msgpack.hpp"

namespace kvidx {
namespace {

using plain::Item;
using plain::Parser;
using plain::Type;

bool is_ascii_text(const Item& item) {
  const auto ascii = [](char c) { return c >= 0; };
  return item.type == Type::kText && std::all_of(item.bytes.begin(), item.bytes.end(), ascii);
}

bool is_plain(const Item& item) {
  if (item.type == Type::kExtension || (item.type == Type::kMap && !item.items.empty())) return false;
  return std::all_of(item.items.begin(), item.items.end(), is_plain);
}

bool is_natural(const Item& item, uint64_t most) {
  return item.type == Type::kInteger && !item.is_negative && item.bits <= most;
}

const std::vector<std::string> kStoredNames = {
    "type",      "block_hashes",       "parent_block_hash",
    "token_ids", "block_size",         "lora_id",
    "medium",    "lora_name",          "extra_keys",
    "group_idx", "kv_cache_spec_kind", "kv_cache_spec_sliding_window"};
const std::vector<std::string> kRemovedNames = {"type", "block_hashes", "medium", "group_idx"};
const std::vector<std::string> kClearedNames = {"type"};
const std::set<std::string> kOddNames = {"base_block_idx", "event_type",      "seq_hashes",
                                         "parent_hash",    "additional_salt", "__proto__"};

const std::vector<std::string>& names_of(EventKind kind) {
  if (kind == EventKind::kStored) return kStoredNames;
  return kind == EventKind::kRemoved ? kRemovedNames : kClearedNames;
}

std::optional<EventKind> kind_of(const Item& item) {
  if (item.type != Type::kText) return std::nullopt;
  if (item.bytes == "BlockStored") return EventKind::kStored;
  if (item.bytes == "BlockRemoved") return EventKind::kRemoved;
  if (item.bytes == "AllBlocksCleared") return EventKind::kCleared;
  return std::nullopt;
}

struct Named {
  std::string name;
  const Item* value;
};

/// The fields that are known; nothing, where the event is odd.
std::optional<std::vector<Named>> fields_of(const Item& event, EventKind& kind) {
  std::vector<Named> fields;
  if (event.type == Type::kArray) {
    const auto tag = event.items.empty() ? std::nullopt : kind_of(event.items[0]);
    if (!tag) return std::nullopt;
    kind = *tag;
    const auto& names = names_of(kind);
    for (size_t i = 0; i < event.items.size(); ++i) {
      if (i < names.size()) {
        fields.push_back({names[i], &event.items[i]});
      } else if (!is_plain(event.items[i])) {
        return std::nullopt;
      }
    }
    return fields;
  }
  if (event.type != Type::kMap) return std::nullopt;
  std::set<std::string> met;
  std::set<std::string> known(kStoredNames.begin(), kStoredNames.end());
  known.insert("cache_salt");
  for (size_t i = 0; i < event.items.size(); i += 2) {
    const Item& key = event.items[i];
    const Item& value = event.items[i + 1];
    if (!is_ascii_text(key) || kOddNames.count(key.bytes) != 0) return std::nullopt;
    if (known.count(key.bytes) == 0) {
      if (!is_plain(value)) return std::nullopt;
      continue;
    }
    if (!met.insert(key.bytes).second) return std::nullopt;
    fields.push_back({key.bytes, &value});
  }
  const auto type =
      std::find_if(fields.begin(), fields.end(), [](const Named& f) { return f.name == "type"; });
  const auto tag = type == fields.end() ? std::nullopt : kind_of(*type->value);
  if (!tag) return std::nullopt;
  kind = *tag;
  const auto& names = names_of(kind);
  const bool all =
      kind == EventKind::kStored || std::all_of(fields.begin(), fields.end(), [&](const Named& field) {
        return std::find(names.begin(), names.end(), field.name) != names.end();
      });
  return all ? std::optional(fields) : std::nullopt;
}

std::optional<uint64_t> hash_of(const Item& item) {
  if (item.type == Type::kInteger) return item.bits;
  const size_t size = item.bytes.size();
  if (item.type != Type::kBinary || (size != 8 && size != 16 && size != 32)) return std::nullopt;
  uint64_t hash = 0;
  for (size_t i = size - 8; i < size; ++i) hash = hash << 8 | static_cast<uint8_t>(item.bytes[i]);
  return hash;
}

/// Whether the field is usual; what it says goes to `row` and to the columns.
bool take_field(const std::string& name, const Item& value, EventRow& row, PlainBatch& batch) {
  const auto place = [](size_t n) { return static_cast<int32_t>(n); };
  const auto push_hash = [&](const Item& item) {
    const auto hash = hash_of(item);
    if (hash) batch.hashes.push_back(*hash);
    return hash.has_value();
  };
  if (name == "type") return true;
  if (name == "block_hashes") {
    row.blocks = place(value.items.size());
    row.hash_at = place(batch.hashes.size());
    return value.type == Type::kArray && std::all_of(value.items.begin(), value.items.end(), push_hash);
  }
  if (value.type == Type::kNil) return true;
  if (name == "parent_block_hash") {
    row.parent_at = place(batch.hashes.size());
    return push_hash(value);
  }
  if (name == "token_ids") {
    row.tokens = place(value.items.size());
    row.token_at = place(batch.tokens.size());
    for (const Item& token : value.items) batch.tokens.push_back(static_cast<uint32_t>(token.bits));
    return value.type == Type::kArray &&
           std::all_of(value.items.begin(), value.items.end(),
                       [](const Item& item) { return is_natural(item, UINT32_MAX); });
  }
  if (name == "block_size" || name == "group_idx") {
    (name == "group_idx" ? row.group : row.block_size) = static_cast<int32_t>(value.bits);
    return is_natural(value, INT32_MAX);
  }
  if (name == "medium" || name == "kv_cache_spec_kind") {
    if (!value.bytes.empty()) {
      (name == "medium" ? row.medium_begin : row.spec_begin) = place(value.end - value.bytes.size());
      (name == "medium" ? row.medium_end : row.spec_end) = place(value.end);
    }
    return is_ascii_text(value);
  }
  if (name == "lora_name" || name == "cache_salt") return value.type == Type::kText && value.bytes.empty();
  if (name == "extra_keys") {
    const auto is_nil = [](const Item& item) { return item.type == Type::kNil; };
    return value.type == Type::kArray && std::all_of(value.items.begin(), value.items.end(), is_nil);
  }
  return name == "kv_cache_spec_sliding_window" && is_natural(value, UINT32_MAX);
}

bool take_event(const Item& event, EventRow& row, PlainBatch& batch) {
  const auto fields = fields_of(event, row.kind);
  if (!fields) return false;
  bool has_blocks = row.kind == EventKind::kCleared;
  for (const Named& field : *fields) {
    if (!take_field(field.name, *field.value, row, batch)) return false;
    has_blocks = has_blocks || field.name == "block_hashes";
  }
  return has_blocks && (row.tokens == 0 || int64_t{row.blocks} * row.block_size == row.tokens);
}

}  // namespace

std::optional<PlainBatch> read_events_plainly(std::span<const uint8_t> payload) {
  Parser parser(payload);
  PlainBatch batch{};
  const auto items = parser.array();
  const auto time = items && *items >= 2 ? parser.item(0) : std::nullopt;
  if (!time || (time->type != Type::kFloat && time->type != Type::kInteger)) return std::nullopt;
  batch.time = time->number;
  if (time->type == Type::kInteger) {
    batch.time = time->is_negative ? -static_cast<double>(-time->bits) : static_cast<double>(time->bits);
  }
  if (!std::isfinite(batch.time * 1000)) return std::nullopt;

  const auto events = parser.array();
  if (!events) return std::nullopt;
  for (uint64_t i = 0; i < *events; ++i) {
    const auto event = parser.item(32);
    if (!event) return std::nullopt;
    const size_t hashes = batch.hashes.size(), tokens = batch.tokens.size();
    EventRow row{};
    row.hash_at = static_cast<int32_t>(hashes);
    row.token_at = static_cast<int32_t>(tokens);
    if (!take_event(*event, row, batch)) {
      row = {};
      batch.hashes.resize(hashes);
      batch.tokens.resize(tokens);
    }
    row.begin = static_cast<int32_t>(event->begin);
    row.end = static_cast<int32_t>(event->end);
    batch.rows.push_back(row);
  }

  batch.rank = -1;
  for (uint64_t i = 2; i < *items; ++i) {
    const auto further = parser.item(32);
    if (!further) return std::nullopt;
    if (i > 2 || further->type == Type::kNil) continue;
    if (!is_natural(*further, INT32_MAX)) return std::nullopt;
    batch.rank = static_cast<int32_t>(further->bits);
  }
  if (!parser.at_end()) return std::nullopt;
  return batch;
}

}  // namespace kvidx
