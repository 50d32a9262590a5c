// Pools of floats with channels last, as convolutions leave them.
#pragma once

#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/cpu/ops/quantized/channels_last.h"

namespace epiphyte::cpu {

// Input 0, whose channels are last, to output 0: the largest, or the mean. False when it lies otherwise, windows have
// gaps or are large, or one has no element.
bool PoolChannelsLast(OpContext& context, bool largest, const kit::PoolAttributes& attributes, LastLayout* layout);

}  // namespace epiphyte::cpu
