// A process without the Vulkan loader: dlopen finds no libvulkan while it is hidden.
#pragma once

namespace epiphyte::vulkan {

void HideVulkanLoader();

}  // namespace epiphyte::vulkan
