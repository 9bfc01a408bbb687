// Makes sketch frames, sound and damaged ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dice.hpp"

namespace kvidx {

/// A frame without fault, of at most `most_blocks`.
std::vector<uint8_t> sound_frame(Dice& dice, uint32_t most_blocks);

/// Damages it in one way.
void damage(std::vector<uint8_t>& frame, Dice& dice);

/// Writes the checksum of what stands before its place.
void mend_checksum(std::vector<uint8_t>& frame);

}  // namespace kvidx
