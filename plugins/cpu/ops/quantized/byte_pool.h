// MaxPool of bytes, with channels last.
#pragma once

#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Input 0, int8 or uint8 of at least one spatial dimension, to output 0. Windows may lie outside of the input: these
// give the least number.
void MaxPoolOfBytes(OpContext& context, const kit::PoolAttributes& attributes);

}  // namespace epiphyte::cpu
