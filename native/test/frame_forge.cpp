#include "test/frame_forge.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

#include "core/xxh64.hpp"

namespace kvidx {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kNameAt = 58;
constexpr size_t kChecksumBytes = 8;

struct Field {
  size_t offset, width;
};

/// All of the head behind the magic, and the length of the worker's name.
constexpr Field kFields[] = {{4, 1},  {5, 1},  {6, 2},  {8, 8},  {16, 8}, {24, 8},
                             {32, 8}, {40, 8}, {48, 2}, {50, 2}, {52, 4}, {56, 2}};
constexpr uint64_t kTwo53 = uint64_t{1} << 53;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kExtremes[] = {0,
                                  1,
                                  2,
                                  3,
                                  0x7F,
                                  0xFF,
                                  0xFFFF,
                                  0xFFFF'FFFF,
                                  kTwo53 - 1,
                                  kTwo53,
                                  ~uint64_t{0},
                                  uint64_t{1} << 63,
                                  std::bit_cast<uint64_t>(0.999),
                                  std::bit_cast<uint64_t>(1.0),
                                  std::bit_cast<uint64_t>(-0.5),
                                  std::bit_cast<uint64_t>(kInfinity),
                                  std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN()),
                                  std::bit_cast<uint64_t>(std::numeric_limits<double>::denorm_min())};
constexpr std::string_view kTexts[] = {"decode-0",         "d",
                                       "\xC3\xB6",         "\xE4\xBC\x9A\xE8\xAF\x9D",
                                       "\xEF\xBB\xBF",     "\xED\x9F\xBF",
                                       "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"};
constexpr std::string_view kNoTexts[] = {"\x80",
                                         "\xC3",
                                         "\xC0\xAF",
                                         "\xE0\x9F\xBF",
                                         "\xED\xA0\x80",
                                         "\xF0\x8F\xBF\xBF",
                                         "\xF4\x90\x80\x80",
                                         "\xF5\x80\x80\x80",
                                         "\xFF"};

void put(Bytes& bytes, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
}

void put_name(Bytes& bytes, std::string_view text, size_t times) {
  put(bytes, text.size() * times, 2);
  for (size_t i = 0; i < times; ++i) bytes.insert(bytes.end(), text.begin(), text.end());
}

void put_block(Bytes& bytes, Dice& dice) {
  for (size_t i = 0; i < 4; ++i) put(bytes, dice.u64(), 8);
}

void put_pairs(Bytes& bytes, Dice& dice, uint32_t z) {
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < z; ++i) {
    if (dice.one_in(4)) indices.push_back(i);
  }
  put(bytes, indices.size(), 4);
  for (const uint32_t index : indices) {
    put(bytes, index, 4);
    put_block(bytes, dice);
  }
}

void overwrite(Bytes& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width && at + i < bytes.size(); ++i)
    bytes[at + i] = static_cast<uint8_t>(value >> 8 * i);
}

}  // namespace

Bytes sound_frame(Dice& dice, uint32_t most_blocks) {
  const uint64_t kind = dice.between(1, 3);
  const auto z = static_cast<uint32_t>(dice.between(kind == 3 ? 0 : 1, most_blocks));
  Bytes bytes = {'K', 'V', 'S', 'K', 1};
  put(bytes, kind, 1);
  put(bytes, 0, 2);
  for (int i = 0; i < 4; ++i) put(bytes, dice.one_in(8) ? kTwo53 - 1 : dice.u64() >> dice.between(11, 63), 8);
  put(bytes, std::bit_cast<uint64_t>(static_cast<double>(dice.between(1, 999)) / 1000), 8);
  put(bytes, dice.one_in(2) ? 1 : dice.u64(), 2);
  put(bytes, dice.between(1, 0xFFFF), 2);
  put(bytes, z, 4);
  // Seldom names of the greatest length.
  put_name(bytes, dice.one_of(kTexts), dice.one_in(500) ? 0xFFFF / 8 : dice.between(1, 3));
  put_name(bytes, dice.one_of(kTexts), dice.one_in(500) ? 0xFFFF / 8 : dice.below(3));
  if (kind == 1) {
    for (uint32_t i = 0; i < z; ++i) put_block(bytes, dice);
  } else if (kind == 2) {
    put_pairs(bytes, dice, z);
  }
  bytes.resize(bytes.size() + kChecksumBytes);
  mend_checksum(bytes);
  return bytes;
}

void damage(Bytes& frame, Dice& dice) {
  if (frame.empty()) return;
  const size_t at = dice.below(dice.one_in(2) ? frame.size() : std::min<size_t>(frame.size(), 100));
  const auto here = frame.begin() + static_cast<std::ptrdiff_t>(at);
  switch (dice.below(10)) {
    case 0:
      for (size_t n = dice.between(1, 4); n > 0; --n) {
        uint8_t& byte = frame[dice.below(frame.size())];
        byte = static_cast<uint8_t>(byte ^ 1u << dice.below(8));
      }
      break;
    case 1:
      frame[at] = static_cast<uint8_t>(dice.one_in(2) ? dice.u64() : dice.one_of(kExtremes));
      break;
    case 2:
      frame.erase(here, frame.end());
      break;
    case 3:
      for (size_t n = dice.between(1, 40); n > 0; --n) put(frame, dice.u64(), 1);
      break;
    case 4:
    case 5: {
      const Field field = dice.one_of(kFields);
      overwrite(frame, field.offset, dice.one_of(kExtremes), field.width);
      break;
    }
    case 6:  // a length, a count or an index, wherever one may be
      overwrite(frame, at, dice.below(70), dice.one_in(2) ? 2 : 4);
      break;
    case 7: {
      const std::string_view text = dice.one_of(kNoTexts);
      const size_t from = dice.between(kNameAt - 2, 70);
      for (size_t i = 0; i < text.size(); ++i) overwrite(frame, from + i, static_cast<uint8_t>(text[i]), 1);
      break;
    }
    case 8: {  // the worker loses its name
      if (frame.size() < kNameAt) break;
      const size_t length =
          std::min<size_t>(frame[kNameAt - 2] + 256u * frame[kNameAt - 1], frame.size() - kNameAt);
      frame.erase(frame.begin() + kNameAt, frame.begin() + kNameAt + static_cast<std::ptrdiff_t>(length));
      overwrite(frame, kNameAt - 2, 0, 2);
      break;
    }
    default:
      frame.erase(here, here + static_cast<std::ptrdiff_t>(std::min(dice.between(1, 40), frame.size() - at)));
  }
}

void mend_checksum(Bytes& frame) {
  if (frame.size() < kChecksumBytes) return;
  const size_t end = frame.size() - kChecksumBytes;
  overwrite(frame, end, xxh64(frame.data(), end, 0), kChecksumBytes);
}

}  // namespace kvidx
