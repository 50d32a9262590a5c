#include <algorithm>
#include <cstring>

#include "plugins/vulkan/device/coop_matrices.h"
#include "plugins/vulkan/device/vk_instance.h"

namespace epiphyte::vulkan {
namespace {

std::vector<std::string> ExtensionsOf(const InstanceFunctions& vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> properties(count);
  vk.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, properties.data());
  std::vector<std::string> names;
  for (const VkExtensionProperties& each : properties) names.emplace_back(each.extensionName);
  return names;
}

bool Contains(const std::vector<std::string>& names, const char* name) {
  return std::ranges::find(names, name) != names.end();
}

uint32_t VersionOf(const InstanceFunctions& vk, VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties;
  vk.vkGetPhysicalDeviceProperties(device, &properties);
  return properties.apiVersion;
}

DeviceType TypeOf(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceType::kIntegrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceType::kDiscrete;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceType::kVirtual;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceType::kSoftware;
    default:
      return DeviceType::kOther;
  }
}

Uuid UuidOf(const uint8_t (&bytes)[VK_UUID_SIZE]) {
  Uuid uuid;
  std::ranges::copy(bytes, uuid.begin());
  return uuid;
}

void DescribeMemory(const InstanceFunctions& vk, VkPhysicalDevice device, DeviceInfo& info) {
  VkPhysicalDeviceMemoryProperties memory;
  vk.vkGetPhysicalDeviceMemoryProperties(device, &memory);
  uint64_t largest = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    const bool local = (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    (local ? info.local_memory : info.shared_memory) += heap.size;
    if (local) largest = std::max(largest, heap.size);
  }
  // Properties of memory that the device and the host read equally well. Discrete devices are excluded: they may have a
  // window onto their memory, which the host reads slowly.
  constexpr VkMemoryPropertyFlags kBoth =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  for (uint32_t i = 0; i < memory.memoryTypeCount && info.type != DeviceType::kDiscrete; ++i) {
    const VkMemoryType& type = memory.memoryTypes[i];
    if ((type.propertyFlags & kBoth) == kBoth && memory.memoryHeaps[type.heapIndex].size == largest)
      info.unified_memory = true;
  }
}

