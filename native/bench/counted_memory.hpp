// What the addon's own copy of the core has from the allocator and from the system.
//
// Idea: the linker puts the functions of counted_memory.cpp before malloc and its like (`-Wl,--wrap`, Linux only): each
// adds what the allocator really gave, its header included, and asks the system's. operator new comes out of the static
// libstdc++ and so passes through them too. Node itself is another binary and does not.
#pragma once

#include <cstdint>

namespace kvidx::bench {

/// Taken and not given back, by all threads.
int64_t allocated_bytes();
/// The most that this has been since the last call of restart_peak().
int64_t peak_bytes();
void restart_peak();
/// How often memory was asked for, ever: whether it was had or not.
uint64_t allocations();

}  // namespace kvidx::bench
