#include "core/sketch_frame.hpp"

#include <cstring>

#include "core/utf8.hpp"
#include "core/xxh64.hpp"

namespace kvidx {
namespace {

constexpr char kMagic[] = {'K', 'V', 'S', 'K'};
constexpr uint8_t kVersion = 1;
constexpr size_t kHeadBytes = 56;
constexpr uint64_t kMaxNumber = (uint64_t{1} << 53) - 1;
constexpr uint64_t kBlockBytes = 32;
constexpr uint64_t kPairBytes = 4 + kBlockBytes;
constexpr uint64_t kChecksumBytes = 8;

class FrameReader {
 public:
  explicit FrameReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  FrameFault read(uint32_t max_blocks) {
    if (bytes_.size() < kHeadBytes) return FrameFault::kTruncated;
    if (const FrameFault fault = head(max_blocks); fault != FrameFault::kOk) return fault;
    return rest();
  }
  const SketchFrame& frame() const { return frame_; }

 private:
  FrameFault head(uint32_t max_blocks) {
    if (std::memcmp(bytes_.data(), kMagic, sizeof kMagic) != 0) return FrameFault::kMagic;
    if (bytes_[4] != kVersion) return FrameFault::kVersion;
    frame_.kind = FrameKind{bytes_[5]};
    if (frame_.kind < FrameKind::kFull || frame_.kind > FrameKind::kClear) return FrameFault::kKind;
    if (at<uint16_t>(6) != 0) return FrameFault::kFlags;
    frame_.epoch = at<uint64_t>(8);
    frame_.sequence = at<uint64_t>(16);
    frame_.timestamp_ms = at<uint64_t>(24);
    frame_.keys = at<uint64_t>(32);
    for (const uint64_t number : {frame_.epoch, frame_.sequence, frame_.timestamp_ms, frame_.keys}) {
      if (number > kMaxNumber) return FrameFault::kNumber;
    }
    frame_.target_fpp = at<double>(40);
    if (!(frame_.target_fpp > 0 && frame_.target_fpp < 1)) return FrameFault::kTargetFpp;  // nor NaN
    frame_.scheme = at<uint16_t>(48);
    frame_.block_size = at<uint16_t>(50);
    if (frame_.block_size == 0) return FrameFault::kBlockSize;
    frame_.z = at<uint32_t>(52);
    if (frame_.z > max_blocks || (frame_.z == 0 && frame_.kind != FrameKind::kClear)) return FrameFault::kZ;
    return FrameFault::kOk;
  }

  FrameFault rest() {
    size_t next = kHeadBytes;
    uint32_t pairs = 0;
    if (!name(next, frame_.worker) || !name(next, frame_.session)) return FrameFault::kTruncated;
    if (frame_.kind == FrameKind::kDelta) {
      if (!fits(next, sizeof pairs)) return FrameFault::kTruncated;
      pairs = at<uint32_t>(next);
      next += sizeof pairs;
    }
    // Below 2^38: no sum overflows.
    const uint64_t payload = frame_.kind == FrameKind::kFull ? frame_.z * kBlockBytes : pairs * kPairBytes;
    if (!fits(next, payload + kChecksumBytes)) return FrameFault::kTruncated;
    frame_.payload = {next, next + static_cast<size_t>(payload)};

    const bool named = frame_.worker.begin != frame_.worker.end;
    if (!named || !is_utf8(part(frame_.worker)) || !is_utf8(part(frame_.session))) return FrameFault::kName;
    if (!indices_rise(pairs)) return FrameFault::kDelta;
    if (bytes_.size() != frame_.payload.end + kChecksumBytes) return FrameFault::kTooLong;
    if (xxh64(bytes_.data(), frame_.payload.end, 0) != at<uint64_t>(frame_.payload.end)) {
      return FrameFault::kChecksum;
    }
    return FrameFault::kOk;
  }

  bool name(size_t& next, FrameRange& range) const {
    if (!fits(next, sizeof(uint16_t))) return false;
    range.begin = next + sizeof(uint16_t);
    range.end = range.begin + at<uint16_t>(next);
    next = range.end;
    return next <= bytes_.size();
  }

  bool indices_rise(uint32_t pairs) const {
    uint64_t least = 0;
    for (size_t i = 0; i < pairs; ++i) {
      const uint32_t index = at<uint32_t>(frame_.payload.begin + i * kPairBytes);
      if (index < least || index >= frame_.z) return false;
      least = uint64_t{index} + 1;
    }
    return true;
  }

  bool fits(size_t begin, uint64_t size) const { return bytes_.size() - begin >= size; }
  std::span<const uint8_t> part(FrameRange range) const {
    return bytes_.subspan(range.begin, range.end - range.begin);
  }
  template <class T>
  T at(size_t offset) const {
    return xxh::load<T>(bytes_.data() + offset);
  }

  std::span<const uint8_t> bytes_;
  SketchFrame frame_{};
};

}  // namespace

FrameFault read_frame(std::span<const uint8_t> bytes, uint32_t max_blocks, SketchFrame& frame) {
  FrameReader reader(bytes);
  const FrameFault fault = reader.read(max_blocks);
  if (fault == FrameFault::kOk) frame = reader.frame();
  return fault;
}

}  // namespace kvidx
