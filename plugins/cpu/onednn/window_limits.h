// What oneDNN's convolutions and pools are made for: it computes positions in 32 bits, and its code grows with some of
// the numbers.
#pragma once

#include "epiphyte/kit/shape/window.hpp"

namespace epiphyte::cpu {

bool SuitsOneDnn(const kit::WindowAttributes& attributes);

}  // namespace epiphyte::cpu
