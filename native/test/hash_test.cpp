// Hashing without Node: pinned values of scheme xxh64-v1, and buffers of exact size for the sanitizers.
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/block_hash.hpp"
#include "core/xxh64.hpp"
#include "test/check.hpp"

namespace {

using namespace kvidx;

uint64_t hash_text(std::string_view text) {
  return xxh64(reinterpret_cast<const uint8_t*>(text.data()), text.size(), 0);
}

std::vector<Token> tokens_1_to(Token last) {
  std::vector<Token> tokens(last);
  std::iota(tokens.begin(), tokens.end(), Token{1});
  return tokens;
}

void xxh64_published_values() {
  CHECK(hash_text("") == 0xef46db3751d8e999);
  CHECK(hash_text("a") == 0xd24ec4f1a98c6e5b);
  CHECK(hash_text("abc") == 0x44bc2cf5ad770999);
}

void eight_bytes_take_the_short_way() {
  const uint64_t lane = 0x0123456789abcdef;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    CHECK(xxh64_u64(lane, seed) == xxh64(reinterpret_cast<const uint8_t*>(&lane), sizeof lane, seed));
  }
}

void golden_blocks() {
  const std::vector<Token> tokens = tokens_1_to(48);
  std::vector<LocalHash> locals(2);
  std::vector<SeqHash> seqs(2);
  local_hashes(tokens, 24, {}, locals);
  CHECK(raw(locals[0]) == 17958934985767778508u && raw(locals[1]) == 12819842736804754342u);
  seq_hashes(tokens, 24, SeqHash{}, {}, seqs);
  CHECK(raw(seqs[0]) == 2170110490236357804u && raw(seqs[1]) == 3924955111797759520u);

  const std::vector<uint32_t> blocks{1, 1};
  const std::vector<uint64_t> keys{7, 42};
  seq_hashes(tokens, 24, SeqHash{}, {blocks, keys}, seqs);
  CHECK(raw(seqs[0]) == 2170110490236357804u && raw(seqs[1]) == 6442601979368166297u);
}

void chaining_locals_is_hashing_tokens() {
  for (size_t block_size = 1; block_size <= 70; ++block_size) {
    const std::vector<Token> tokens = tokens_1_to(static_cast<Token>(block_size * 3 + block_size / 2));
    std::vector<LocalHash> locals(tokens.size() / block_size);
    std::vector<SeqHash> seqs(locals.size()), chained(locals.size());
    local_hashes(tokens, block_size, {}, locals);
    seq_hashes(tokens, block_size, SeqHash{9}, {}, seqs);
    chain_hashes(locals, SeqHash{9}, chained);
    CHECK(seqs == chained);
  }
}

void keys_of_other_blocks_are_ignored() {
  const std::vector<Token> tokens = tokens_1_to(50);
  const std::vector<uint32_t> blocks{2, 7};
  const std::vector<uint64_t> keys{1, 2};
  std::vector<SeqHash> plain(2), keyed(2);
  seq_hashes(tokens, 24, SeqHash{}, {}, plain);
  seq_hashes(tokens, 24, SeqHash{}, {blocks, keys}, keyed);
  CHECK(plain == keyed);
}

}  // namespace

int main() {
  xxh64_published_values();
  eight_bytes_take_the_short_way();
  golden_blocks();
  chaining_locals_is_hashing_tokens();
  keys_of_other_blocks_are_ignored();
}
