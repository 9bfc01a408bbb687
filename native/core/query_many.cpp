// Overlaps of many requests at once.
//
// A stretch takes three misses in turn: the table's bucket, the run's header, its blocks. For one request they add up; here
// several requests are under way, and each asks for its next line and leaves the turn to the others:
//
//   request 3   bucket ?   header ?   blocks ?   compare, count, bucket ?   …
//   request 4              bucket ?   header ?   blocks ?                   compare, …
//
// Costs: as `overlap` for each request, but the misses of kFlights requests overlap (`kvidx bench index`).
#include <array>

#include "core/index.hpp"

namespace kvidx {

struct Index::Flight {
  enum class Waits : uint8_t { kBucket, kRun, kBlocks };
  SeqSpan seq;
  std::span<uint32_t> out;
  uint64_t i;    // the next block
  BlockRef ref;  // where it lies, if the table is right
  Waits waits;
};

/// One step of a request; false when it is done.
bool Index::advance(Flight& f) const {
  using Waits = Flight::Waits;
  switch (f.waits) {
    case Waits::kBucket:
      f.ref = table_.guess(f.seq[f.i]);
      if (!f.ref.found()) return false;
      runs_.prefetch(f.ref.run);
      f.waits = Waits::kRun;
      return true;
    case Waits::kRun: {
      constexpr uint32_t kLine = 64 / sizeof(SeqHash), kMost = 12 * kLine;
      const Run& run = runs_[f.ref.run];
      run.holders.prefetch();
      const uint64_t n = std::min<uint64_t>(
          {static_cast<uint64_t>(run.end - f.ref.at), f.seq.size() - f.i, uint64_t{kMost}});
      for (uint32_t k = 0; k < n; k += kLine) __builtin_prefetch(run.blocks + f.ref.at + k);
      f.waits = Waits::kBlocks;
      return true;
    }
    case Waits::kBlocks:
      break;
  }
  if (runs_[f.ref.run].blocks[f.ref.at] != f.seq[f.i]) {
    f.ref = table_.find(runs_, f.seq[f.i]);
    if (!f.ref.found()) return false;
  }
  const Run& run = runs_[f.ref.run];
  const Stretch s{f.i, match(run, f.ref.at, f.seq.subspan(f.i)), f.ref.run, f.ref.at};
  f.i += s.n;
  if (!count_leading(run, s, f.out) || f.i == f.seq.size()) return false;
  table_.prefetch(f.seq[f.i]);
  f.waits = Waits::kBucket;
  return true;
}

void Index::overlap_many(std::span<const SeqSpan> requests, Mode mode, std::span<uint32_t> out) const {
  constexpr size_t kFlights = 12;
  const size_t width = slot_count();
  const auto row = [&](size_t request) { return out.subspan(request * width, width); };
  if (mode == Mode::kSet) {
    for (size_t k = 0; k < requests.size(); ++k) overlap(requests[k], mode, row(k));
    return;
  }
  std::fill(out.begin(), out.end(), 0u);
  std::array<Flight, kFlights> flights;
  size_t next = 0, flying = 0;
  const auto start = [&](Flight& flight) {
    while (next < requests.size() && requests[next].empty()) ++next;
    if (next == requests.size()) return false;
    flight = {requests[next], row(next), 0, {}, Flight::Waits::kBucket};
    table_.prefetch(flight.seq[0]);
    ++next;
    return true;
  };
  while (flying < kFlights && start(flights[flying])) ++flying;
  while (flying > 0) {
    for (size_t f = 0; f < flying;) {
      if (advance(flights[f]) || start(flights[f])) {
        ++f;
      } else {
        flights[f] = flights[--flying];
      }
    }
  }
}

}  // namespace kvidx
