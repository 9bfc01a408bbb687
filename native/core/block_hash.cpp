#include "core/block_hash.hpp"

#include <vector>

#include "core/xxh64.hpp"

namespace kvidx {
namespace {

/// Calls `sink(i, local_i)` for each full block, in order.
template <class Sink>
void each_local(std::span<const Token> tokens, size_t block_size, ExtraKeys extra, Sink sink) {
  const size_t bytes = block_size * sizeof(Token);
  const size_t blocks = tokens.size() / block_size;
  const auto* p = reinterpret_cast<const uint8_t*>(tokens.data());
  size_t next = 0;  // block
  size_t key = 0;   // in extra
  std::vector<uint8_t> joined;
  while (next < blocks) {
    while (key < extra.blocks.size() && extra.blocks[key] < next) ++key;
    const size_t plain_end =
        key < extra.blocks.size() && extra.blocks[key] < blocks ? extra.blocks[key] : blocks;
    for (; next < plain_end; ++next, p += bytes) sink(next, xxh64(p, bytes, 0));
    if (next == blocks) return;

    joined.assign(p, p + bytes);
    for (; key < extra.blocks.size() && extra.blocks[key] == next; ++key) {
      const auto* k = reinterpret_cast<const uint8_t*>(&extra.keys[key]);
      joined.insert(joined.end(), k, k + sizeof(uint64_t));
    }
    sink(next, xxh64(joined.data(), joined.size(), 0));
    ++next;
    p += bytes;
  }
}

}  // namespace

void local_hashes(std::span<const Token> tokens, size_t block_size, ExtraKeys extra,
                  std::span<LocalHash> out) {
  each_local(tokens, block_size, extra, [&](size_t i, uint64_t local) { out[i] = LocalHash{local}; });
}

void seq_hashes(std::span<const Token> tokens, size_t block_size, SeqHash parent, ExtraKeys extra,
                std::span<SeqHash> out) {
  uint64_t seq = raw(parent);
  each_local(tokens, block_size, extra, [&](size_t i, uint64_t local) {
    seq = xxh64_u64(local, seq);
    out[i] = SeqHash{seq};
  });
}

void chain_hashes(std::span<const LocalHash> locals, SeqHash parent, std::span<SeqHash> out) {
  uint64_t seq = raw(parent);
  for (size_t i = 0; i < locals.size(); ++i) out[i] = SeqHash{seq = xxh64_u64(raw(locals[i]), seq)};
}

}  // namespace kvidx
