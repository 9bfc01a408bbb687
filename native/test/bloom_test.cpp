// Every kernel that this machine can run, against the filter as a plain formula, and against facts about filters that others
// wrote (apache/parquet-testing, arrow-rs).
#include "core/bloom.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "byte_source.hpp"
#include "check.hpp"
#include "core/xxh64.hpp"

using kvidx::BloomKernel;
using kvidx::SeqHash;
using kvidx::SeqSpan;
using Words = std::vector<uint32_t>;
using Keys = std::vector<SeqHash>;

namespace {

Keys random_keys(uint64_t seed, size_t count) {
  Keys keys(count);
  for (SeqHash& key : keys) key = SeqHash{kvidx::splitmix64(seed)};
  return keys;
}

// The formula

struct Place {
  size_t block;
  uint32_t bits[8];
};

Place place_of(SeqHash key, uint64_t z) {
  constexpr uint64_t kSalts[] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
  const uint64_t value = raw(key);
  const uint64_t hash = kvidx::xxh64(reinterpret_cast<const uint8_t*>(&value), sizeof value, 0);
  Place place{static_cast<size_t>(((hash >> 32) * z) >> 32), {}};
  for (size_t i = 0; i < 8; ++i) place.bits[i] = static_cast<uint32_t>(hash * kSalts[i]) >> 27;
  return place;
}

void add_plainly(Words& words, SeqSpan keys) {
  for (const SeqHash key : keys) {
    const Place place = place_of(key, words.size() / 8);
    for (size_t i = 0; i < 8; ++i) words[8 * place.block + i] |= 1u << place.bits[i];
  }
}

bool has_plainly(const Words& words, SeqHash key) {
  const Place place = place_of(key, words.size() / 8);
  for (size_t i = 0; i < 8; ++i) {
    if ((words[8 * place.block + i] >> place.bits[i] & 1) == 0) return false;
  }
  return true;
}

// The key of a hash: XXH64 of 8 bytes goes one to one

/// Of an odd number, modulo 2^64: each step of Newton's doubles the bits that are right.
constexpr uint64_t inverse(uint64_t a) {
  uint64_t x = a;
  for (int i = 0; i < 6; ++i) x *= 2 - a * x;
  return x;
}

SeqHash key_of(std::string_view text) {
  using namespace kvidx::xxh;
  const uint64_t hash = kvidx::xxh64(reinterpret_cast<const uint8_t*>(text.data()), text.size(), 0);
  uint64_t h = (hash ^ (hash >> 32)) * inverse(kPrime3);
  h = (h ^ (h >> 29) ^ (h >> 58)) * inverse(kPrime2);
  h = ((h ^ (h >> 33)) - kPrime4) * inverse(kPrime1);
  h = (std::rotr(h, 27) ^ (kPrime5 + 8)) * inverse(kPrime1);
  const uint64_t key = std::rotr(h, 31) * inverse(kPrime2);
  CHECK(kvidx::xxh64_u64(key, 0) == hash);
  return SeqHash{key};
}

// The tests

void facts(const BloomKernel& kernel) {
  constexpr uint8_t kTen[] = {0xc8, 0x01, 0x50, 0x14, 0x40, 0x44, 0x08, 0x6d, 0x06, 0x25, 0x04,
                              0x43, 0x90, 0x50, 0x60, 0x20, 0x08, 0x84, 0x2b, 0x21, 0x00, 0x05,
                              0x63, 0x41, 0x02, 0x00, 0xe0, 0x2c, 0x40, 0x4e, 0x60, 0x04};
  Keys ten;
  for (const char* text : {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"})
    ten.push_back(key_of(text));
  Words words(8);
  kernel.add(words, ten);
  CHECK(std::memcmp(words.data(), kTen, sizeof kTen) == 0);

  const auto block_of = [&kernel](std::string_view text) {
    Words filter(8 * 32);
    const SeqHash key = key_of(text);
    kernel.add(filter, {&key, 1});
    return std::find_if(filter.begin(), filter.end(), std::identity()) - filter.begin();
  };
  CHECK(block_of("hello") / 8 == 4 && block_of("parquet") / 8 == 7);
  CHECK(block_of("bloom") / 8 == 10 && block_of("filter") / 8 == 5);
}

constexpr uint8_t kGuard = 0xA5;
/// Words of a cache line.
constexpr size_t kLine = 16;

/// Words `before` words behind an address that is aligned to a cache line, with words around them that must stay.
class Guarded {
 public:
  Guarded(size_t count, size_t before) : memory_(kLine + before + count + kLine, kGuard) {
    const size_t misaligned = reinterpret_cast<uintptr_t>(memory_.data()) / sizeof(uint32_t) % kLine;
    words_ = std::span(memory_).subspan((kLine - misaligned) % kLine + before, count);
    std::fill(words_.begin(), words_.end(), 0);
  }
  std::span<uint32_t> words() const { return words_; }
  bool whole() const {
    const auto changed = [this](const uint32_t& word) {
      const bool inside = &word >= words_.data() && &word < words_.data() + words_.size();
      return !inside && word != kGuard;
    };
    return std::none_of(memory_.begin(), memory_.end(), changed);
  }

 private:
  Words memory_;
  std::span<uint32_t> words_;
};

/// Filters of `z` blocks with `count` keys: `asked` are those and as many others.
void like_the_formula(const BloomKernel& kernel, size_t z, size_t count, size_t before) {
  const Keys asked = random_keys(z * 1000 + count, 2 * count);
  const SeqSpan added = SeqSpan(asked).first(count);
  Words expected(8 * z);
  add_plainly(expected, added);
  const Guarded filter(8 * z, before);
  kernel.add(filter.words(), added);
  CHECK(std::equal(expected.begin(), expected.end(), filter.words().begin()));

  std::vector<uint8_t> each(asked.size());
  std::transform(asked.begin(), asked.end(), each.begin(),
                 [&](SeqHash key) { return has_plainly(expected, key) ? 1 : 0; });
  const auto positive = static_cast<size_t>(std::count(each.begin(), each.end(), 1));
  const auto leading = static_cast<size_t>(std::find(each.begin(), each.end(), 0) - each.begin());
  CHECK(leading >= count);
  std::vector<uint8_t> out(asked.size() + kLine, kGuard);  // AddressSanitizer does not see masked stores
  CHECK(kernel.test(filter.words(), asked, std::span(out).first(asked.size())) == positive);
  CHECK(std::equal(each.begin(), each.end(), out.begin()));
  CHECK(std::count(out.begin() + std::ssize(asked), out.end(), kGuard) == kLine);
  CHECK(kernel.test(filter.words(), asked, {}) == positive);
  CHECK(kernel.leading(filter.words(), asked) == leading);
  CHECK(std::equal(expected.begin(), expected.end(), filter.words().begin()) && filter.whole());
}

void every_size(const BloomKernel& kernel) {
  for (size_t z = 1; z <= 70; ++z) {
    for (size_t count = 0; count <= 70; ++count) like_the_formula(kernel, z, count, (z + count) % 16);
  }
  for (const size_t z : {255u, 256u, 1000u, 4113u, 65'537u, 1u << 20}) {
    for (const size_t count : {0u, 1u, 7u, 64u, 65u, 1000u}) like_the_formula(kernel, z, count, count % 16);
  }
  like_the_formula(kernel, 4113, 100'000, 3);
}

/// One key that was not added stands at every place of every batch, among others that were.
void leading_ends_anywhere(const BloomKernel& kernel) {
  const Keys keys = random_keys(7, 400);
  Words words(8 * 400);
  kernel.add(words, keys);
  SeqHash stranger{0};
  while (has_plainly(words, stranger)) stranger = SeqHash{raw(stranger) + 1};
  for (size_t at = 0; at < keys.size(); ++at) {
    Keys asked = keys;
    asked[at] = stranger;
    CHECK(kernel.leading(words, asked) == at);
    CHECK(kernel.leading(words, SeqSpan(asked).first(at)) == at);
  }
  CHECK(kernel.leading(words, keys) == keys.size());
}

/// Hashes at the ends of their range, and one key many times in a batch.
void special_keys(const BloomKernel& kernel) {
  Keys keys = {SeqHash{0}, SeqHash{1}, SeqHash{~uint64_t{0}}, SeqHash{uint64_t{1} << 63}};
  keys.resize(200, SeqHash{42});
  Words expected(8 * 5), words(8 * 5);
  add_plainly(expected, keys);
  kernel.add(words, keys);
  CHECK(words == expected && kernel.leading(words, keys) == keys.size());
}

}  // namespace

int main() {
  const auto kernels = kvidx::bloom_kernels();
  CHECK(!kernels.empty() && kernels.front().isa == std::string_view("scalar"));
  std::printf("bloom filters: ");
  for (const BloomKernel& kernel : kernels) {
    facts(kernel);
    every_size(kernel);
    leading_ends_anywhere(kernel);
    special_keys(kernel);
    std::printf("%s ", kernel.isa);
  }
  std::puts("ok");
}
