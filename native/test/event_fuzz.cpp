// event_fuzz [--seed N] [--inputs N]
//
// Reads messages of KV events, usual, odd, damaged and made up, into columns that are often too short, and compares them with
// what the twin says. Input k of seed N is input 0 of seed N + k. A difference ends the program with status 1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "check.hpp"
#include "test/event_forge.hpp"
#include "test/event_twin.hpp"

using namespace kvidx;

namespace {

enum Met { kRefused, kOdd, kStored, kRemoved, kCleared, kShort, kMetCount };
constexpr const char* kMetNames[kMetCount] = {"refused", "odd",     "stored",
                                              "removed", "cleared", "short columns"};
constexpr int32_t kUntouched = -7;

std::vector<uint8_t> input(Dice& dice) {
  if (dice.one_in(20)) {
    std::vector<uint8_t> bytes = random_bytes(dice.u64(), dice.below(200));
    constexpr uint8_t kStart[] = {0x93, 0x01, 0xDC, 0x00};
    if (dice.one_in(2)) std::copy_n(kStart, std::min(bytes.size(), sizeof kStart), bytes.begin());
    return bytes;
  }
  std::vector<uint8_t> batch = forged_batch(dice);
  if (dice.one_in(2)) return batch;
  const std::vector<uint8_t> other = forged_batch(dice);
  for (size_t n = dice.between(1, 3); n > 0; --n) damage_batch(batch, other, dice);
  return batch;
}

/// Exactly as large as it says: whatever touches more is seen by AddressSanitizer.
template <class T>
struct Exact {
  Exact(size_t length, T value) : memory(std::make_unique<T[]>(length)), all(memory.get(), length) {
    std::fill(all.begin(), all.end(), value);
  }
  std::unique_ptr<T[]> memory;
  std::span<T> all;
};

template <class T>
bool begins_with(std::span<const T> column, const std::vector<T>& expected) {
  return std::equal(column.begin(),
                    column.begin() + static_cast<std::ptrdiff_t>(std::min(column.size(), expected.size())),
                    expected.begin());
}

/// Rows as the twin has them, and no other place written.
bool same_rows(std::span<const int32_t> rows, const std::vector<EventRow>& expected) {
  std::vector<int32_t> all(rows.size(), kUntouched);
  for (size_t i = 0; i < std::min(rows.size() / kEventPlaces, expected.size()); ++i) {
    const size_t places = expected[i].kind == EventKind::kOdd ? 3 : kEventPlaces - 1;
    std::memcpy(&all[i * kEventPlaces], &expected[i], places * sizeof(int32_t));
  }
  return std::equal(rows.begin(), rows.end(), all.begin());
}

bool same(bool is_usual, const EventBatch& batch, const EventColumns& columns,
          const std::optional<PlainBatch>& expected) {
  if (is_usual != expected.has_value()) return false;
  if (!is_usual) return batch.events == SIZE_MAX;
  return std::memcmp(&batch.time, &expected->time, sizeof batch.time) == 0 && batch.rank == expected->rank &&
         batch.events == expected->rows.size() && batch.hashes == expected->hashes.size() &&
         batch.tokens == expected->tokens.size() && same_rows(columns.rows, expected->rows) &&
         begins_with<uint64_t>(columns.hashes, expected->hashes) &&
         begins_with<uint32_t>(columns.tokens, expected->tokens);
}

void play(uint64_t seed, uint64_t (&met)[kMetCount]) {
  Dice dice(seed);
  const std::vector<uint8_t> made = input(dice);
  const Exact<uint8_t> payload(made.size(), 0);
  std::copy(made.begin(), made.end(), payload.all.begin());
  const bool is_short = dice.one_in(3);
  const auto room = [&] { return is_short ? dice.below(8) : made.size(); };
  const Exact<int32_t> rows(room() * kEventPlaces + dice.below(kEventPlaces), kUntouched);
  const Exact<uint64_t> hashes(room(), 0);
  const Exact<uint32_t> tokens(room(), 0);
  const EventColumns columns{rows.all, hashes.all, tokens.all};

  EventBatch batch;
  batch.events = SIZE_MAX;  // stays, when the message is refused
  const bool is_usual = read_events(payload.all, columns, batch);
  const auto expected = read_events_plainly(payload.all);
  if (!same(is_usual, batch, columns, expected)) {
    std::fprintf(stderr, "event_fuzz --seed %llu --inputs 1: not what the twin reads\n",
                 static_cast<unsigned long long>(seed));
    std::exit(1);
  }
  if (!is_usual) {
    ++met[kRefused];
    return;
  }
  for (const EventRow& row : expected->rows) ++met[kOdd + static_cast<size_t>(row.kind)];
  met[kShort] += batch.tokens > tokens.all.size();
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
  std::printf("event_fuzz: %llu inputs from seed %llu:", static_cast<unsigned long long>(inputs),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  uint64_t met[kMetCount] = {};
  for (uint64_t i = 0; i < inputs; ++i) play(seed + i, met);
  for (size_t what = 0; what < kMetCount; ++what) {
    std::printf(" %s %llu", kMetNames[what], static_cast<unsigned long long>(met[what]));
  }
  std::puts("");
  // A driver that no longer reaches what it is for says nothing about it.
  const bool all_met = std::all_of(met, met + kMetCount, [inputs](uint64_t n) { return n > inputs / 100; });
  CHECK(inputs < 100'000 || all_met);
  return 0;
}
