// What oneDNN's convolutions and pools are made for: it computes positions in 32 bits, its code grows with some of the
// numbers, and it has no pads below 0, which cut the input's edges off.
#pragma once

#include "epiphyte/kit/shape/window.hpp"

namespace epiphyte::cpu {

bool SuitsOneDnn(const kit::WindowAttributes& attributes);

}  // namespace epiphyte::cpu
