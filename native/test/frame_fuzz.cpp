// frame_fuzz [--seed N] [--inputs N]
//
// Reads sketch frames, sound, damaged and made up, and compares what the core says with its twin. What is accepted is held to
// the rules and used: a filter is built from it and asked. Input k of seed N is input 0 of seed N + k. A difference ends the
// program with status 1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "check.hpp"
#include "core/bloom.hpp"
#include "test/frame_forge.hpp"
#include "test/frame_twin.hpp"

using namespace kvidx;

namespace {

constexpr uint32_t kMostBlocks = 70;
constexpr size_t kFaults = static_cast<size_t>(FrameFault::kChecksum) + 1;
constexpr const char* kFaultNames[kFaults] = {"ok",    "truncated", "magic",     "version",   "kind",
                                              "flags", "number",    "targetFpp", "blockSize", "z",
                                              "name",  "delta",     "tooLong",   "checksum"};

std::vector<uint8_t> input(Dice& dice) {
  if (dice.one_in(20)) {
    std::vector<uint8_t> bytes = random_bytes(dice.u64(), dice.below(200));
    constexpr uint8_t kStart[] = {'K', 'V', 'S', 'K', 1, 2, 0, 0};
    if (dice.one_in(2)) std::copy_n(kStart, std::min(bytes.size(), sizeof kStart), bytes.begin());
    return bytes;
  }
  std::vector<uint8_t> frame = sound_frame(dice, kMostBlocks);
  if (dice.one_in(10)) return frame;
  for (size_t n = dice.between(1, 3); n > 0; --n) damage(frame, dice);
  if (dice.one_in(2)) mend_checksum(frame);
  return frame;
}

bool same(const SketchFrame& a, const SketchFrame& b) {
  const auto same_range = [](FrameRange x, FrameRange y) { return x.begin == y.begin && x.end == y.end; };
  return a.kind == b.kind && a.epoch == b.epoch && a.sequence == b.sequence &&
         a.timestamp_ms == b.timestamp_ms && a.keys == b.keys &&
         std::memcmp(&a.target_fpp, &b.target_fpp, sizeof a.target_fpp) == 0 && a.scheme == b.scheme &&
         a.block_size == b.block_size && a.z == b.z && same_range(a.worker, b.worker) &&
         same_range(a.session, b.session) && same_range(a.payload, b.payload);
}

/// Reads what the frame says, byte by byte to its end, into a filter, and asks that.
void use(std::span<const uint8_t> bytes, const SketchFrame& frame, Dice& dice) {
  CHECK(frame.worker.begin == 58 && frame.worker.begin < frame.worker.end);
  CHECK(frame.session.begin == frame.worker.end + 2 && frame.session.begin <= frame.session.end);
  CHECK(frame.payload.begin == frame.session.end + (frame.kind == FrameKind::kDelta ? 4 : 0));
  CHECK(frame.payload.begin <= frame.payload.end && frame.payload.end + 8 == bytes.size());
  CHECK(frame.z <= kMostBlocks && (frame.z > 0 || frame.kind == FrameKind::kClear));
  if (frame.z == 0) return;

  std::vector<uint32_t> words(kBlockWords * frame.z);
  const std::span<const uint8_t> payload =
      bytes.subspan(frame.payload.begin, frame.payload.end - frame.payload.begin);
  if (frame.kind == FrameKind::kFull) {
    CHECK(payload.size() == words.size() * sizeof(uint32_t));
    std::memcpy(words.data(), payload.data(), payload.size());
  } else if (frame.kind == FrameKind::kDelta) {
    CHECK(payload.size() % 36 == 0);
    for (size_t at = 0; at < payload.size(); at += 36) {
      uint32_t index;
      std::memcpy(&index, &payload[at], sizeof index);
      CHECK(index < frame.z);
      std::memcpy(&words[kBlockWords * index], &payload[at + sizeof index], 32);
    }
  } else {
    CHECK(payload.empty());
  }

  std::vector<SeqHash> keys(dice.below(100));
  for (SeqHash& key : keys) key = SeqHash{dice.u64()};
  const auto kernels = bloom_kernels();
  const size_t positive = kernels[0].test(words, keys, {});
  for (const BloomKernel& kernel : kernels) {
    CHECK(kernel.test(words, keys, {}) == positive);
    CHECK(kernel.leading(words, keys) == kernels[0].leading(words, keys));
  }
  kernels.back().add(words, keys);
  CHECK(kernels[0].leading(words, keys) == keys.size());
}

FrameFault play(uint64_t seed) {
  Dice dice(seed);
  const std::vector<uint8_t> made = input(dice);
  // Exactly as large as the frame: a read beyond it is seen by AddressSanitizer.
  const auto memory = std::make_unique<uint8_t[]>(made.size());
  std::copy(made.begin(), made.end(), memory.get());
  const std::span<const uint8_t> bytes(memory.get(), made.size());
  const auto max_blocks = dice.one_in(4) ? static_cast<uint32_t>(dice.below(kMostBlocks)) : kMostBlocks;

  SketchFrame frame{}, expected{};
  frame.epoch = expected.epoch = ~uint64_t{0};  // stays, when the frame is refused
  const FrameFault fault = read_frame(bytes, max_blocks, frame);
  const FrameFault expected_fault = read_frame_plainly(bytes, max_blocks, expected);
  if (fault != expected_fault || !same(frame, expected)) {
    std::fprintf(stderr, "frame_fuzz --seed %llu --inputs 1: %s, expected %s\n",
                 static_cast<unsigned long long>(seed), kFaultNames[static_cast<size_t>(fault)],
                 kFaultNames[static_cast<size_t>(expected_fault)]);
    std::exit(1);
  }
  if (fault == FrameFault::kOk) use(bytes, frame, dice);
  return fault;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  uint64_t inputs = 200'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    CHECK(option == "--seed" || option == "--inputs");
    (option == "--seed" ? seed : inputs) = std::strtoull(argv[i + 1], nullptr, 10);
  }
  std::printf("frame_fuzz: %llu inputs from seed %llu:", static_cast<unsigned long long>(inputs),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  uint64_t met[kFaults] = {};
  for (uint64_t i = 0; i < inputs; ++i) ++met[static_cast<size_t>(play(seed + i))];
  for (size_t fault = 0; fault < kFaults; ++fault) {
    std::printf(" %s %llu", kFaultNames[fault], static_cast<unsigned long long>(met[fault]));
  }
  std::puts("");
  // A driver that no longer reaches a rule says nothing about it.
  const bool all_met = std::find(met, met + kFaults, 0) == met + kFaults;
  CHECK(inputs < 100'000 || all_met);
  return 0;
}
