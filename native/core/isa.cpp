#include "core/isa.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace kvidx {
namespace {

Isa of_machine() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // not every run-time library has done so before
  if (!__builtin_cpu_supports("avx2")) return Isa::kScalar;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
#else
  return Isa::kScalar;
#endif
}

/// Words that are none of the three are the loader's to refuse.
Isa allowed() {
  const char* const value = std::getenv("KVIDX_ISA");
  const std::string_view word = value == nullptr ? "" : value;
  if (word == "scalar") return Isa::kScalar;
  if (word == "avx2") return Isa::kAvx2;
  return Isa::kAvx512;
}

}  // namespace

Isa isa() {
  static const Isa best = std::min(of_machine(), allowed());
  return best;
}

}  // namespace kvidx
