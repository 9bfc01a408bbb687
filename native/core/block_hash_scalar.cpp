#include "core/block_hash_kernel.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <utility>

// Idea: the processor multiplies 64 bits once a cycle, and blocks of 24 need 43 products each. SSE2, which every x86-64 has,
// does not multiply 64 bits, but makes the 12 products of the tokens from those of 32 in units that else do nothing.
//
//   block i + 2   tokens ──(SSE2)──> products, in memory
//   block i + 1                      products ──> four accumulators
//   block i                                       accumulators ──> merged ──> local ──> chain step
//
// The three stages of three blocks stand finely mixed. One after the other, instructions that wait for the merging of a block
// would fill the scheduler before those of the next blocks are in it.
//
// Costs (bench `hash`; Sapphire Rapids; blocks of 24, ns a block): 9.5, of which the chain's latency 5.3; without SSE2 12.1, with
// SSE2 but not mixed 12.8, mixed without SSE2 12.0.

namespace kvidx::block_hash::scalar {
namespace {

uint64_t local_of(const uint8_t* tokens, size_t block_bytes) {
  return xxh64(tokens, block_bytes, 0);
}

/// Either the chain of seq hashes or the locals alone.
struct Chain {
  uint64_t seq;
  SeqHash* out;
  void put(size_t i, uint64_t local) { out[i] = SeqHash{seq = step(seq, step_input(local))}; }
};
struct Locals {
  LocalHash* out;
  void put(size_t i, uint64_t local) { out[i] = LocalHash{local}; }
};

#if defined(__x86_64__)
/// Nothing that touches memory moves across.
inline __attribute__((always_inline)) void keep_order() {
  asm volatile("" ::: "memory");
}

/// `to[0, 1]` = the two lanes at `p`, times kPrime2.
inline __attribute__((always_inline)) void multiply_pair(const uint8_t* p, uint64_t* to) {
  const __m128i low = _mm_set1_epi64x(static_cast<int64_t>(xxh::kPrime2 & UINT32_MAX));
  const __m128i high = _mm_set1_epi64x(static_cast<int64_t>(xxh::kPrime2 >> 32));
  const __m128i lanes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i upper = _mm_shuffle_epi32(lanes, 0xF5);
  const __m128i cross = _mm_add_epi64(_mm_mul_epu32(lanes, high), _mm_mul_epu32(upper, low));
  const __m128i product = _mm_add_epi64(_mm_mul_epu32(lanes, low), _mm_slli_epi64(cross, 32));
  _mm_store_si128(reinterpret_cast<__m128i*>(to), product);
}

// As calls, or with the accumulators in memory, the stages would not mix.
#define KVIDX_INLINE inline __attribute__((always_inline))

template <size_t kStripes>
class Pipeline {
  static constexpr size_t kBytes = kStripes * xxh::kStripe;
  static constexpr size_t kPairs = 2 * kStripes;
  /// Steps from accumulators to a local hash; the other stages are spread over them.
  static constexpr size_t kSteps = 6;

 public:
  /// Answers how many blocks were hashed: all but the last two or three, so far does it look ahead.
  template <class Sink>
  static size_t hash(const uint8_t* tokens, size_t blocks, Sink& sink) {
    if (blocks < 4) return 0;
    alignas(16) uint64_t even[4 * kStripes], odd[4 * kStripes];
    multiply<0, kPairs>(tokens, even);
    keep_order();
    Accumulators acc = accumulated<0, kStripes>({}, even);
    multiply<0, kPairs>(tokens + kBytes, odd);
    keep_order();
    size_t i = 0;
    for (; i + 4 <= blocks; i += 2, tokens += 2 * kBytes) {
      sink.put(i, turn(acc, tokens + 2 * kBytes, even, odd));
      keep_order();
      sink.put(i + 1, turn(acc, tokens + 3 * kBytes, odd, even));
      keep_order();
    }
    return i;
  }

 private:
  struct Accumulators {
    uint64_t a, b, c, d;
  };

  template <size_t kPair, size_t kEnd>
  static KVIDX_INLINE void multiply(const uint8_t* tokens, uint64_t* products) {
    if constexpr (kPair < kEnd) {
      multiply_pair(tokens + 16 * kPair, products + 2 * kPair);
      multiply<kPair + 1, kEnd>(tokens, products);
    }
  }

