// When the pipeline of block_hash_pipeline.hpp does what: worked out by the compiler, for blocks of kStripes stripes.
//
// A turn of the pipeline takes in one batch of eight blocks and gives out another. It has as many slots as a batch has products,
// one product a slot. The time of an operation is counted in slots from the first one of its batch's own turn; it stands in slot
// time mod kSlots, time / kSlots turns later, where other batches have the slots around it.
//
//   even slots   the four vectors of accumulators: a step for each stripe, then the two products of round(0, a … d)
//   odd slots    lanes × prime 2, kLead slots or more before a step adds them
//                levels: merge a, b, c, d, avalanche 1, 2, step input 1, 2; one after the other
//
// A product takes 17 cycles and a slot 2.5. Lanes and levels stand 8 slots or more before what waits for them. Steps of the
// accumulators begin kStepGap slots after each other: with 16 the processor need not look far ahead for something to do; with 8 a
// batch is sooner through, which counts where its turns wait for the chain anyway.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace kvidx::block_hash {

enum class Task : uint8_t { kAccumulators, kLanes, kLevel };

struct Operation {
  Task task = Task::kLanes;
  int index = 0;   // step of the accumulators; stripe of the lanes; level
  int vector = 0;  // of four
  /// Its batch came in so many turns ago; −1 is the next batch, whose first lanes are made ahead.
  int turn = 0;
};

/// `kStepGap`: slots from one step of the accumulators to the next.
template <int kStripes, int kStepGap>
struct Plan {
  static_assert(kStripes >= 2);
  /// Steps of the accumulators: one for each stripe, then the first and the second product of their rounds.
  static constexpr int kFirst = kStripes, kSecond = kStripes + 1, kSteps = kStripes + 2;
  static constexpr int kSlots = 8 * kSteps;
  static constexpr int kLevels = 8;

  std::array<Operation, kSlots> slots = {};
  /// Turns from a batch's own to the one that may read its step inputs.
  size_t depth = 0;

  constexpr Plan() {
    int time = 0;
    for (int step = 0; step < kSteps; ++step) {
      while (taken_[slot_of(time)]) time += 8;
      step_at_[step] = time;
      for (int vector = 0; vector < 4; ++vector)
        put(at(step, vector), {Task::kAccumulators, step, vector, 0});
      time += kStepGap;
    }
    time = 0;
    for (int level = 0; level < kLevels; ++level) {
      time += kLevelGap;
      if (level < 4) time = std::max(time, at(kSecond, level) + kLead);
      while (taken_[slot_of(time)]) ++time;
      put(level_at_[level] = time, {Task::kLevel, level, 0, 0});
    }
    depth = static_cast<size_t>(time / kSlots) + 1;
    place_lanes();
  }

  /// Each value is used after it was made and before the next batch's takes its place; lanes are read in their batch's own turn or
  /// the one before, kLead slots ahead. (What a step's four vectors share is used within the step, and none straddles two turns.)
  constexpr bool holds() const {
    bool ok = true;
    for (int step = 1; step < kSteps; ++step)
      ok = ok && at(step - 1, 3) < at(step, 0) && at(step, 3) < at(step - 1, 0) + kSlots;
    ok = ok && at(kFirst, 3) < level_at_[0] && level_at_[0] < at(kFirst, 0) + kSlots;  // the sum
    for (int vector = 0; vector < 4; ++vector) {
      ok = ok && in_time(at(kSecond, vector), level_at_[vector]);
      for (int stripe = 0; stripe < kStripes; ++stripe) {
        ok = ok && in_time(lanes_at_[stripe][vector] + kLead - 1, at(stripe, vector));
        ok = ok && in_time(lanes_at_[stripe][vector], at(stripe, vector));
        ok = ok && -kSlots <= lanes_at_[stripe][vector] && lanes_at_[stripe][vector] < kSlots;
      }
    }
    for (int level = 1; level < kLevels; ++level) ok = ok && in_time(level_at_[level - 1], level_at_[level]);
    return ok;
  }

 private:
  static constexpr int kLevelGap = 8, kLead = 12;

  static constexpr int slot_of(int time) { return (time % kSlots + kSlots) % kSlots; }
  static constexpr bool in_time(int made, int used) { return made < used && used < made + kSlots; }
  constexpr int at(int step, int vector) const { return step_at_[step] + 2 * vector; }
  /// The slots that are left, in order, for the lanes in the order of their use; shifted so that the longest lead is short.
  constexpr void place_lanes() {
    std::array<int, 4 * kStripes> left = {}, wanted = {};  // slots
    for (int slot = 0, lefts = 0, wants = 0; slot < kSlots; ++slot) {
      if (!taken_[slot]) {
        left[lefts++] = slot;
      } else if (slots[slot].task == Task::kAccumulators && slots[slot].index < kStripes) {
        wanted[wants++] = slot;
      }
    }
    const auto lead = [&](size_t i, size_t shift) {
      return (wanted[i] - left[(i + left.size() - shift) % left.size()] + kSlots) % kSlots;
    };
    size_t best = 0;
    int longest = kSlots;
    for (size_t shift = 0; shift < left.size(); ++shift) {
      int here = 0;
      for (size_t i = 0; i < left.size(); ++i) {
        const int slots_ahead = lead(i, shift);
        here = std::max(here, slots_ahead < kLead ? kSlots : slots_ahead);
      }
      if (here < longest) longest = here, best = shift;
    }
    for (size_t i = 0; i < left.size(); ++i) {
      const Operation user = slots[wanted[i]];
      const int time = user.turn * kSlots + wanted[i] - lead(i, best);
      put(lanes_at_[user.index][user.vector] = time, {Task::kLanes, user.index, user.vector, 0});
    }
  }
  constexpr void put(int time, Operation operation) {
    const int slot = slot_of(time);
    operation.turn = (time - slot) / kSlots;
    slots[slot] = operation;
    taken_[slot] = true;
  }

  bool taken_[kSlots] = {};
  int step_at_[kSteps] = {};
  int level_at_[kLevels] = {};
  int lanes_at_[kStripes][4] = {};
};

}  // namespace kvidx::block_hash
