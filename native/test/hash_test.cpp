// Hashing without Node: pinned values of scheme xxh64-v1, and buffers of exact size for the sanitizers.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "core/block_hash.hpp"
#include "core/xxh64.hpp"
#include "test/check.hpp"
#include "test/dice.hpp"

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

/// What the scheme says, block by block.
std::vector<SeqHash> plain_seqs(std::span<const Token> tokens, size_t block_size, SeqHash parent) {
  std::vector<SeqHash> seqs(tokens.size() / block_size);
  uint64_t seq = raw(parent);
  for (size_t i = 0; i < seqs.size(); ++i) {
    const auto* block = reinterpret_cast<const uint8_t*>(tokens.data() + i * block_size);
    const uint64_t local = xxh64(block, block_size * sizeof(Token), 0);
    seqs[i] = SeqHash{seq = xxh64(reinterpret_cast<const uint8_t*>(&local), sizeof local, seq)};
  }
  return seqs;
}

std::vector<Token> random_tokens(Dice& dice, size_t count) {
  std::vector<Token> tokens(count);
  for (Token& token : tokens) token = static_cast<Token>(dice.u64());
  tokens.shrink_to_fit();
  return tokens;
}

void every_kernel_hashes_alike() {
  Dice dice(5);
  for (const HashKernel& kernel : hash_kernels()) {
    for (size_t block_size = 1; block_size <= 130; ++block_size) {
      const size_t count = dice.one_in(2) ? dice.below(70) : dice.below(12);
      const std::vector<Token> tokens = random_tokens(dice, count * block_size + dice.below(block_size));
      const SeqHash parent{dice.u64()};
      const std::vector<SeqHash> expected = plain_seqs(tokens, block_size, parent);
      std::vector<LocalHash> locals(count);
      std::vector<SeqHash> seqs(count), chained(count);
      local_hashes(tokens, block_size, {}, locals, kernel);
      seq_hashes(tokens, block_size, parent, {}, seqs, kernel);
      chain_hashes(locals, parent, chained);
      CHECK(seqs == expected && chained == expected);
    }
  }
}

void many_prompts_are_hashed_as_each_alone() {
  Dice dice(6);
  for (const HashKernel& kernel : hash_kernels()) {
    for (size_t round = 0; round < 400; ++round) {
      const size_t block_size = dice.one_of({size_t{16}, size_t{24}, size_t{32}, size_t{64}, size_t{9}});
      const size_t longest = dice.one_of({size_t{4}, size_t{40}, size_t{150}});
      std::vector<std::vector<Token>> tokens(dice.below(12));
      std::vector<std::vector<SeqHash>> outs(tokens.size());
      std::vector<Prompt> prompts(tokens.size());
      const std::vector<uint32_t> blocks{2};
      const std::vector<uint64_t> keys{dice.u64()};
      for (size_t i = 0; i < tokens.size(); ++i) {
        const size_t count = dice.below(longest);
        tokens[i] = random_tokens(dice, count * block_size + dice.below(block_size));
        outs[i].resize(count);
        prompts[i] = {tokens[i], SeqHash{dice.u64()}, {}, outs[i]};
        if (dice.one_in(5)) prompts[i].extra = {blocks, keys};
      }
      seq_hashes_of_many(prompts, block_size, kernel);
      for (const Prompt& prompt : prompts) {
        std::vector<SeqHash> alone(prompt.out.size());
        seq_hashes(prompt.tokens, block_size, prompt.parent, prompt.extra, alone, hash_kernels().front());
        CHECK(std::equal(alone.begin(), alone.end(), prompt.out.begin(), prompt.out.end()));
      }
    }
  }
}

}  // namespace

int main() {
  xxh64_published_values();
  eight_bytes_take_the_short_way();
  golden_blocks();
  chaining_locals_is_hashing_tokens();
  keys_of_other_blocks_are_ignored();
  every_kernel_hashes_alike();
  many_prompts_are_hashed_as_each_alone();
}
