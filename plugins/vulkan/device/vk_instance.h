// The Vulkan objects that an Instance holds. Internal to device/.
#pragma once

#include <vector>

#include "plugins/vulkan/device/device_info.h"
#include "plugins/vulkan/device/vk_functions.h"

namespace epiphyte::vulkan {

struct InstanceHandles {
  VkInstance instance = VK_NULL_HANDLE;
  InstanceFunctions vk;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger = nullptr;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  std::vector<VkPhysicalDevice> physical;  // by DeviceInfo::index

  InstanceHandles() = default;
  InstanceHandles(const InstanceHandles&) = delete;
  InstanceHandles& operator=(const InstanceHandles&) = delete;
  ~InstanceHandles();
};

// The features that the plugin uses, with the structures and extensions that turn them on. The same structures are
// given to vkCreateDevice and determine the capabilities.
struct DeviceFeatures {
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDevice16BitStorageFeatures storage16 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDevice8BitStorageFeatures storage8 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDeviceShaderFloat16Int8Features float16_int8 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_product = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR coop_matrix = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  std::vector<const char*> extensions;  // extensions for features that the device's version of Vulkan lacks

  // Queries the device. Only features that the device has and the plugin uses are on.
  DeviceFeatures(const InstanceFunctions& vk, VkPhysicalDevice device);
  DeviceFeatures(const DeviceFeatures&) = delete;
  DeviceFeatures& operator=(const DeviceFeatures&) = delete;
};

// Everything of a DeviceInfo except its index. The device must have Vulkan 1.1.
DeviceInfo DescribeDevice(const InstanceFunctions& vk, VkPhysicalDevice device);
// Index of the queue family that is used; -1 if no family can compute.
int32_t ComputeFamily(const InstanceFunctions& vk, VkPhysicalDevice device);

}  // namespace epiphyte::vulkan
