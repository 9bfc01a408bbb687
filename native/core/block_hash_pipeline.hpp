// Seq hashes of one, two or four prompts with AVX-512, many batches of eight blocks under way.
//
// Idea: the locals of a batch are computed a lane each, up to the part of the chain step that does not wait for the block before;
// what is left to scalar code is the latency of the chain, 19 cycles a block. The vectors' work of later batches stands between
// the steps of the present one, so that it costs next to nothing. A batch takes 14 products one after the other for blocks of 24,
// 17 cycles each, and the chain over it 150: far more instructions than a processor holds back. So the pipeline is made by hand,
// after the Plan; with several prompts a batch holds two blocks of each of four (four of each of two), whose chains do not wait
// for each other.
//
//   slot   [ what its product is made of | product | about a fifth of a chain step of an older batch ]
//
// Each product ends with a barrier to the compiler, whose own order costs 20 %. Why one a slot: a vector product has a cycle of the
// processor's front end for itself, and what stands between two products takes a cycle for every six instructions begun. Whole
// chain steps between a few of them would make the front end the bound.
//
// Costs (bench `hash`; Sapphire Rapids; blocks of 24): one prompt 1.07 times the chain alone on a quiet machine: the difference is
// the clock, which these instructions lower by 6 %. Four prompts: 190 operations of two vector units a batch, some 102 cycles, and
// a clock lower by 14 to 20 %: 0.8 to 0.9 times the chain. The clock is the bound: in an order that takes 116 cycles it is 3.36 GHz, in
// one of 98 it is 2.87, and all take 33 to 35 ns a batch. Code for 2, 3, 4 and 8 stripes and 1, 2 and 4 prompts: 60 KB.
#pragma once

#include <array>
#include <utility>

#include "core/block_hash_plan.hpp"
#include "core/block_hash_vectors.hpp"

namespace kvidx::block_hash::avx512 {
namespace {

/// Nothing that makes or uses the value moves across, as seen from other such places.
KVIDX_KERNEL void pin(Vector& value) {
  asm volatile("" : "+v"(value));
}
template <class Scalar>
inline __attribute__((always_inline)) void pin(Scalar& value) {
  asm volatile("" : "+r"(value));
}

/// Blocks of kStripes stripes, no more and no less, of kPrompts prompts at once.
template <int kStripes, size_t kPrompts>
class Pipeline {
  /// One prompt waits for its chain anyway, and is sooner under way; of more than four stripes the last would be wanted beyond
  /// their batch's turn.
  static constexpr int kStepGap = kPrompts == 1 || kStripes > 4 ? 8 : 16;
  using Steps = Plan<kStripes, kStepGap>;
  static constexpr Steps kPlan{};
  static_assert(kPlan.holds());
  static constexpr size_t kBytes = kStripes * xxh::kStripe;

 public:
  /// Blocks of each prompt in a batch.
  static constexpr size_t kBlocks = kLanes / kPrompts;

  /// Hashes `batches` ≥ 1 batches of each stream.
  static KVIDX_AVX512 __attribute__((noinline)) void hash(Stream* streams, size_t batches) {
    Pipeline pipeline(streams);
    pipeline.run(batches);
    pipeline.give_back(streams, batches * kBlocks, kAllPrompts);
  }

 private:
  static constexpr auto kAllPrompts = std::make_index_sequence<kPrompts>();
  static constexpr auto kAllSlots = std::make_index_sequence<Steps::kSlots>();
  static constexpr auto kAllParts = std::make_index_sequence<kLanes * kStepParts>();

  KVIDX_KERNEL explicit Pipeline(const Stream* streams) { take_streams(streams, kAllPrompts); }
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
    alignas(64) uint64_t inputs[kLanes];
    first_lanes(kAllSlots);
    // Turns beyond the last batch take it again, so that nothing behind it is read.
    const size_t moves = batches - 1;
    size_t turns = 0;
    for (; turns < kPlan.depth; ++turns) turn<false>(inputs, turns < moves ? kBlocks * kBytes : 0, kAllSlots);
    for (; turns < kPlan.depth + batches; ++turns)
      turn<true>(inputs, turns < moves ? kBlocks * kBytes : 0, kAllSlots);
  }

  /// `next`: bytes to the next batch.
  template <bool kChain, size_t... kSlot>
  KVIDX_KERNEL void turn(uint64_t* inputs, size_t next, std::index_sequence<kSlot...>) {
    pin(next);
    (slot<kSlot, kChain>(inputs, next), ...);
    _mm512_store_si512(inputs, level_[Steps::kLevels - 1]);
    pin(next);  // or the compiler keeps the sums all through the turn
    move_on(next, kAllPrompts);
    if constexpr (kChain) done_ += kBlocks;
  }
  template <size_t... kPrompt>
  KVIDX_KERNEL void move_on(size_t next, std::index_sequence<kPrompt...>) {
    // Pinned, or the compiler keeps an address for each of a turn's loads.
    ((tokens_[kPrompt] += next, pin(tokens_[kPrompt])), ...);
  }

