// The Vulkan functions that the plugin uses, by instance and by device, and the errors for their results. Internal to
// device/.
#pragma once

#include <volk.h>

#include <string>
#include <string_view>

#include "plugins/vulkan/device/khr_cooperative_matrix.h"

namespace epiphyte::vulkan {

#define EPIPHYTE_VK_INSTANCE_FUNCTIONS(F) \
  F(vkDestroyInstance) \
  F(vkEnumeratePhysicalDevices) \
  F(vkEnumerateDeviceExtensionProperties) \
  F(vkGetPhysicalDeviceProperties) \
  F(vkGetPhysicalDeviceProperties2) \
  F(vkGetPhysicalDeviceFeatures2) \
  F(vkGetPhysicalDeviceMemoryProperties) \
  F(vkGetPhysicalDeviceQueueFamilyProperties) \
  F(vkGetPhysicalDeviceExternalBufferProperties) \
  F(vkCreateDevice) \
  F(vkGetDeviceProcAddr)

// Functions of instance extensions; null if no device has the extension.
#define EPIPHYTE_VK_OPTIONAL_INSTANCE_FUNCTIONS(F) F(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)

#define EPIPHYTE_VK_DEVICE_FUNCTIONS(F) \
  F(vkDestroyDevice) \
  F(vkGetDeviceQueue) \
  F(vkDeviceWaitIdle) \
  F(vkQueueSubmit) \
  F(vkAllocateMemory) \
  F(vkFreeMemory) \
  F(vkMapMemory) \
  F(vkCreateBuffer) \
  F(vkDestroyBuffer) \
  F(vkGetBufferMemoryRequirements) \
  F(vkBindBufferMemory) \
  F(vkCreateSemaphore) \
  F(vkDestroySemaphore) \
  F(vkCreateFence) \
  F(vkDestroyFence) \
  F(vkResetFences) \
  F(vkWaitForFences) \
  F(vkGetFenceStatus) \
  F(vkCreateQueryPool) \
  F(vkDestroyQueryPool) \
  F(vkGetQueryPoolResults) \
  F(vkCreateShaderModule) \
  F(vkDestroyShaderModule) \
  F(vkCreatePipelineCache) \
  F(vkDestroyPipelineCache) \
  F(vkGetPipelineCacheData) \
  F(vkMergePipelineCaches) \
  F(vkCreateComputePipelines) \
  F(vkDestroyPipeline) \
  F(vkCreatePipelineLayout) \
  F(vkDestroyPipelineLayout) \
  F(vkCreateDescriptorSetLayout) \
  F(vkDestroyDescriptorSetLayout) \
  F(vkCreateDescriptorPool) \
  F(vkDestroyDescriptorPool) \
  F(vkAllocateDescriptorSets) \
  F(vkUpdateDescriptorSets) \
  F(vkCreateCommandPool) \
  F(vkDestroyCommandPool) \
  F(vkResetCommandPool) \
  F(vkAllocateCommandBuffers) \
  F(vkBeginCommandBuffer) \
  F(vkEndCommandBuffer) \
  F(vkCmdBindPipeline) \
  F(vkCmdBindDescriptorSets) \
  F(vkCmdDispatch) \
  F(vkCmdPipelineBarrier) \
  F(vkCmdCopyBuffer) \
  F(vkCmdResetQueryPool) \
  F(vkCmdWriteTimestamp)

// Functions of extensions and of later Vulkan versions; null if the device lacks them.
#define EPIPHYTE_VK_OPTIONAL_FUNCTIONS(F) \
  F(vkWaitSemaphores) \
  F(vkGetSemaphoreCounterValue) \
  F(vkGetMemoryHostPointerPropertiesEXT) \
  F(vkGetMemoryFdKHR) \
  F(vkGetMemoryFdPropertiesKHR)

struct InstanceFunctions {
#define EPIPHYTE_VK_MEMBER(name) PFN_##name name = nullptr;
  EPIPHYTE_VK_INSTANCE_FUNCTIONS(EPIPHYTE_VK_MEMBER)
  EPIPHYTE_VK_OPTIONAL_INSTANCE_FUNCTIONS(EPIPHYTE_VK_MEMBER)
};
struct DeviceFunctions {
  EPIPHYTE_VK_DEVICE_FUNCTIONS(EPIPHYTE_VK_MEMBER)
  EPIPHYTE_VK_OPTIONAL_FUNCTIONS(EPIPHYTE_VK_MEMBER)
#undef EPIPHYTE_VK_MEMBER
};

// Usage flags of every buffer.
inline constexpr VkBufferUsageFlags kBufferUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// The name of a result: "VK_ERROR_DEVICE_LOST". A result that is newer than this code is given by its number.
std::string NameOf(VkResult result);

// Throws a kit::Error with code OUT_OF_MEMORY, DEVICE_RESET or ENGINE_ERROR: "vkQueueSubmit failed with VK_ERROR_…",
// then `detail`.
[[noreturn]] void FailCall(std::string_view call, VkResult result, std::string_view detail = {});

}  // namespace epiphyte::vulkan
