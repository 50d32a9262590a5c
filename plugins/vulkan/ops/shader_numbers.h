// Numbers that shaders share with C++, from shaders/numbers.inc: sizes of workgroups, flags, and kinds of operations.
//
//   dispatch.specialization = {r.HasInput(2) ? shader::kConvBias : 0};
#pragma once

#include <cstdint>

namespace epiphyte::vulkan::shader {

#define NUMBER(name, value) inline constexpr uint32_t name = value;
#include "plugins/vulkan/shaders/numbers.inc"
#undef NUMBER

}  // namespace epiphyte::vulkan::shader
