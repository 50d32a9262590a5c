// CastType: the result type of a Cast.
//
//   if (kit::CastType(node) == x.type) …   // nothing to do
#pragma once

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit {

// Reads attribute 'to': a number, or before opset 6 the type's name in TensorProto's enum. Throws
// Error(EP_STATUS_INVALID_ARGUMENT) when it is missing or not a type that Cast supports.
EpElementType CastType(const ir::Node& node);

}  // namespace epiphyte::kit
