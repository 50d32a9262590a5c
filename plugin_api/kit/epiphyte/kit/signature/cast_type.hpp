// The type that a Cast makes.
//
//   if (kit::CastType(node) == x.type) …   // nothing to do
#pragma once

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit {

// Attribute 'to': a number, before opset 6 the name that TensorProto's enum has for it. Throws
// Error(EP_STATUS_INVALID_ARGUMENT) when it is missing or no type that anything is cast to.
EpElementType CastType(const ir::Node& node);

}  // namespace epiphyte::kit
