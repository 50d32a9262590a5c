// The cooperative matrices that a device has, as vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR lists them. Internal
// to device/.
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

// Empty if the driver lacks the function.
std::vector<VkCooperativeMatrixPropertiesKHR> CoopMatricesOf(const InstanceFunctions& vk, VkPhysicalDevice device);

// Text of the subgroup-scope matrices, in the form of DeviceInfo::coop_matrix_shapes: "16x16x16 f16 f16 f16; 16x16x16
// f16 f16 f32".
std::string TextOf(std::span<const VkCooperativeMatrixPropertiesKHR> matrices);

// The largest shape that a subgroup multiplies in float16 and adds up in float, and that fits the tiles of
// shaders/coop.glsl; all 0 if there is none.
MatrixShape UsableShape(std::span<const VkCooperativeMatrixPropertiesKHR> matrices);

}  // namespace epiphyte::vulkan
