// Pools of floats with channels last or in blocks, as convolutions leave them.
#pragma once

#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/cpu/ops/quantized/channels_last.h"

namespace epiphyte::cpu {

// Input 0, whose channels are last, to output 0: the largest, or the mean. The largest is also made of channels in
// blocks. False when the input lies otherwise, windows have gaps or are large, or one has no element.
bool PoolChannelsLast(OpContext& context, bool largest, const kit::PoolAttributes& attributes, LastLayout* layout);

}  // namespace epiphyte::cpu
