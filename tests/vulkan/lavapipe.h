// The device that Vulkan tests run on: Mesa's software device, pinned, so that the same driver is used on every machine.
//
//     if (!PinLavapipe()) GTEST_SKIP() << kNoLavapipe;
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace epiphyte::vulkan {

inline constexpr const char* kNoLavapipe = "Mesa's software device is not there; install mesa-vulkan-drivers";

// Before the first instance is opened. False: it is not installed.
inline bool PinLavapipe() {
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator("/usr/share/vulkan/icd.d", error)) {
    if (!file.path().filename().string().starts_with("lvp_icd")) continue;
    setenv("VK_DRIVER_FILES", file.path().c_str(), 1);
    setenv("VK_ICD_FILENAMES", file.path().c_str(), 1);  // what loaders before 1.3.207 look at
    return true;
  }
  return false;
}

}  // namespace epiphyte::vulkan
