#include "core/block_hash_kernel.hpp"

#if defined(__x86_64__)
#if !defined(__clang__)
// gcc before 13 takes the vectors that its own header leaves open on purpose for mistakes (gcc.gnu.org/PR105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <utility>

// Idea: eight blocks are a batch. Their locals are computed a lane each, up to the part of the chain step that does not wait for
// the block before; what is left to scalar code is the latency of the chain, 19 cycles a block. The vectors' work of a later
// batch stands between the steps of the present one, so that it costs next to nothing.
//
//   stripe s of a batch: 4 vectors      [ block 0: lanes a b c d | block 1: a b c d ] … [ block 6 | block 7 ]
//   4 accumulators of each, transposed  a [ 0 2 1 3 4 6 5 7 ], b, c, d
//   merged, made local hashes           step inputs [ 0 2 1 3 4 6 5 7 ], stored; the chain takes them one by one
//
// A 64-bit product takes 17 cycles, a batch 24 of them one after the other for blocks of 24, the chain over it 150: far more
// instructions than a processor holds back. So the pipeline is made by hand. A turn has kPhases phases of four slots:
//
//   phase 0            r  = last of two products of round(0, a … d)                    of the batch before
//   phases 1 … S       x  = accumulators of stripe 0 … S − 1, a vector a slot
//   phase S + 1        t  = first of two products of round(0, a … d), after transposing
//   spread over all    lanes × prime 2, 9 slots or more before they are accumulated
//   one a phase        levels: merge a, b, c, d, avalanche 1, 2, step input 1, 2       of the batches before
//   spread over all    eight chain steps                                               of the batch before these
//
// What depends on a product stands a phase later, when it is ready; each slot ends with a barrier to the compiler, whose own
// order costs 20 %. With several prompts a batch holds two blocks of each of four (four of each of two): their chains do not wait
// for each other, and the vectors become the bound.
//
// Costs (bench `hash`; Sapphire Rapids; blocks of 24): one prompt 1.07 times the chain alone on a quiet machine: the difference is
// the clock, which these instructions lower by 6 %. Four prompts: some 200 operations of two vector units a batch, and a clock
// lower by up to 18 %: 0.87 times the chain. With the levels from the avalanche on in scalar code, products of lanes made by
// scalar code, stripes brought together in memory, or the chain's shifts moved to the multiplier, they take longer or as long.
// Code for 2, 3, 4 and 8 stripes and 1, 2 and 4 prompts: 56 KB.

namespace kvidx::block_hash::avx512 {
namespace {

#define KVIDX_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
// State that is not inlined away stays in memory.
#define KVIDX_KERNEL KVIDX_AVX512 inline __attribute__((always_inline))

using Vector = __m512i;
using xxh::kPrime1, xxh::kPrime2, xxh::kPrime3, xxh::kPrime4;

constexpr size_t kLanes = 8;
/// Where block i of a batch is, after transposing.
constexpr size_t kPlace[kLanes] = {0, 2, 1, 3, 4, 6, 5, 7};

/// Nothing that makes or uses the value moves across, as seen from other such places.
KVIDX_KERNEL void pin(Vector& value) {
  asm volatile("" : "+v"(value));
}
inline __attribute__((always_inline)) void pin(uint64_t& value) {
  asm volatile("" : "+r"(value));
}

KVIDX_KERNEL Vector all(uint64_t value) {
  return _mm512_set1_epi64(static_cast<long long>(value));
}
KVIDX_KERNEL Vector times(Vector value, uint64_t prime) {
  return _mm512_mullo_epi64(value, all(prime));
}
KVIDX_KERNEL Vector round(Vector acc, Vector product) {
  return times(_mm512_rol_epi64(_mm512_add_epi64(acc, product), 31), kPrime1);
}
KVIDX_KERNEL Vector round_of_zero(Vector lane) {
  return times(_mm512_rol_epi64(times(lane, kPrime2), 31), kPrime1);
}
KVIDX_KERNEL Vector merge(Vector acc, Vector rounded) {
  return _mm512_add_epi64(times(_mm512_xor_si512(acc, rounded), kPrime1), all(kPrime4));
}
template <unsigned kShift>
KVIDX_KERNEL Vector folded(Vector value) {
  return _mm512_xor_si512(value, _mm512_srli_epi64(value, kShift));
}

/// The accumulators before the first stripe, for two blocks.
KVIDX_KERNEL Vector start() {
  const auto a = static_cast<long long>(kPrime1 + kPrime2), b = static_cast<long long>(kPrime2);
  const auto d = static_cast<long long>(0 - kPrime1);
  return _mm512_setr_epi64(a, b, 0, d, a, b, 0, d);
}

/// One stripe of two blocks.
KVIDX_KERNEL Vector stripes(const uint8_t* one, const uint8_t* other) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(one));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(other));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// A lane of eight blocks each, in the order of kPlace.
struct Transposed {
  Vector a, b, c, d;

