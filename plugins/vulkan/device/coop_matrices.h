// The cooperative matrices that a device has, as vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR lists them. Of
// device/ only.
//
//     const std::vector<VkCooperativeMatrixPropertiesKHR> all = CoopMatricesOf(vk, device);
//     info.coop_matrix_shapes = TextOf(all);
//     info.capabilities.coop_matrix = UsableShape(all);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plugins/vulkan/device/capabilities.h"
#include "plugins/vulkan/device/vk_functions.h"

namespace epiphyte::vulkan {

// None where the driver hasn't got the function.
std::vector<VkCooperativeMatrixPropertiesKHR> CoopMatricesOf(const InstanceFunctions& vk, VkPhysicalDevice device);

// Text of the subgroup-scope matrices, in the form of DeviceInfo::coop_matrix_shapes: "16x16x16 f16 f16 f16; 16x16x16
// f16 f16 f32".
std::string TextOf(std::span<const VkCooperativeMatrixPropertiesKHR> matrices);

// The largest of a subgroup that multiplies float16, adds up in float, and fits the tiles of shaders/coop.glsl;
// all 0 when there is none.
MatrixShape UsableShape(std::span<const VkCooperativeMatrixPropertiesKHR> matrices);

}  // namespace epiphyte::vulkan
