#include "core/block_hash.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/block_hash_kernel.hpp"
#include "core/isa.hpp"
#include "core/xxh64.hpp"

namespace kvidx {
namespace {

using block_hash::Stream;

constexpr HashKernel kKernels[] = {
    {"scalar", block_hash::scalar::locals, block_hash::scalar::seqs, block_hash::scalar::seqs_of_many},
#if defined(__x86_64__)
    {"avx512", block_hash::avx512::locals, block_hash::avx512::seqs, block_hash::avx512::seqs_of_many},
#endif
};

const uint8_t* bytes_of(std::span<const Token> tokens) {
  return reinterpret_cast<const uint8_t*>(tokens.data());
}

/// Blocks in order: `plain(first, count)` for those without extra keys, `keyed(i, local_i)` for each that has some.
template <class Plain, class Keyed>
void split(std::span<const Token> tokens, size_t block_size, ExtraKeys extra, Plain plain, Keyed keyed) {
  const size_t bytes = block_size * sizeof(Token);
  const size_t blocks = tokens.size() / block_size;
  size_t next = 0;  // block
  size_t key = 0;   // in extra
  std::vector<uint8_t> joined;
  while (next < blocks) {
    while (key < extra.blocks.size() && extra.blocks[key] < next) ++key;
    const size_t plain_end =
        key < extra.blocks.size() && extra.blocks[key] < blocks ? extra.blocks[key] : blocks;
    if (next < plain_end) plain(next, plain_end - next);
    next = plain_end;
    if (next == blocks) return;

    const uint8_t* const p = bytes_of(tokens) + next * bytes;
    joined.assign(p, p + bytes);
    for (; key < extra.blocks.size() && extra.blocks[key] == next; ++key) {
      const auto* k = reinterpret_cast<const uint8_t*>(&extra.keys[key]);
      joined.insert(joined.end(), k, k + sizeof(uint64_t));
    }
    keyed(next, xxh64(joined.data(), joined.size(), 0));
    ++next;
  }
}

}  // namespace

std::span<const HashKernel> hash_kernels() {
  return std::span(kKernels).first(isa() == Isa::kAvx512 ? std::size(kKernels) : 1);
}

void local_hashes(std::span<const Token> tokens, size_t block_size, ExtraKeys extra, std::span<LocalHash> out,
                  const HashKernel& kernel) {
  const size_t bytes = block_size * sizeof(Token);
  split(
      tokens, block_size, extra,
      [&](size_t first, size_t count) {
        kernel.locals(bytes_of(tokens) + first * bytes, bytes, count, &out[first]);
      },
      [&](size_t i, uint64_t local) { out[i] = LocalHash{local}; });
}

void seq_hashes(std::span<const Token> tokens, size_t block_size, SeqHash parent, ExtraKeys extra,
                std::span<SeqHash> out, const HashKernel& kernel) {
  const size_t bytes = block_size * sizeof(Token);
  uint64_t seq = raw(parent);
  split(
      tokens, block_size, extra,
      [&](size_t first, size_t count) {
        Stream stream{bytes_of(tokens) + first * bytes, count, seq, &out[first]};
        kernel.seqs(stream, bytes);
        seq = stream.seq;
      },
      [&](size_t i, uint64_t local) { out[i] = SeqHash{seq = xxh64_u64(local, seq)}; });
}

void seq_hashes_of_many(std::span<const Prompt> prompts, size_t block_size, const HashKernel& kernel) {
  std::vector<Stream> streams;
  streams.reserve(prompts.size());
  for (const auto& [tokens, parent, extra, out] : prompts) {
    if (extra.blocks.empty() && !out.empty()) {
      streams.push_back({bytes_of(tokens), out.size(), raw(parent), out.data()});
    }
  }
  kernel.seqs_of_many(streams, block_size * sizeof(Token));
  for (const auto& [tokens, parent, extra, out] : prompts) {
    if (!extra.blocks.empty()) seq_hashes(tokens, block_size, parent, extra, out, kernel);
  }
}

void chain_hashes(std::span<const LocalHash> locals, SeqHash parent, std::span<SeqHash> out) {
  uint64_t seq = raw(parent);
  for (size_t i = 0; i < locals.size(); ++i) out[i] = SeqHash{seq = xxh64_u64(raw(locals[i]), seq)};
}

}  // namespace kvidx
