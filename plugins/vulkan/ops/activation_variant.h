// Chooses the variant of a kernel that applies an activation to its results. Only the variants "_long" contain the code
// of long activations (shaders/activation.glsl).
//
//     dispatch.shader = Recording::ShaderFor("conv" + VariantFor(activation.op), type);  // conv.f32, conv_long.f32
#pragma once

#include <string>

#include "epiphyte/kit/fuse/activation.hpp"

namespace epiphyte::vulkan {

// The suffix of the shader's name: "_long" for an activation that ActivateShort of shaders/activation.glsl lacks.
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