  template <size_t kSlot, bool kChain>
  KVIDX_KERNEL void slot(const uint64_t* inputs, size_t next) {
    constexpr Operation kNow = kPlan.slots[kSlot];
    if constexpr (kNow.task == Task::kLanes) {
      lanes<kNow.index, kNow.vector>(kNow.turn < 0 ? next : 0);
    } else if constexpr (kNow.task == Task::kLevel) {
      level<kNow.index>();
    } else if constexpr (kNow.index < kStripes) {
      stripe<kNow.index, kNow.vector>();
    } else if constexpr (kNow.index == Steps::kFirst) {
      first<kNow.vector>();
    } else {
      product(second_[kNow.vector] = _mm512_rol_epi64(first_[kNow.vector], 31), kPrime1);
    }
    if constexpr (kChain) parts<kSlot>(inputs, kAllParts);
  }

  KVIDX_KERNEL static void product(Vector& value, uint64_t prime) {
    value = times(value, prime);
    pin(value);
  }

  // Two blocks each, vector j of four.

  template <int kStripe, int j>
  KVIDX_KERNEL void lanes(size_t offset) {
    constexpr size_t kBlock = 2 * j % kBlocks;  // of its prompt
    const uint8_t* const p = tokens_[j * kPrompts / 4] + offset + kBlock * kBytes + kStripe * xxh::kStripe;
    product(lanes_[kStripe][j] = stripes(p, p + kBytes), kPrime2);
  }
  template <size_t kSlot>
  KVIDX_KERNEL void lanes_of_next() {
    constexpr Operation kNow = kPlan.slots[kSlot];
    if constexpr (kNow.task == Task::kLanes && kNow.turn < 0) lanes<kNow.index, kNow.vector>(0);
  }
  template <size_t... kSlot>
  KVIDX_KERNEL void first_lanes(std::index_sequence<kSlot...>) {
    (lanes_of_next<kSlot>(), ...);
  }

  template <int kStripe, int j>
  KVIDX_KERNEL void stripe() {
    Vector& sum = accumulators_[kStripe][j];
    if constexpr (kStripe == 0) {
      sum = _mm512_add_epi64(start(), lanes_[0][j]);
    } else {
      sum = _mm512_add_epi64(accumulators_[kStripe - 1][j], lanes_[kStripe][j]);
    }
    product(sum = _mm512_rol_epi64(sum, 31), kPrime1);
  }

  // From here on a lane of eight blocks each, in the order of kPlace.

  /// Slot j of the first product of round(0, a … d): a, c, b, d.
  template <int j>
  KVIDX_KERNEL void first() {
    constexpr int kLane = std::array{0, 2, 1, 3}[j], kRotation = std::array{1, 7, 12, 18}[kLane];
    const Vector(&pairs)[4] = accumulators_[kStripes - 1];
    if constexpr (j == 0) halves_ = Halves::of_ac(pairs);
    if constexpr (j == 2) halves_ = Halves::of_bd(pairs);
    Vector& lane = first_[kLane];
    lane = j % 2 == 0 ? halves_.first() : halves_.second();
    const Vector rotated = _mm512_rol_epi64(lane, kRotation);
    sum_ = j == 0 ? rotated : _mm512_add_epi64(sum_, rotated);
    product(lane, kPrime2);
  }

  template <int kLevel>
  KVIDX_KERNEL void level() {
    Vector& v = level_[kLevel];
    const Vector& before = kLevel == 0 ? sum_ : level_[kLevel == 0 ? 0 : kLevel - 1];
    if constexpr (kLevel < 4) {
      product(v = _mm512_xor_si512(before, second_[kLevel]), kPrime1);
      v = _mm512_add_epi64(v, all(kLevel == 3 ? kPrime4 + kBytes : kPrime4));
    }
    if constexpr (kLevel == 4) product(v = folded<33>(before), kPrime2);
    if constexpr (kLevel == 5) product(v = folded<29>(before), kPrime3);
    if constexpr (kLevel == 6) product(v = folded<32>(before), kPrime2);
    if constexpr (kLevel == 7) product(v = _mm512_rol_epi64(before, 31), kPrime1);
  }

  // Chain steps, the prompts in turns.

  template <size_t kSlot, size_t kAt>
  KVIDX_KERNEL void part_if_due(const uint64_t* inputs) {
    if constexpr (kAt * Steps::kSlots / (kLanes * kStepParts) == kSlot) {
      constexpr size_t kStep = kAt / kStepParts, kPart = kAt % kStepParts;
      constexpr size_t kPrompt = kStep % kPrompts, kBlock = kStep / kPrompts;
      uint64_t& seq = seq_[kPrompt];
      seq = part_of_step<kPart>(seq, inputs[kPlace[kPrompt * kBlocks + kBlock]]);
      if constexpr (kPart == kStepParts - 1) out_[kPrompt][done_ + kBlock] = SeqHash{seq};
      pin(seq);
    }
  }
  template <size_t kSlot, size_t... kAt>
  KVIDX_KERNEL void parts(const uint64_t* inputs, std::index_sequence<kAt...>) {
    (part_if_due<kSlot, kAt>(inputs), ...);
  }

  Vector lanes_[kStripes][4] = {}, accumulators_[kStripes][4] = {}, first_[4] = {}, second_[4] = {};
  Vector sum_ = {}, level_[Steps::kLevels] = {};
  Halves halves_ = {};
  const uint8_t* tokens_[kPrompts];
  uint64_t seq_[kPrompts];
  SeqHash* out_[kPrompts];
  size_t done_ = 0;
};

}  // namespace
}  // namespace kvidx::block_hash::avx512