  KVIDX_KERNEL explicit Transposed(const Vector (&pairs)[4]) {
    const Vector ac01 = _mm512_unpacklo_epi64(pairs[0], pairs[1]);
    const Vector bd01 = _mm512_unpackhi_epi64(pairs[0], pairs[1]);
    const Vector ac23 = _mm512_unpacklo_epi64(pairs[2], pairs[3]);
    const Vector bd23 = _mm512_unpackhi_epi64(pairs[2], pairs[3]);
    a = _mm512_shuffle_i64x2(ac01, ac23, 0x88);
    b = _mm512_shuffle_i64x2(bd01, bd23, 0x88);
    c = _mm512_shuffle_i64x2(ac01, ac23, 0xDD);
    d = _mm512_shuffle_i64x2(bd01, bd23, 0xDD);
  }

  KVIDX_KERNEL Vector sum() const {
    return _mm512_add_epi64(_mm512_add_epi64(_mm512_rol_epi64(a, 1), _mm512_rol_epi64(b, 7)),
                            _mm512_add_epi64(_mm512_rol_epi64(c, 12), _mm512_rol_epi64(d, 18)));
  }
};

/// Blocks of kStripes stripes, no more and no less, of kPrompts prompts at once.
template <size_t kStripes, size_t kPrompts>
class Pipeline {
  static_assert(kStripes >= 2, "phase 0 would write what the levels have still to read");
  static constexpr size_t kBytes = kStripes * xxh::kStripe;
  static constexpr size_t kPhases = kStripes + 2;
  static constexpr size_t kSlots = 4 * kPhases;
  static constexpr size_t kProducts = 4 * kStripes;
  static constexpr size_t kLevels = 8;
  /// Batches that are between their accumulators and their last level.
  static constexpr size_t kUnderWay = kLevels / kPhases + 1;
  /// Turns from a batch's accumulators to its chain steps.
  static constexpr size_t kDepth = kUnderWay + 1;
  /// Slots by which a product of lanes precedes its use, or more.
  static constexpr size_t kLead = 9;

 public:
  /// Blocks of each prompt in a batch.
  static constexpr size_t kBlocks = kLanes / kPrompts;

  /// Hashes `batches` ≥ 1 batches of each stream.
  static KVIDX_AVX512 __attribute__((noinline)) void hash(Stream* streams, size_t batches) {
    Pipeline pipeline(streams);
    pipeline.run(batches);
    pipeline.give_back(streams, batches * kBlocks, std::make_index_sequence<kPrompts>());
  }

 private:
  KVIDX_KERNEL explicit Pipeline(const Stream* streams) {
    take_streams(streams, std::make_index_sequence<kPrompts>());
  }
  template <size_t... kPrompt>
  KVIDX_KERNEL void take_streams(const Stream* streams, std::index_sequence<kPrompt...>) {
    ((tokens_[kPrompt] = streams[kPrompt].tokens, seq_[kPrompt] = streams[kPrompt].seq,
      out_[kPrompt] = streams[kPrompt].out),
     ...);
  }
  template <size_t... kPrompt>
  KVIDX_KERNEL void give_back(Stream* streams, size_t blocks, std::index_sequence<kPrompt...>) {
    ((streams[kPrompt] = {streams[kPrompt].tokens + blocks * kBytes, streams[kPrompt].blocks - blocks,
                          seq_[kPrompt], streams[kPrompt].out + blocks}),
     ...);
  }

