// Hashing with AVX-512: blocks of 16, 24, 32 and 64 tokens by the pipeline, those of other lengths a batch after the other.
#include "core/block_hash_kernel.hpp"

#if defined(__x86_64__)
#if !defined(__clang__)
// gcc before 13 takes the vectors that its own header leaves open on purpose for mistakes (gcc.gnu.org/PR105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <algorithm>

#include "core/block_hash_pipeline.hpp"

namespace kvidx::block_hash::avx512 {
namespace {

KVIDX_KERNEL Vector round(Vector acc, Vector product) {
  return times(_mm512_rol_epi64(_mm512_add_epi64(acc, product), 31), kPrime1);
}
KVIDX_KERNEL Vector round_of_zero(Vector lane) {
  return times(_mm512_rol_epi64(times(lane, kPrime2), 31), kPrime1);
}
KVIDX_KERNEL Vector merge(Vector acc, Vector rounded) {
  return _mm512_add_epi64(times(_mm512_xor_si512(acc, rounded), kPrime1), all(kPrime4));
}

/// Local hashes of eight blocks of any length from a stripe on, in the order of kPlace.
KVIDX_AVX512 inline Vector locals_of_batch(const uint8_t* tokens, size_t block_bytes) {
  Vector pairs[4] = {start(), start(), start(), start()};
  size_t at = 0;
  for (; at + xxh::kStripe <= block_bytes; at += xxh::kStripe) {
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t* const p = tokens + 2 * j * block_bytes + at;
      pairs[j] = round(pairs[j], times(stripes(p, p + block_bytes), kPrime2));
    }
  }
  const Halves ac = Halves::of_ac(pairs), bd = Halves::of_bd(pairs);
  const Vector a = ac.first(), b = bd.first(), c = ac.second(), d = bd.second();
  Vector v = _mm512_add_epi64(_mm512_add_epi64(_mm512_rol_epi64(a, 1), _mm512_rol_epi64(b, 7)),
                              _mm512_add_epi64(_mm512_rol_epi64(c, 12), _mm512_rol_epi64(d, 18)));
  for (const Vector lane : {a, b, c, d}) v = merge(v, round_of_zero(lane));
  v = _mm512_add_epi64(v, all(block_bytes));

  const auto bytes = static_cast<long long>(block_bytes);
  const Vector offsets =
      _mm512_setr_epi64(0, 2 * bytes, bytes, 3 * bytes, 4 * bytes, 6 * bytes, 5 * bytes, 7 * bytes);
  for (; at + 8 <= block_bytes; at += 8) {
    const Vector lane = round_of_zero(_mm512_i64gather_epi64(offsets, tokens + at, 1));
    v = _mm512_add_epi64(times(_mm512_rol_epi64(_mm512_xor_si512(v, lane), 27), kPrime1), all(kPrime4));
  }
  if (at < block_bytes) {
    const Vector last = _mm512_cvtepu32_epi64(_mm512_i64gather_epi32(offsets, tokens + at, 1));
    v = _mm512_rol_epi64(_mm512_xor_si512(v, times(last, kPrime1)), 23);
    v = _mm512_add_epi64(times(v, kPrime2), all(kPrime3));
  }
  return folded<32>(times(folded<29>(times(folded<33>(v), kPrime2)), kPrime3));
}

/// Blocks of any length: the next batch's locals, then the chain over the present one.
KVIDX_AVX512 void hash_any(Stream& stream, size_t block_bytes) {
  if (block_bytes < xxh::kStripe) return;
  alignas(64) uint64_t inputs[2][kLanes];
  const size_t batches = stream.blocks / kLanes;
  for (size_t i = 0; i <= batches; ++i) {
    if (i < batches) {
      const Vector locals = locals_of_batch(stream.tokens + i * kLanes * block_bytes, block_bytes);
      _mm512_store_si512(inputs[i % 2], round_of_zero(locals));
    }
    if (i == 0) continue;
    for (const size_t place : kPlace)
      *stream.out++ = SeqHash{stream.seq = step(stream.seq, inputs[(i - 1) % 2][place])};
  }
  stream.tokens += batches * kLanes * block_bytes;
  stream.blocks -= batches * kLanes;
}

/// With fewer blocks the scalar code is through before a pipeline is full.
constexpr size_t kPipelineBlocks = 24;

template <size_t kStripes>
void hash_long(Stream& stream) {
  using Kernel = Pipeline<kStripes, 1>;
  if (stream.blocks >= kPipelineBlocks) Kernel::hash(&stream, stream.blocks / Kernel::kBlocks);
}

/// Hashes streams, longest first, kPrompts at a time as far as they go; answers those that are left over.
template <size_t kStripes, size_t kPrompts>
std::span<Stream> hash_abreast(std::span<Stream> streams) {
  using Kernel = Pipeline<kStripes, kPrompts>;
  while (streams.size() >= kPrompts) {
    // The first ones are under way. One that comes to its end makes room for the longest of the others.
    const std::span<Stream> present = streams.first(kPrompts);
    const auto shortest = std::min_element(
        present.begin(), present.end(), [](const Stream& a, const Stream& b) { return a.blocks < b.blocks; });
    if (shortest->blocks < kPipelineBlocks / kPrompts) {
      std::swap(*shortest, streams[0]);
      streams = streams.subspan(1);
    } else {
      Kernel::hash(streams.data(), shortest->blocks / Kernel::kBlocks);
    }
  }
  return streams;
}

template <size_t kStripes>
void hash_many(std::span<Stream> streams) {
  std::sort(streams.begin(), streams.end(),
            [](const Stream& a, const Stream& b) { return a.blocks > b.blocks; });
  hash_abreast<kStripes, 2>(hash_abreast<kStripes, 4>(streams));
}

}  // namespace

KVIDX_AVX512 void locals(const uint8_t* tokens, size_t block_bytes, size_t blocks, LocalHash* out) {
  size_t i = 0;
  if (block_bytes >= xxh::kStripe) {
    const Vector natural = _mm512_setr_epi64(0, 2, 1, 3, 4, 6, 5, 7);
    for (; i + kLanes <= blocks; i += kLanes) {
      const Vector batch = locals_of_batch(tokens + i * block_bytes, block_bytes);
      _mm512_storeu_si512(out + i, _mm512_permutexvar_epi64(natural, batch));
    }
  }
  scalar::locals(tokens + i * block_bytes, block_bytes, blocks - i, out + i);
}

void seqs(Stream& stream, size_t block_bytes) {
  switch (block_bytes) {
    case 64:
      hash_long<2>(stream);
      break;
    case 96:
      hash_long<3>(stream);
      break;
    case 128:
      hash_long<4>(stream);
      break;
    case 256:
      hash_long<8>(stream);
      break;
    default:
      hash_any(stream, block_bytes);
  }
  scalar::seqs(stream, block_bytes);
}

void seqs_of_many(std::span<Stream> streams, size_t block_bytes) {
  switch (block_bytes) {
    case 64:
      hash_many<2>(streams);
      break;
    case 96:
      hash_many<3>(streams);
      break;
    case 128:
      hash_many<4>(streams);
      break;
    case 256:
      hash_many<8>(streams);
      break;
  }
  for (Stream& stream : streams) seqs(stream, block_bytes);
}

}  // namespace kvidx::block_hash::avx512
#endif
