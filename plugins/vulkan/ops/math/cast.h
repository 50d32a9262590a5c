// Casts between the types that the device computes with (shaders/cast.comp).
//
//     const int32_t floats = r.Scratch(EP_TYPE_FLOAT, dims);
//     AddCast(r, EP_TYPE_INT32, r.InputTensor(0), EP_TYPE_FLOAT, floats);
#pragma once

#include <string>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

inline constexpr kit::TypeSet kCastTypes = kDeviceFloats | kDeviceIntegers | kit::Types(EP_TYPE_BOOL);

// Why the device can't cast between the types, or "".
std::string WhyNotCast(const Capabilities& capabilities, EpElementType from, EpElementType to);
// Casts tensor x of type `from` to tensor y of another type `to`, which has as many elements.
void AddCast(Recording& r, EpElementType from, int32_t x, EpElementType to, int32_t y);

}  // namespace epiphyte::vulkan
