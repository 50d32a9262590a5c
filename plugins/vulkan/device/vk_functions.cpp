#include "plugins/vulkan/device/vk_functions.h"

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {

std::string NameOf(VkResult result) {
  switch (result) {
#define EPIPHYTE_VK_RESULT(name) \
  case name:                     \
    return #name;
    EPIPHYTE_VK_RESULT(VK_SUCCESS)
    EPIPHYTE_VK_RESULT(VK_NOT_READY)
    EPIPHYTE_VK_RESULT(VK_TIMEOUT)
    EPIPHYTE_VK_RESULT(VK_INCOMPLETE)
    EPIPHYTE_VK_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
    EPIPHYTE_VK_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    EPIPHYTE_VK_RESULT(VK_ERROR_INITIALIZATION_FAILED)
    EPIPHYTE_VK_RESULT(VK_ERROR_DEVICE_LOST)
    EPIPHYTE_VK_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
    EPIPHYTE_VK_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
    EPIPHYTE_VK_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
    EPIPHYTE_VK_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
    EPIPHYTE_VK_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
    EPIPHYTE_VK_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
    EPIPHYTE_VK_RESULT(VK_ERROR_FRAGMENTED_POOL)
    EPIPHYTE_VK_RESULT(VK_ERROR_UNKNOWN)
    EPIPHYTE_VK_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY)
    EPIPHYTE_VK_RESULT(VK_ERROR_FRAGMENTATION)
    EPIPHYTE_VK_RESULT(VK_ERROR_INVALID_SHADER_NV)
    EPIPHYTE_VK_RESULT(VK_ERROR_NOT_PERMITTED_KHR)
    EPIPHYTE_VK_RESULT(VK_ERROR_INVALID_EXTERNAL_HANDLE)
#undef EPIPHYTE_VK_RESULT
    default:
      return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

void FailCall(std::string_view call, VkResult result, std::string_view detail) {
  EpStatusCode code = EP_STATUS_ENGINE_ERROR;
  std::string_view advice;
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) code = EP_STATUS_OUT_OF_MEMORY;
  if (result == VK_ERROR_DEVICE_LOST) {
    code = EP_STATUS_DEVICE_RESET;
    advice = "; the device is lost: make a new session";
  }
  kit::FailWith(code, call, " failed with ", NameOf(result), detail.empty() ? "" : ": ", detail, advice);
}

}  // namespace epiphyte::vulkan