  KVIDX_KERNEL void run(size_t batches) {
    constexpr auto kAllSlots = std::make_index_sequence<kSlots>();
    alignas(64) uint64_t inputs[2][kLanes];
    uint64_t* present = inputs[0];
    uint64_t* later = inputs[1];
    // Turns beyond the last batch take it again, so that nothing behind it is read.
    const size_t last = (batches - 1) * kBlocks * kBytes;
    first_products(std::make_index_sequence<kProducts>());
    for (size_t i = 0; i < kDepth; ++i) {
      move_on(last);
      turn<false>(present, later, kAllSlots);
      std::swap(present, later);
    }
    for (size_t i = 0; i < batches; ++i) {
      move_on(last);
      turn<true>(present, later, kAllSlots);
      std::swap(present, later);
    }
  }

  KVIDX_KERNEL void move_on(size_t last) {
    offset_ = next_offset_;
    next_offset_ = std::min(next_offset_ + kBlocks * kBytes, last);
  }

  template <bool kChain, size_t... kSlot>
  KVIDX_KERNEL void turn(const uint64_t* inputs, uint64_t* later, std::index_sequence<kSlot...>) {
    (slot<kSlot, kChain>(inputs, later), ...);
    if constexpr (kUnderWay > 2) local_[2] = local_[1];
    if constexpr (kUnderWay > 1) local_[1] = local_[0];
    local_[0] = merged_;
    if constexpr (kChain) done_ += kBlocks;
  }

  template <size_t kSlot, bool kChain>
  KVIDX_KERNEL void slot(const uint64_t* inputs, uint64_t* later) {
    constexpr size_t kPhase = kSlot / 4;
    constexpr size_t j = kSlot % 4;
    if constexpr (kPhase == 0) {
      r_[j] = times(_mm512_rol_epi64(t_[j], 31), kPrime1);
      pin(r_[j]);
    } else if constexpr (kPhase <= kStripes) {
      x_[j] = round(kPhase == 1 ? start() : x_[j], product_[4 * (kPhase - 1) + j]);
      pin(x_[j]);
    } else {
      if constexpr (j == 0) {
        const Transposed lanes(x_);
        merged_ = lanes.sum();
        t_[0] = lanes.a;
        t_[1] = lanes.b;
        t_[2] = lanes.c;
        t_[3] = lanes.d;
      }
      t_[j] = times(t_[j], kPrime2);
      pin(t_[j]);
    }
    products<kSlot>(std::make_index_sequence<kProducts>());
    levels<kSlot>(later, std::make_index_sequence<kLevels>());
    if constexpr (kChain) steps<kSlot>(inputs, std::make_index_sequence<kLanes>());
  }

  // Lanes times prime 2: unit u is stripe u / 4 of pair u % 4, used in slot 4 + u. Units are spread evenly, so that the last one
  // has the shortest lead; the first ones are made in the turn before.

