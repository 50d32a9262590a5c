// Operators that the plugin brings, beyond those of ONNX.
#pragma once

#include <span>

#include "epiphyte/kit/plugin/schema.hpp"

namespace epiphyte::vulkan {

// com.microsoft's MatMulNBits.
std::span<const kit::Operator> OwnOperators();

}  // namespace epiphyte::vulkan
