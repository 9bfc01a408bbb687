#include "core/bloom.hpp"

#include <algorithm>
#include <iterator>

#include "core/bloom_kernel.hpp"
#include "core/isa.hpp"

namespace kvidx {
namespace {

constexpr BloomKernel kKernels[] = {
    {"scalar", bloom::scalar::add, bloom::scalar::test, bloom::scalar::leading},
#if defined(__x86_64__)
    {"avx2", bloom::avx2::add, bloom::avx2::test, bloom::avx2::leading},
    {"avx512", bloom::avx512::add, bloom::avx512::test, bloom::avx512::leading},
#endif
};

}  // namespace

std::span<const BloomKernel> bloom_kernels() {
  return std::span(kKernels).first(std::min(std::size(kKernels), static_cast<size_t>(isa()) + 1));
}

}  // namespace kvidx