  static KVIDX_INLINE uint64_t accumulated(uint64_t acc, uint64_t product) {
    return std::rotl(acc + product, 31) * xxh::kPrime1;
  }

  template <size_t kStripe, size_t kEnd>
  static KVIDX_INLINE Accumulators accumulated(Accumulators acc, const uint64_t* products) {
    if constexpr (kStripe >= kEnd) {
      return acc;
    } else {
      if constexpr (kStripe == 0) acc = {xxh::kPrime1 + xxh::kPrime2, xxh::kPrime2, 0, 0 - xxh::kPrime1};
      const uint64_t* const p = products + 4 * kStripe;
      acc = {accumulated(acc.a, p[0]), accumulated(acc.b, p[1]), accumulated(acc.c, p[2]),
             accumulated(acc.d, p[3])};
      return accumulated<kStripe + 1, kEnd>(acc, products);
    }
  }

  /// Stripes that are accumulated before step `step`.
  static constexpr size_t stripes_before(size_t step) {
    if (step == 0) return 0;
    return step == kSteps ? kStripes : (step * kStripes + kStripes - 1) / kSteps;
  }

  /// One block: its local hash, given its accumulators. Meanwhile the block after next is multiplied, and the next accumulated.
  static KVIDX_INLINE uint64_t turn(Accumulators& accumulators, const uint8_t* after_next,
                                    uint64_t* its_products, const uint64_t* next_products) {
    using namespace xxh;
    const auto [a, b, c, d] = accumulators;
    Accumulators next{};
    uint64_t acc = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    const uint64_t ra = round(0, a), rb = round(0, b), rc = round(0, c), rd = round(0, d);
    others<0>(next, after_next, its_products, next_products);
    acc = (acc ^ ra) * kPrime1 + kPrime4;
    others<1>(next, after_next, its_products, next_products);
    acc = (acc ^ rb) * kPrime1 + kPrime4;
    others<2>(next, after_next, its_products, next_products);
    acc = (acc ^ rc) * kPrime1 + kPrime4;
    others<3>(next, after_next, its_products, next_products);
    acc = (acc ^ rd) * kPrime1 + kPrime4 + kBytes;
    others<4>(next, after_next, its_products, next_products);
    acc = (acc ^ (acc >> 33)) * kPrime2;
    others<5>(next, after_next, its_products, next_products);
    acc = (acc ^ (acc >> 29)) * kPrime3;
    accumulators = next;
    return acc ^ (acc >> 32);
  }

  template <size_t kStep>
  static KVIDX_INLINE void others(Accumulators& next, const uint8_t* after_next, uint64_t* its_products,
                                  const uint64_t* next_products) {
    multiply<kStep * kPairs / kSteps, (kStep + 1) * kPairs / kSteps>(after_next, its_products);
    keep_order();
    next = accumulated<stripes_before(kStep), stripes_before(kStep + 1)>(next, next_products);
  }
};
#endif

template <class Sink>
void hash(const uint8_t* tokens, size_t block_bytes, size_t blocks, Sink& sink) {
  size_t i = 0;
#if defined(__x86_64__)
  // Of 16, 24, 32 and 64 tokens.
  if (block_bytes == 64) i = Pipeline<2>::hash(tokens, blocks, sink);
  if (block_bytes == 96) i = Pipeline<3>::hash(tokens, blocks, sink);
  if (block_bytes == 128) i = Pipeline<4>::hash(tokens, blocks, sink);
  if (block_bytes == 256) i = Pipeline<8>::hash(tokens, blocks, sink);
#endif
  for (; i < blocks; ++i) sink.put(i, local_of(tokens + i * block_bytes, block_bytes));
}

}  // namespace

void locals(const uint8_t* tokens, size_t block_bytes, size_t blocks, LocalHash* out) {
  Locals sink{out};
  hash(tokens, block_bytes, blocks, sink);
}

void seqs(Stream& stream, size_t block_bytes) {
  Chain sink{stream.seq, stream.out};
  hash(stream.tokens, block_bytes, stream.blocks, sink);
  stream = {stream.tokens + stream.blocks * block_bytes, 0, sink.seq, stream.out + stream.blocks};
}

/// One by one: with one chain in flight the multiplications are the bound already.
void seqs_of_many(std::span<Stream> streams, size_t block_bytes) {
  for (Stream& stream : streams) seqs(stream, block_bytes);
}

}  // namespace kvidx::block_hash::scalar
