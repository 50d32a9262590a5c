#include "tests/vulkan/device/hidden_loader.h"

#include <dlfcn.h>

#include <cstring>

namespace {
bool hidden = false;
}

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file, int mode) {
  using Function = void* (*)(const char*, int);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "dlopen"));
  return hidden && file != nullptr && std::strstr(file, "libvulkan") != nullptr ? nullptr : real(file, mode);
}

namespace epiphyte::vulkan {

void HideVulkanLoader() { hidden = true; }

}  // namespace epiphyte::vulkan
