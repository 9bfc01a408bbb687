// What operations answer, in words that compare, and everything as text for people.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/index.hpp"

namespace kvidx {

using Answer = std::vector<uint64_t>;

Answer answer(Status, const FeedResult&);
Answer answer(const SlotFigures&);
Answer answer(const std::vector<double>&);
template <class T>
  requires(!std::is_same_v<T, double>)
Answer answer(const std::vector<T>& values) {
  Answer out;
  for (const T value : values) out.push_back(static_cast<uint64_t>(value));
  return out;
}
Answer joined(Answer, const Answer&);

std::string text(const std::vector<SeqHash>&);
std::string text(const Parent&);
std::string text(SlotRef);
std::string text(const Answer&);

}  // namespace kvidx