// Finds the handle types that our buffers can be imported from and exported as. Types that require a dedicated
// allocation are left out.
void DescribeHandles(const InstanceFunctions& vk, VkPhysicalDevice device, const std::vector<std::string>& extensions,
                     DeviceInfo& info) {
  const auto ask = [&](VkExternalMemoryHandleTypeFlagBits type, const char* extension, bool& imports, bool* exports) {
    if (!Contains(extensions, extension)) return;
    VkPhysicalDeviceExternalBufferInfo buffer = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO};
    buffer.usage = kBufferUsage;
    buffer.handleType = type;
    VkExternalBufferProperties found = {VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vk.vkGetPhysicalDeviceExternalBufferProperties(device, &buffer, &found);
    const VkExternalMemoryFeatureFlags features = found.externalMemoryProperties.externalMemoryFeatures;
    if ((features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0) return;
    imports = (features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0;
    if (exports != nullptr) *exports = (features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
  };
  ask(VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
      info.imports_host_pointers, nullptr);
  if (!Contains(extensions, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) return;
  ask(VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, info.imports_opaque_fd,
      &info.exports_opaque_fd);
  ask(VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
      info.imports_dma_buf, &info.exports_dma_buf);
}

}  // namespace

int32_t ComputeFamily(const InstanceFunctions& vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  // A family without graphics is preferred, because its work doesn't wait for frames.
  int32_t best = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0) continue;
    if (best < 0 || (flags & VK_QUEUE_GRAPHICS_BIT) == 0) best = static_cast<int32_t>(i);
    if ((flags & VK_QUEUE_GRAPHICS_BIT) == 0) break;
  }
  return best;
}

DeviceFeatures::DeviceFeatures(const InstanceFunctions& vk, VkPhysicalDevice device) {
  const uint32_t version = VersionOf(vk, device);
  const std::vector<std::string> there = ExtensionsOf(vk, device);
  void** next = &features.pNext;
  const auto link = [&](auto& structure, uint32_t core_since, const char* extension) {
    if (version < core_since) {
      if (!Contains(there, extension)) return;
      extensions.push_back(extension);
    }
    *next = &structure;
    next = &structure.pNext;
  };
  link(storage16, VK_API_VERSION_1_1, "");
  link(storage8, VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  link(float16_int8, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  link(timeline, VK_API_VERSION_1_2, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  link(dot_product, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  link(subgroup_size, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  link(memory_model, VK_API_VERSION_1_2, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
  link(coop_matrix, UINT32_MAX, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  for (const char* extension : {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
                                VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME})
    if (Contains(there, extension)) extensions.push_back(extension);
  vk.vkGetPhysicalDeviceFeatures2(device, &features);

  // The features that the plugin uses, out of all that the device has.
  VkPhysicalDeviceFeatures used = {};
  used.robustBufferAccess = features.features.robustBufferAccess;
  used.shaderInt64 = features.features.shaderInt64;
  used.shaderInt16 = features.features.shaderInt16;
  features.features = used;
  storage16.uniformAndStorageBuffer16BitAccess = VK_FALSE;
  storage16.storagePushConstant16 = VK_FALSE;
  storage16.storageInputOutput16 = VK_FALSE;
  storage8.uniformAndStorageBuffer8BitAccess = VK_FALSE;
  storage8.storagePushConstant8 = VK_FALSE;
  // Shaders with cooperative matrices use the Vulkan memory model, and load matrices from workgroup memory only, so
  // they don't need robust buffer access of matrices.
  coop_matrix.cooperativeMatrix = coop_matrix.cooperativeMatrix == VK_TRUE && memory_model.vulkanMemoryModel == VK_TRUE;
  coop_matrix.cooperativeMatrixRobustBufferAccess = VK_FALSE;
  memory_model.vulkanMemoryModel = coop_matrix.cooperativeMatrix;
  memory_model.vulkanMemoryModelDeviceScope = VK_FALSE;
  memory_model.vulkanMemoryModelAvailabilityVisibilityChains = VK_FALSE;
}

DeviceInfo DescribeDevice(const InstanceFunctions& vk, VkPhysicalDevice device) {
  const uint32_t version = VersionOf(vk, device);
  const std::vector<std::string> extensions = ExtensionsOf(vk, device);
  const DeviceFeatures features(vk, device);

  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceIDProperties id = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties maintenance3 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceShaderIntegerDotProductProperties dot = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host_pointers = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceCooperativeMatrixPropertiesKHR coop = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
  void** next = &properties.pNext;
  const auto link = [&](auto& structure, uint32_t core_since, const char* extension) {
    if (version < core_since && !Contains(extensions, extension)) return;
    *next = &structure;
    next = &structure.pNext;
  };
  link(id, VK_API_VERSION_1_1, "");
  link(maintenance3, VK_API_VERSION_1_1, "");
  link(subgroup, VK_API_VERSION_1_1, "");
  link(driver, VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
  link(sizes, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  link(dot, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  link(host_pointers, UINT32_MAX, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  link(coop, UINT32_MAX, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  vk.vkGetPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceProperties& core = properties.properties;
  const VkPhysicalDeviceLimits& limits = core.limits;

  DeviceInfo info;
  info.name = core.deviceName;
  info.type = TypeOf(core.deviceType);
  info.vendor_id = core.vendorID;
  info.device_id = core.deviceID;
  info.api_version = core.apiVersion;
  info.driver_version = core.driverVersion;
  info.driver_id = static_cast<uint32_t>(driver.driverID);
  info.driver_name = driver.driverName;
  info.driver_info = driver.driverInfo;
  info.device_uuid = UuidOf(id.deviceUUID);
  info.driver_uuid = UuidOf(id.driverUUID);
  info.pipeline_cache_uuid = UuidOf(core.pipelineCacheUUID);
  info.subgroup_size = std::max(subgroup.subgroupSize, 1u);
  info.subgroup_size_min = sizes.minSubgroupSize == 0 ? info.subgroup_size : sizes.minSubgroupSize;
  info.subgroup_size_max = sizes.maxSubgroupSize == 0 ? info.subgroup_size : sizes.maxSubgroupSize;
  info.subgroup_operations = subgroup.supportedOperations;
  info.max_allocation = maintenance3.maxMemoryAllocationSize;
  DescribeMemory(vk, device, info);
  DescribeHandles(vk, device, extensions, info);
  if (info.imports_host_pointers) info.host_pointer_alignment = host_pointers.minImportedHostPointerAlignment;

  uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  const int32_t family = ComputeFamily(vk, device);
  info.timestamps =
      family >= 0 && families[static_cast<size_t>(family)].timestampValidBits > 0 && limits.timestampPeriod > 0;

  constexpr VkSubgroupFeatureFlags kOperations =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  Capabilities& can = info.capabilities;
  const auto set = [&can](Capability capability, bool has) { can.has[static_cast<size_t>(capability)] = has; };
  set(Capability::kStorage16, features.storage16.storageBuffer16BitAccess == VK_TRUE);
  set(Capability::kStorage8, features.storage8.storageBuffer8BitAccess == VK_TRUE);
  set(Capability::kInt64, features.features.features.shaderInt64 == VK_TRUE);
  set(Capability::kFp16, features.float16_int8.shaderFloat16 == VK_TRUE);
  set(Capability::kInt8, features.float16_int8.shaderInt8 == VK_TRUE);
  set(Capability::kDotProduct, features.dot_product.shaderIntegerDotProduct == VK_TRUE &&
                                   dot.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE);
  set(Capability::kSubgroup, (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                 (subgroup.supportedOperations & kOperations) == kOperations);
  set(Capability::kSharedMemory, true);
  can.full_subgroups = features.subgroup_size.subgroupSizeControl == VK_TRUE &&
                       features.subgroup_size.computeFullSubgroups == VK_TRUE &&
                       (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  if (features.coop_matrix.cooperativeMatrix == VK_TRUE &&
      (coop.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
    const std::vector<VkCooperativeMatrixPropertiesKHR> matrices = CoopMatricesOf(vk, device);
    info.coop_matrix_shapes = TextOf(matrices);
    can.coop_matrix = UsableShape(matrices);
    // A cooperative matrix belongs to a whole subgroup, so kernels need full subgroups.
    set(Capability::kCoopMatrix, can.coop_matrix.m > 0 && can.full_subgroups);
  }
  if (info.type == DeviceType::kSoftware) {
    for (const Capability emulated : {Capability::kSubgroup, Capability::kSharedMemory, Capability::kCoopMatrix}) {
      can.slow[static_cast<size_t>(emulated)] = can.Has(emulated);
      set(emulated, false);
    }
  }
  set(Capability::kTimeline, features.timeline.timelineSemaphore == VK_TRUE);
  can.subgroup_size = info.subgroup_size;
  can.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  std::copy_n(limits.maxComputeWorkGroupCount, 3, can.max_workgroup_count);
  can.max_shared_memory = limits.maxComputeSharedMemorySize;
  can.max_buffer_range = limits.maxStorageBufferRange;
  // llvmpipe ends all loops of an invocation after 65,535 passes (LP_MAX_TGSI_LOOP_ITERATIONS). The difference is a
  // reserve for loops that are not counted.
  if (info.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE) can.max_passes = 65'000;
  can.buffer_offset_alignment = std::max<uint64_t>(limits.minStorageBufferOffsetAlignment, 4);
  can.max_bindings = std::min({limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers,
                               limits.maxPerStageResources, 64u}) - 1;
  return info;
}

}  // namespace epiphyte::vulkan
