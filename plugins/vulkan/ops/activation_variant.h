// The variant of a kernel that applies an activation to its results: shaders have the code of long ones only where it
// is wanted (shaders/activation.glsl).
//
//     dispatch.shader = Recording::ShaderFor("conv" + VariantFor(activation.op), type);  // conv.f32, conv_long.f32
#pragma once

#include <string>

#include "epiphyte/kit/fuse/activation.hpp"

namespace epiphyte::vulkan {

// "_long" for those that ActivateShort of shaders/activation.glsl doesn't know.
inline std::string VariantFor(kit::fuse::ElementwiseOp activation) {
  using enum kit::fuse::ElementwiseOp;
  switch (activation) {
    case kSigmoid:
    case kTanh:
    case kExp:
    case kLog:
    case kErf:
    case kSoftplus:
    case kGelu:
    case kGeluTanh:
    case kSwish:
    case kElu: return "_long";
    default: return "";
  }
}

}  // namespace epiphyte::vulkan
