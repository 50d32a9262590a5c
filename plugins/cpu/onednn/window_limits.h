// Limits of oneDNN's convolutions and pools: positions are 32-bit, the size of generated code grows with some of the
// attributes, and negative pads (which crop the input) are not supported.
#pragma once

#include "epiphyte/kit/shape/window.hpp"

namespace epiphyte::cpu {

bool SuitsOneDnn(const kit::WindowAttributes& attributes);

}  // namespace epiphyte::cpu
