// What changes nothing: overlaps, figures, and the state that a snapshot keeps.
#include <algorithm>
#include <cassert>

#include "test/twin.hpp"

namespace kvidx {

namespace {
constexpr uint32_t kWholeBlock = 1u << 20;
}

/// 0: the block is unknown, or nobody's.
uint32_t Twin::owners(SeqHash h) const {
  const auto block = blocks_.find(h);
  return block == blocks_.end() ? 0 : block->second.owners;
}

bool Twin::owns(uint32_t session, SeqHash h) const {
  const auto owner = sessions_.find(session);
  return owner != sessions_.end() && owner->second.blocks.contains(h);
}

bool Twin::is_exclusive(uint32_t session, uint32_t max_owners, SeqHash h) const {
  if (max_owners > 1) return owners(h) >= 1 && owners(h) <= max_owners;
  return owners(h) == 1 && owns(session, h);
}

uint32_t Twin::fair_share(SeqHash h) const {
  return kWholeBlock / std::max(owners(h), 1u);
}

template <class Worth, class Out>
void Twin::sum_counted(SeqSpan seq, Mode mode, Worth worth, std::span<Out> out) const {
  std::fill(out.begin(), out.end(), Out{0});
  for (const auto& [number, slot] : slots_) {
    for (const SeqHash h : seq) {
      if (slot.blocks.contains(h)) {
        out[number] += static_cast<Out>(worth(h));
      } else if (mode == Mode::kPrefix) {
        break;
      }
    }
  }
}

template <class Worth, class Out>
void Twin::sum_within(SeqSpan seq, std::span<const uint32_t> lengths, Worth worth, std::span<Out> out) {
  for (size_t w = 0; w < lengths.size(); ++w) {
    out[w] = 0;
    for (const SeqHash h : seq.first(lengths[w])) out[w] += static_cast<Out>(worth(h));
  }
}

void Twin::overlap(SeqSpan seq, Mode mode, std::span<uint32_t> out) const {
  sum_counted(
      seq, mode, [](SeqHash) { return 1u; }, out);
}

void Twin::overlap_many(std::span<const SeqSpan> requests, Mode mode, std::span<uint32_t> out) const {
  for (size_t k = 0; k < requests.size(); ++k) {
    overlap(requests[k], mode, out.subspan(k * slot_count(), slot_count()));
  }
}

void Twin::exclusive_overlap(uint32_t session, SeqSpan seq, Mode mode, uint32_t max_owners,
                             std::span<uint32_t> out) const {
  sum_counted(
      seq, mode, [&](SeqHash h) { return is_exclusive(session, max_owners, h); }, out);
}

void Twin::fair_overlap(SeqSpan seq, std::span<double> out) const {
  sum_counted(
      seq, Mode::kPrefix, [&](SeqHash h) { return fair_share(h); }, out);
}

void Twin::exclusive_within(uint32_t session, SeqSpan seq, uint32_t max_owners,
                            std::span<const uint32_t> lengths, std::span<uint32_t> out) const {
  sum_within(
      seq, lengths, [&](SeqHash h) { return is_exclusive(session, max_owners, h); }, out);
}

void Twin::fair_within(SeqSpan seq, std::span<const uint32_t> lengths, std::span<double> out) const {
  sum_within(
      seq, lengths, [&](SeqHash h) { return fair_share(h); }, out);
}

uint32_t Twin::slot_count() const {
  return slots_.empty() ? 0 : slots_.rbegin()->first + 1;
}

std::vector<uint32_t> Twin::slot_numbers() const {
  std::vector<uint32_t> numbers;
  for (const auto& [slot, _] : slots_) numbers.push_back(slot);
  return numbers;
}

std::vector<SeqHash> Twin::enumerate(uint32_t slot) const {
  std::vector<SeqHash> hashes;
  const auto it = slots_.find(slot);
  if (it == slots_.end()) return hashes;
  for (const auto& [h, _] : it->second.blocks) hashes.push_back(h);
  return hashes;
}

std::vector<SeqHash> Twin::enumerate_exclusive(uint32_t slot, uint32_t session) const {
  std::vector<SeqHash> hashes;
  for (const SeqHash h : enumerate(slot)) {
    if (is_exclusive(session, 1, h)) hashes.push_back(h);
  }
  return hashes;
}

SlotFigures Twin::slot_figures(uint32_t slot) const {
  const auto it = slots_.find(slot);
  if (it == slots_.end()) return {};
  SlotFigures figures = it->second.figures;
  figures.resident = it->second.blocks.size();
  figures.pinned = it->second.pins.size();
  return figures;
}

IndexStats Twin::stats() const {
  IndexStats stats;
  stats.blocks = blocks_.size();
  stats.slots = slots_.size();
  stats.sessions = sessions_.size();
  stats.duplicates = duplicates_;
  stats.unknown_removes = unknown_removes_;
  stats.rejected = rejected_;
  stats.evicted_by_capacity = evicted_by_capacity_;
  stats.evicted_by_bound = evicted_by_bound_;
  stats.expired = expired_;
  for (const auto& [_, block] : blocks_) {
    const Parent& up = block.predecessor;
    const bool hangs = up.kind == PredKind::kHash ? !is_resident(up.hash) : up == Parent::unknown();
    if (block.holders > 0 && hangs) ++stats.orphans;
  }
  return stats;
}

Twin Twin::restored_over(const Twin& before) const {
  Twin twin = *this;
  twin.options_ = before.options_;
  twin.incarnations_.resize(std::max(incarnations_.size(), before.incarnations_.size()));
  for (size_t slot = 0; slot < twin.incarnations_.size(); ++slot) {
    uint32_t& incarnation = twin.incarnations_[slot];
    if (slot < before.incarnations_.size()) incarnation = std::max(incarnation, before.incarnations_[slot]);
    ++incarnation;
  }
  for (auto& [_, slot] : twin.slots_) slot.pins.clear();
  twin.evicted_.clear();
  twin.evicted_by_age_.clear();
  if (twin.options_.max_blocks == 0) {
    twin.by_stamp_.clear();
    for (auto& [_, block] : twin.blocks_) block.stamp = kNoStamp;
  } else {
    assert(options_.max_blocks > 0);
  }
  FeedResult of_no_call;
  twin.enforce({of_no_call});
  return twin;
}

}  // namespace kvidx
