#include "core/bloom.hpp"

#include "core/bloom_kernel.hpp"

namespace kvidx {
namespace {

constexpr BloomKernel kKernels[] = {
    {"scalar", bloom::scalar::add, bloom::scalar::test, bloom::scalar::leading},
#if defined(__x86_64__)
    {"avx2", bloom::avx2::add, bloom::avx2::test, bloom::avx2::leading},
    {"avx512", bloom::avx512::add, bloom::avx512::test, bloom::avx512::leading},
#endif
};

/// Each instruction set includes those before it.
size_t supported() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // not every run-time library has done so before
  if (!__builtin_cpu_supports("avx2")) return 1;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? 3 : 2;
#else
  return 1;
#endif
}

}  // namespace

std::span<const BloomKernel> bloom_kernels() {
  return std::span(kKernels).first(supported());
}

}  // namespace kvidx
