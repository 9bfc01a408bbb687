// Makes messages of KV events: usual ones, ones with fields that are odd, wrong or no msgpack, and damaged ones.
#pragma once

#include <cstdint>
#include <vector>

#include "dice.hpp"

namespace kvidx {

/// A batch of at most 4 events, of which about half are usual.
std::vector<uint8_t> forged_batch(Dice& dice);

/// Damages it in one way, perhaps with parts of another.
void damage_batch(std::vector<uint8_t>& batch, const std::vector<uint8_t>& other, Dice& dice);

}  // namespace kvidx