  static constexpr size_t spread(size_t unit) { return unit * kSlots / kProducts; }
  static constexpr size_t kShift = spread(kProducts - 1) + kLead - (4 + kProducts - 1);
  static constexpr bool in_turn_before(size_t unit) { return spread(unit) < kShift; }
  static constexpr size_t slot_of_product(size_t unit) { return (spread(unit) + kSlots - kShift) % kSlots; }
  static_assert(kSlots >= kShift + 4, "a product would be made before that of the batch before was used");
  template <size_t kUnit>
  KVIDX_KERNEL void product(size_t offset) {
    constexpr size_t kPair = kUnit % 4;
    constexpr size_t kBlock = 2 * kPair % kBlocks;  // of its prompt
    const uint8_t* const p =
        tokens_[kPair * kPrompts / 4] + offset + kBlock * kBytes + kUnit / 4 * xxh::kStripe;
    product_[kUnit] = times(stripes(p, p + kBytes), kPrime2);
    pin(product_[kUnit]);
  }
  template <size_t kSlot, size_t kUnit>
  KVIDX_KERNEL void product_if_due() {
    if constexpr (slot_of_product(kUnit) == kSlot) {
      product<kUnit>(in_turn_before(kUnit) ? next_offset_ : offset_);
    }
  }
  template <size_t kSlot, size_t... kUnit>
  KVIDX_KERNEL void products(std::index_sequence<kUnit...>) {
    (product_if_due<kSlot, kUnit>(), ...);
  }
  template <size_t kUnit>
  KVIDX_KERNEL void first_product() {
    if constexpr (in_turn_before(kUnit)) product<kUnit>(0);
  }
  template <size_t... kUnit>
  KVIDX_KERNEL void first_products(std::index_sequence<kUnit...>) {
    (first_product<kUnit>(), ...);
  }

  // Levels: in the second slot of each phase from the second of a turn on.

  template <size_t kLevel>
  KVIDX_KERNEL void level(uint64_t* later) {
    Vector& v = local_[(kLevel + 1) / kPhases];
    if constexpr (kLevel < 4) v = merge(v, r_[kLevel]);
    if constexpr (kLevel == 3) v = _mm512_add_epi64(v, all(kBytes));
    if constexpr (kLevel == 4) v = times(folded<33>(v), kPrime2);
    if constexpr (kLevel == 5) v = times(folded<29>(v), kPrime3);
    if constexpr (kLevel == 6) v = times(folded<32>(v), kPrime2);
    if constexpr (kLevel == 7) v = times(_mm512_rol_epi64(v, 31), kPrime1);
    pin(v);
    if constexpr (kLevel == 7) _mm512_store_si512(later, v);
  }
  template <size_t kSlot, size_t kLevel>
  KVIDX_KERNEL void level_if_due(uint64_t* later) {
    if constexpr ((4 * (kLevel + 1) + 1) % kSlots == kSlot) level<kLevel>(later);
  }
  template <size_t kSlot, size_t... kLevel>
  KVIDX_KERNEL void levels(uint64_t* later, std::index_sequence<kLevel...>) {
    (level_if_due<kSlot, kLevel>(later), ...);
  }

  // Chain steps, the prompts in turns.

  template <size_t kSlot, size_t kStep>
  KVIDX_KERNEL void step_if_due(const uint64_t* inputs) {
    if constexpr (kStep * kSlots / kLanes == kSlot) {
      constexpr size_t kPrompt = kStep % kPrompts, kBlock = kStep / kPrompts;
      uint64_t& seq = seq_[kPrompt];
      seq = step(seq, inputs[kPlace[kPrompt * kBlocks + kBlock]]);
      out_[kPrompt][done_ + kBlock] = SeqHash{seq};
      pin(seq);
    }
  }
  template <size_t kSlot, size_t... kStep>
  KVIDX_KERNEL void steps(const uint64_t* inputs, std::index_sequence<kStep...>) {
    (step_if_due<kSlot, kStep>(inputs), ...);
  }

  Vector product_[kProducts] = {}, x_[4] = {}, t_[4] = {}, r_[4] = {}, merged_ = {}, local_[kUnderWay] = {};
  const uint8_t* tokens_[kPrompts];
  size_t offset_ = 0, next_offset_ = 0;
  uint64_t seq_[kPrompts];
  SeqHash* out_[kPrompts];
  size_t done_ = 0;
};

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
  const Transposed lanes(pairs);
  Vector v = lanes.sum();
  for (const Vector lane : {lanes.a, lanes.b, lanes.c, lanes.d}) v = merge(v, round_of_zero(lane));
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
