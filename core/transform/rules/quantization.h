// Helpers for rules about QuantizeLinear and DequantizeLinear nodes.
#pragma once

#include "core/graph/graph.h"

namespace epiphyte::core {

// True when QuantizeLinear(DequantizeLinear(q)) is q: both have the same scale, zero point and type.
bool Undoes(const Node& quantize, const Node& dequantize);

}  // namespace epiphyte::core
