// Every kernel reads a list of ids up to where it may, the same as id by id, from a buffer of exactly its size: under
// AddressSanitizer a read beyond its end ends the program.
#include "core/token_ids.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "check.hpp"
#include "dice.hpp"

using kvidx::Dice;
using kvidx::TokenKernel;

namespace {

constexpr size_t kBefore = 3;

struct List {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kBefore, 0xCE);
  std::vector<uint32_t> ids;
  std::vector<size_t> ends;  // in bytes

  void add(uint32_t id, size_t value_bytes) {
    if (value_bytes > 0) bytes.push_back(value_bytes == 1 ? 0xCC : value_bytes == 2 ? 0xCD : 0xCE);
    for (size_t k = std::max<size_t>(value_bytes, 1); k-- > 0;)
      bytes.push_back(static_cast<uint8_t>(id >> (8 * k)));
    ids.push_back(id);
    ends.push_back(bytes.size());
  }
};

/// In any width that has room for the id, not only the least.
void add_any(List& list, Dice& dice) {
  constexpr size_t kWidths[] = {0, 1, 2, 4};
  const size_t width = dice.one_of(kWidths);
  const uint64_t range = width == 0 ? 0x80 : uint64_t{1} << (8 * width);
  list.add(static_cast<uint32_t>(dice.one_in(8) ? range - 1 : dice.u64() % range), width);
}

/// Answers how many were read: all of them the first of the list.
size_t read(const TokenKernel& kernel, const List& list, size_t count) {
  std::vector<uint32_t> out(count);
  const uint8_t *const begin = list.bytes.data(), *const end = begin + list.bytes.size();
  const uint8_t* p = begin + kBefore;
  const size_t n = kernel.read(p, end, static_cast<uint32_t>(count), out.data());
  CHECK(n <= std::min(count, list.ids.size()));
  CHECK(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n), list.ids.begin()));
  CHECK(static_cast<size_t>(p - begin) == (n == 0 ? kBefore : list.ends[n - 1]));
  return n;
}

void lists_of_every_length(const TokenKernel& kernel, Dice& dice) {
  for (size_t length = 0; length < 70; ++length) {
    for (int round = 0; round < 50; ++round) {
      List list;
      while (list.ids.size() < length) add_any(list, dice);
      read(kernel, list, dice.below(length + 1));
      CHECK(read(kernel, list, length) + 24 >= length);  // leaves a rest near the end
    }
  }
}

void ends_before_other_types(const TokenKernel& kernel, Dice& dice) {
  for (unsigned type = 0x80; type < 0x100; ++type) {
    if (type >= 0xCC && type <= 0xCE) continue;
    for (size_t before = 0; before < 12; ++before) {
      List list;
      while (list.ids.size() < before) add_any(list, dice);
      list.bytes.push_back(static_cast<uint8_t>(type));
      for (int i = 0; i < 32; ++i) list.bytes.push_back(static_cast<uint8_t>(dice.u64()));
      CHECK(read(kernel, list, before + 20) + 4 > before);
    }
  }
}

}  // namespace

int main() {
  std::printf("token ids: ");
  for (const TokenKernel& kernel : kvidx::token_kernels()) {
    Dice dice(1);
    lists_of_every_length(kernel, dice);
    ends_before_other_types(kernel, dice);
    std::printf("%s ", kernel.name);
  }
  std::puts("ok");
}
