// Reads a message of KV events in its usual forms into columns.
//
// Idea: nearly every message of an engine has the same few forms, and the time of reading it goes into token ids. They are
// read here, straight into the caller's arrays. Everything else is left to the general decoder in JavaScript: an event that
// has any field of an unusual form is odd, and told by its byte range; a message that is no usual batch is refused whole. In
// doubt an event is odd: what is read here must mean exactly what the general decoder makes of it.
//
//   payload  [time, [event, event, event, …], rank]                                                       msgpack
//                   │      │      └ odd: kind, begin and end alone
//   rows     | kind begin end  blocks hash_at parent_at  tokens token_at  …  | … |                        an EventRow each
//                                 │      │      │            │      │
//   hashes   | … | block 0, block 1, …, parent | …     in the order of the message, so that a map may have the parent first
//   tokens   | … | id 0, id 1, …, id blocks × block_size − 1 | …
//
// What is usual
//   batch    an array of 2 items or more, behind which nothing follows: time (float or integer; finite also in ms), list of
//            events, rank (nil or 0 … 2^31 − 1), further items passed over
//   event    an array (items in vLLM's order, further ones passed over) or a map (vLLM's names, other names passed over), with
//            headers of any width. Text is ASCII; integers are no floats; a value may be nil where it may be missing
//   all      type: BlockStored, BlockRemoved, AllBlocksCleared
//   stored,  block_hashes: integers of 64 bits, negative ones in two's complement, or digests (bin of 8, 16 or 32 bytes, of
//   removed  which the last 8 count, big-endian); group_idx: 0 … 2^31 − 1; medium: text
//   stored   parent_block_hash: a hash; token_ids: 0 … 2^32 − 1, as many as block_size × blocks, or none; block_size:
//            0 … 2^31 − 1; kv_cache_spec_kind: text; kv_cache_spec_sliding_window: 0 … 2^32 − 1, passed over;
//            lora_id nil; lora_name, cache_salt nil or empty; extra_keys nil or a list of nils, of any length
//   passed   neither extension types nor maps that are not empty: some of those the general decoder refuses
//   over
// In a map a name from here twice, a key that is no ASCII text, a field that the kind has not, `__proto__` and the names that
// Mooncake has for fields (event_type, seq_hashes, parent_hash, base_block_idx, additional_salt) are odd.
//
// What is no msgpack, up to the last byte and also within odd events, refuses the message: a header that promises more than
// there is, 0xc1, more than 32 containers within each other that are not empty.
//
// Where a column is too short, what does not fit is counted and not written. Entries of a column behind the last one told may
// have been written.
//
// Costs: one pass, or two over odd events; no allocation, no recursion. Some 2 ns a token (token_ids.hpp) and 100 ns an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvidx {

enum class EventKind : int32_t { kOdd, kStored, kRemoved, kCleared };

/// An event in `rows`, as EVENT in the seam.
struct EventRow {
  EventKind kind = EventKind::kOdd;
  int32_t begin = 0, end = 0;
  int32_t blocks = 0, hash_at = 0;
  int32_t parent_at = -1;
  int32_t tokens = 0, token_at = 0;
  int32_t block_size = 0;
  int32_t medium_begin = 0, medium_end = 0;
  int32_t group = -1;
  int32_t spec_begin = 0, spec_end = 0;
  int32_t tier = 0;  // not written by read_events
};
constexpr size_t kEventPlaces = sizeof(EventRow) / sizeof(int32_t);

struct EventColumns {
  std::span<int32_t> rows;  // kEventPlaces an event
  std::span<uint64_t> hashes;
  std::span<uint32_t> tokens;
};

struct EventBatch {
  double time = 0;  // in seconds, as sent
  int32_t rank = -1;
  // How many there are, also where the columns are too short.
  size_t events = 0, hashes = 0, tokens = 0;
};

/// False, with nothing to be read: no usual batch.
[[nodiscard]] bool read_events(std::span<const uint8_t> payload, const EventColumns& columns,
                               EventBatch& batch);

}  // namespace kvidx
