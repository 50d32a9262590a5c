// Float pools with channels last or in blocks, the layouts that convolutions produce.
#pragma once

#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/cpu/ops/quantized/channels_last.h"

namespace epiphyte::cpu {

// Pools channels-last input 0 to output 0 by maximum or mean; the maximum also supports channels in blocks. Returns
// false when the input has another layout, when windows are large or dilated, or when a window has no element.
bool PoolChannelsLast(OpContext& context, bool largest, const kit::PoolAttributes& attributes, LastLayout* layout);

}  // namespace epiphyte::cpu
