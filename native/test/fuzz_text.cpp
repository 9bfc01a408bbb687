#include "test/fuzz_text.hpp"

#include <bit>
#include <cstdio>

namespace kvidx {

Answer answer(Status status, const FeedResult& r) {
  return {static_cast<uint64_t>(status),      r.applied,       r.duplicate, r.unknown, r.orphaned, r.rejected,
          static_cast<uint64_t>(r.first_bad), r.ended_session, r.evicted};
}

Answer answer(const SlotFigures& f) {
  return {static_cast<uint64_t>(f.mode),
          f.capacity,
          std::bit_cast<uint64_t>(f.ttl_ms),
          f.resident,
          std::bit_cast<uint64_t>(f.last_store_ms),
          f.pinned,
          f.evicted_by_capacity,
          f.evicted_by_bound,
          f.expired,
          f.degraded};
}

Answer answer(const std::vector<double>& values) {
  Answer out;
  for (const double value : values) out.push_back(std::bit_cast<uint64_t>(value));
  return out;
}

Answer joined(Answer a, const Answer& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string text(const std::vector<SeqHash>& seq) {
  std::string out = "{";
  for (size_t i = 0; i < seq.size(); ++i) {
    if (i == 8 && seq.size() > 12) {
      out += " … " + std::to_string(seq.size()) + " blocks";
      break;
    }
    char hash[24];
    std::snprintf(hash, sizeof hash, " %llx", static_cast<unsigned long long>(raw(seq[i])));
    out += hash;
  }
  return out + " }";
}

std::string text(const Parent& parent) {
  if (parent.kind == PredKind::kHash) return text(std::vector<SeqHash>{parent.hash});
  return parent.kind == PredKind::kRoot ? "root" : "unknown";
}

std::string text(SlotRef ref) {
  return "slot " + std::to_string(ref.slot) + "/" + std::to_string(ref.incarnation);
}

std::string text(const Answer& answer) {
  std::string out = "[";
  for (size_t i = 0; i < answer.size() && i < 90; ++i) out += " " + std::to_string(answer[i]);
  return out + (answer.size() > 90 ? " … ]" : " ]");
}

}  // namespace kvidx
