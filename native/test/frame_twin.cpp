#include "test/frame_twin.hpp"

#include <bit>
#include <optional>

#include "core/xxh64.hpp"

namespace kvidx {
namespace {

using Bytes = std::span<const uint8_t>;

/// Takes parts off the front, as long as there are enough bytes.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }
  std::optional<FrameRange> part(uint64_t size) {
    if (size > left()) return std::nullopt;
    offset_ += static_cast<size_t>(size);
    return FrameRange{offset_ - static_cast<size_t>(size), offset_};
  }
  std::optional<uint64_t> number(size_t width) {
    const auto range = part(width);
    if (!range) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = range->end; i-- > range->begin;) value = value << 8 | bytes_[i];
    return value;
  }

 private:
  Bytes bytes_;
  size_t offset_ = 0;
};

/// By code points: each has one form, the shortest.
bool decodes(Bytes text) {
  for (size_t i = 0; i < text.size();) {
    const int ones = std::countl_one(text[i]);
    if (ones == 1 || ones > 4) return false;
    const size_t length = ones == 0 ? 1 : static_cast<size_t>(ones);
    if (length > text.size() - i) return false;
    uint32_t code = ones == 0 ? text[i] : text[i] & (0x7Fu >> ones);
    for (size_t k = 1; k < length; ++k) {
      if (std::countl_one(text[i + k]) != 1) return false;
      code = code << 6 | (text[i + k] & 0x3Fu);
    }
    const size_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    if (length != shortest || surrogate || code > 0x10FFFF) return false;
    i += length;
  }
  return true;
}

bool rises_below(Bytes pairs, uint64_t z) {
  std::optional<uint64_t> last;
  Cursor cursor(pairs);
  while (cursor.left() > 0) {
    const uint64_t index = *cursor.number(4);
    if ((last && index <= *last) || index >= z) return false;
    last = index;
    cursor.part(32);
  }
  return true;
}

}  // namespace

FrameFault read_frame_plainly(Bytes bytes, uint32_t max_blocks, SketchFrame& out) {
  Cursor cursor(bytes);
  const auto magic = cursor.number(4), version = cursor.number(1), kind = cursor.number(1),
             flags = cursor.number(2);
  const auto epoch = cursor.number(8), sequence = cursor.number(8), timestamp = cursor.number(8),
             keys = cursor.number(8), fpp_bits = cursor.number(8);
  const auto scheme = cursor.number(2), block_size = cursor.number(2), z = cursor.number(4);
  if (!z) return FrameFault::kTruncated;
  if (*magic != 0x4B53564B) return FrameFault::kMagic;
  if (*version != 1) return FrameFault::kVersion;
  if (*kind != 1 && *kind != 2 && *kind != 3) return FrameFault::kKind;
  if (*flags != 0) return FrameFault::kFlags;
  if ((*epoch | *sequence | *timestamp | *keys) >> 53 != 0) return FrameFault::kNumber;
  const auto fpp = std::bit_cast<double>(*fpp_bits);
  if (!(0 < fpp) || !(fpp < 1)) return FrameFault::kTargetFpp;
  if (*block_size == 0) return FrameFault::kBlockSize;
  const uint64_t least_blocks = *kind == 3 ? 0 : 1;
  if (*z < least_blocks || *z > max_blocks) return FrameFault::kZ;

  const auto worker_length = cursor.number(2);
  const auto worker = cursor.part(worker_length.value_or(0));
  const auto session_length = worker ? cursor.number(2) : std::nullopt;
  const auto session = cursor.part(session_length.value_or(0));
  if (!worker_length || !worker || !session_length || !session) return FrameFault::kTruncated;
  const auto pairs = *kind == 2 ? cursor.number(4) : 0;
  if (!pairs) return FrameFault::kTruncated;
  const auto payload = cursor.part(*kind == 1 ? *z * 32 : *pairs * 36);
  const auto checksum = payload ? cursor.number(8) : std::nullopt;
  if (!checksum) return FrameFault::kTruncated;

  const auto text = [bytes](FrameRange r) { return bytes.subspan(r.begin, r.end - r.begin); };
  if (*worker_length == 0 || !decodes(text(*worker)) || !decodes(text(*session))) return FrameFault::kName;
  if (*kind == 2 && !rises_below(text(*payload), *z)) return FrameFault::kDelta;
  if (cursor.left() != 0) return FrameFault::kTooLong;
  if (xxh64(bytes.data(), payload->end, 0) != *checksum) return FrameFault::kChecksum;
  out = {FrameKind{static_cast<uint8_t>(*kind)},
         *epoch,
         *sequence,
         *timestamp,
         *keys,
         fpp,
         static_cast<uint16_t>(*scheme),
         static_cast<uint16_t>(*block_size),
         static_cast<uint32_t>(*z),
         *worker,
         *session,
         *payload};
  return FrameFault::kOk;
}

}  // namespace kvidx
