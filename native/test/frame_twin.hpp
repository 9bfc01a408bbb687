// The reader of sketch frames once more, as plainly as its rules are written: what core/sketch_frame.cpp is compared with.
#pragma once

#include "core/sketch_frame.hpp"

namespace kvidx {

/// As read_frame.
FrameFault read_frame_plainly(std::span<const uint8_t> bytes, uint32_t max_blocks, SketchFrame& frame);

}  // namespace kvidx
