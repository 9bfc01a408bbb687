// Which instruction sets the kernels of this process may use.
#pragma once

namespace kvidx {

/// Each includes those before it.
enum class Isa { kScalar, kAvx2, kAvx512 };

/// The best that this machine has, or the one that KVIDX_ISA names (`scalar`, `avx2`, `avx512`) where that is less. Read once.
Isa isa();

}  // namespace kvidx
