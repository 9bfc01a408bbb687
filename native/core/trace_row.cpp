#include "core/trace_row.hpp"

#include <bit>
#include <cstring>
#include <string_view>

namespace kvidx {
namespace {

constexpr std::string_view kName = "hash_ids";

/// Digits at the start of the eight bytes of `word` (first byte lowest).
unsigned leading_digits(uint64_t word) {
  constexpr uint64_t kHigh = 0xF0F0F0F0F0F0F0F0, kSix = 0x0606060606060606, kZeros = 0x3030303030303030;
  // '0'..'9' alone have the high nibble 3 both before and after adding 6. A carry comes only from a byte
  // above 0xF9, which is no digit itself, so it cannot spoil a byte before the first non-digit.
  const uint64_t wrong = ((word & kHigh) ^ kZeros) | (((word + kSix) & kHigh) ^ kZeros);
  return static_cast<unsigned>(std::countr_zero(wrong)) / 8;
}

/// The number that the first `digits` (1 to 8) bytes of `word` spell, by pairs, fours and eights.
uint64_t decimal(uint64_t word, unsigned digits) {
  word =
      (word << (8 * (8 - digits))) & 0x0F0F0F0F0F0F0F0F;  // right-aligned: what is shifted in counts as zeros
  word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FF;
  word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFF;
  return (word * 10000 + (word >> 32)) & 0xFFFFFFFF;
}

class RowScanner {
 public:
  RowScanner(std::span<const uint8_t> line, std::span<uint64_t> ids)
      : begin_(line.data()), p_(line.data()), end_(line.data() + line.size()), ids_(ids) {}

  RowScan scan() {
    scan_.status = object();
    scan_.error_at = at();
    return scan_;
  }

 private:
  // Every step leaves p_ behind what it read, or on the first wrong byte.

  RowStatus object() {
    skip_space();
    if (!take('{')) return RowStatus::kNoObject;
    bool found = false;
    skip_space();
    if (!take('}')) {
      do {
        skip_space();
        const uint8_t* const name = p_;
        if (!string()) return RowStatus::kNoObject;
        const bool wanted = is_name(name, p_);
        skip_space();
        if (!take(':')) return RowStatus::kNoObject;
        skip_space();
        if (wanted && found) return p_ = name, RowStatus::kDuplicate;
        if (wanted) {
          if (const RowStatus status = id_array(); status != RowStatus::kOk) return status;
          found = true;
        } else if (!value()) {
          return RowStatus::kNoObject;
        }
        skip_space();
      } while (take(','));
      if (!take('}')) return RowStatus::kNoObject;
    }
    skip_space();
    if (p_ != end_) return RowStatus::kNoObject;
    return found ? RowStatus::kOk : RowStatus::kNoMember;
  }

  RowStatus id_array() {
    scan_.array_start = at();
    if (p_ == end_) return RowStatus::kNoObject;
    if (!take('[')) return RowStatus::kBadIds;
    size_t count = 0;
    skip_space();
    if (!take(']')) {
      for (;;) {
        count = short_integers(count);
        uint64_t id;
        if (!integer(id)) return p_ == end_ ? RowStatus::kNoObject : RowStatus::kBadIds;
        if (count < ids_.size()) ids_[count] = id;
        ++count;
        skip_space();
        if (take(',')) {
          skip_space();
        } else if (take(']')) {
          break;
        } else {
          return p_ == end_ ? RowStatus::kNoObject : RowStatus::kBadIds;
        }
      }
    }
    scan_.id_count = count;
    scan_.array_end = at();
    return RowStatus::kOk;
  }

  /// Reads numbers of at most 7 digits that a comma follows at once, as long as they come.
  size_t short_integers(size_t count) {
    if constexpr (std::endian::native == std::endian::little) {
      while (end_ - p_ >= 8 && count < ids_.size()) {
        const unsigned width = leading_digits(word());
        if (width == 0 || width == 8) break;
        const size_t before = count;
        // Neighbours mostly have the same width. Stepping by a fixed one does not wait for the digits to be
        // found.
        while (leading_digits(word()) == width && p_[width] == ',' && (*p_ != '0' || width == 1)) {
          ids_[count++] = decimal(word(), width);
          p_ += width + 1;
          skip_space();
          if (end_ - p_ < 8 || count == ids_.size()) break;
        }
        if (count == before) break;
      }
    }
    return count;
  }

  uint64_t word() const {
    uint64_t word;
    std::memcpy(&word, p_, sizeof word);
    return word;
  }

  /// On failure p_ is where the number starts, or the end of the line.
  bool integer(uint64_t& out) {
    const uint8_t* const start = p_;
    const bool negative = take('-');
    const uint8_t* const digits = p_;
    uint64_t n = 0;
    // 19 digits cannot overflow, so only a 20th is checked.
    const uint8_t* const safe_end = end_ - digits > 19 ? digits + 19 : end_;
    while (p_ != safe_end && is_digit(*p_)) n = n * 10 + static_cast<uint64_t>(*p_++ - '0');
    if (p_ == end_) return false;
    if (p_ - digits == 19 && is_digit(*p_)) {
      const uint64_t digit = static_cast<uint64_t>(*p_++ - '0');
      constexpr uint64_t kMax = ~uint64_t{0};
      if (n > kMax / 10 || n * 10 > kMax - digit) return p_ = start, false;
      n = n * 10 + digit;
      if (p_ == end_) return false;
    }
    const bool leading_zero = *digits == '0' && p_ - digits > 1;
    const bool out_of_range = negative && n > uint64_t{1} << 63;
    // Whatever follows (a further digit, a fraction, an exponent, a letter) must be a delimiter.
    const bool whole = *p_ == ',' || *p_ == ']' || is_space(*p_);
    if (p_ == digits || leading_zero || out_of_range || !whole) return p_ = start, false;
    out = negative ? ~n + 1 : n;
    return true;
  }

  bool value() {
    if (p_ == end_) return false;
    if (*p_ == '"') return string();
    if (*p_ == '{' || *p_ == '[') return nested();
    const uint8_t* const start = p_;
    while (p_ != end_ && !is_delimiter(*p_)) ++p_;
    return p_ != start;
  }

  bool nested() {
    size_t depth = 0;
    while (p_ != end_) {
      if (*p_ == '"') {
        if (!string()) return false;
        continue;
      }
      const uint8_t c = *p_++;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  bool string() {
    if (!take('"')) return false;
    while (p_ != end_) {
      const uint8_t c = *p_++;
      if (c == '"') return true;
      if (c == '\\' && p_ != end_) ++p_;
    }
    return false;
  }

  static bool is_name(const uint8_t* quoted, const uint8_t* end) {
    return static_cast<size_t>(end - quoted) == kName.size() + 2 &&
           std::memcmp(quoted + 1, kName.data(), kName.size()) == 0;
  }
  static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
  static bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_delimiter(uint8_t c) {
    return c == ',' || c == ':' || c == '}' || c == ']' || c == '{' || c == '[' || c == '"' || is_space(c);
  }

  bool take(uint8_t c) {
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  void skip_space() {
    while (p_ != end_ && is_space(*p_)) ++p_;
  }
  size_t at() const { return static_cast<size_t>(p_ - begin_); }

  const uint8_t* begin_;
  const uint8_t* p_;
  const uint8_t* end_;
  std::span<uint64_t> ids_;
  RowScan scan_;
};

}  // namespace

RowScan scan_trace_row(std::span<const uint8_t> line, std::span<uint64_t> ids) {
  return RowScanner(line, ids).scan();
}

}  // namespace kvidx
