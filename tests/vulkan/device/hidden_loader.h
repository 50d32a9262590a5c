// Simulates a process without the Vulkan loader: after HideVulkanLoader, dlopen finds no libvulkan.
#pragma once

namespace epiphyte::vulkan {

void HideVulkanLoader();

}  // namespace epiphyte::vulkan
