// How many sessions own each position of a run, run-length coded.
//
//   owners  s3: 0–40, s7: 0–40, s9: 0–12        steps  (end 12: 3 owners, 3^7^9) (end 40: 2 owners, 3^7)
//
// Every session owns a prefix of the run, so counts fall from step to step. Where the count is 1, the XOR of
// the owners' numbers is the owner. A run with one owner keeps no steps: they follow from its interval.
//
// Invariants: ends rise, counts are at least 1 and fall or stay, neighbours differ in count or XOR.
// Costs: change and read O(steps); 8 bytes without steps, 12 bytes a step.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/interval_list.hpp"

namespace kvidx {

struct OwnerStep {
  uint32_t count;
  uint32_t owners_xor;
  Pos end;
};

class OwnerSteps {
 public:
  OwnerSteps() = default;
  ~OwnerSteps() { std::free(rep_); }
  OwnerSteps(OwnerSteps&& o) noexcept : rep_(std::exchange(o.rep_, nullptr)) {}
  OwnerSteps& operator=(OwnerSteps&& o) noexcept {
    std::swap(rep_, o.rep_);
    return *this;
  }

  /// The steps of these owners, each of whom has a prefix. Costs: O(n log n).
  static OwnerSteps of(std::span<const Interval> owners) {
    OwnerSteps steps;
    if (owners.size() < 2) return steps;
    std::vector<Interval> by_end(owners.begin(), owners.end());
    std::sort(by_end.begin(), by_end.end(),
              [](const Interval& a, const Interval& b) { return a.end < b.end; });
    OwnerStep all{static_cast<uint32_t>(owners.size()), 0, 0};
    for (const Interval& v : by_end) all.owners_xor ^= v.id;
    for (size_t k = 0; k < by_end.size();) {
      const Pos end = by_end[k].end;
      steps.append({all.count, all.owners_xor, end});
      for (; k < by_end.size() && by_end[k].end == end; ++k) {
        --all.count;
        all.owners_xor ^= by_end[k].id;
      }
    }
    return steps;
  }

  std::span<const OwnerStep> view() const {
    return rep_ ? std::span<const OwnerStep>(items(), rep_->size) : std::span<const OwnerStep>();
  }
  uint64_t used_bytes() const { return rep_ ? sizeof(Rep) + rep_->size * sizeof(OwnerStep) : 0; }
  uint64_t reserved_bytes() const {
    return rep_ ? heap_bytes(sizeof(Rep) + rep_->cap * sizeof(OwnerStep)) : 0;
  }

  void shrink() {
    if (rep_ == nullptr || rep_->cap == rep_->size) return;
    void* smaller = std::realloc(rep_, sizeof(Rep) + rep_->size * sizeof(OwnerStep));
    if (smaller == nullptr) return;
    rep_ = static_cast<Rep*>(smaller);
    rep_->cap = rep_->size;
  }
  void clear() {
    std::free(rep_);
    rep_ = nullptr;
  }
  /// Room for n steps in all, so that following changes cannot fail.
  void reserve(uint32_t n) {
    if (rep_ && n <= rep_->cap) return;
    const uint32_t cap = n + n / 4;
    auto* fresh = static_cast<Rep*>(std::realloc(rep_, sizeof(Rep) + cap * sizeof(OwnerStep)));
    if (fresh == nullptr) throw std::bad_alloc();
    if (rep_ == nullptr) fresh->size = 0;
    fresh->cap = cap;
    rep_ = fresh;
  }
  void append(OwnerStep step) {
    if (rep_ && rep_->size > 0) {
      OwnerStep& last = items()[rep_->size - 1];
      if (last.count == step.count && last.owners_xor == step.owners_xor) {
        last.end = step.end;
        return;
      }
    }
    reserve(rep_ ? rep_->size + 1 : 2);
    items()[rep_->size++] = step;
  }
  void shift(int delta) {
    for (uint32_t i = 0; rep_ && i < rep_->size; ++i)
      items()[i].end = pos(static_cast<uint64_t>(items()[i].end + delta));
  }

  /// So many steps one apply() adds at most.
  static constexpr uint32_t kMostNew = 2;

  /// Session comes to own (`joins`) or ceases to own positions [begin, end); `first` is the run's first
  /// position.
  void apply(uint32_t session, bool joins, Pos first, Pos begin, Pos end) {
    if (joins) reserve((rep_ ? rep_->size : 0) + kMostNew);  // who leaves had its end at the end of a step
    if (begin != first) cut(begin);
    cut(end);
    for (uint32_t i = 0; i < rep_->size; ++i) {
      OwnerStep& step = items()[i];
      if (step.end <= begin) continue;
      if (step.end > end) break;
      step.count = joins ? step.count + 1 : step.count - 1;
      step.owners_xor ^= session;
    }
    join_equal_neighbours();
  }

 private:
  struct Rep {
    uint32_t size, cap;
  };
  OwnerStep* items() { return reinterpret_cast<OwnerStep*>(rep_ + 1); }
  const OwnerStep* items() const { return reinterpret_cast<const OwnerStep*>(rep_ + 1); }

  /// Makes `at` the end of a step.
  void cut(Pos at) {
    uint32_t i = 0;
    while (i < rep_->size && items()[i].end < at) ++i;
    if (i == rep_->size) {
      items()[rep_->size++] = {0, 0, at};
    } else if (items()[i].end != at) {
      std::memmove(items() + i + 1, items() + i, (rep_->size - i) * sizeof(OwnerStep));
      items()[i].end = at;
      ++rep_->size;
    }
  }
  void join_equal_neighbours() {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rep_->size; ++i) {
      const OwnerStep step = items()[i];
      if (kept > 0 && items()[kept - 1].count == step.count &&
          items()[kept - 1].owners_xor == step.owners_xor) {
        items()[kept - 1].end = step.end;
      } else {
        items()[kept++] = step;
      }
    }
    while (kept > 0 && items()[kept - 1].count == 0) --kept;
    rep_->size = kept;
  }

  Rep* rep_ = nullptr;
};

}  // namespace kvidx
