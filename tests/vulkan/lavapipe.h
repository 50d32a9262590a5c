// The device that Vulkan tests run on: Mesa's software device. The driver is pinned, so that every machine uses the
// same one.
//
//     if (!PinLavapipe()) GTEST_SKIP() << kNoLavapipe;
//
// EPIPHYTE_VULKAN_TEST_DRIVER=/usr/share/vulkan/icd.d/nvidia_icd.json runs the tests on that driver's first device
// instead.
// EPIPHYTE_VULKAN_TEST_PREFER=subgroup sets the provider's option `prefer` in tests that run operators in sessions.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace epiphyte::vulkan {

inline constexpr const char* kNoLavapipe = "Mesa's software device is not there; install mesa-vulkan-drivers";

inline void PinDriver(const char* file) {
  setenv("VK_DRIVER_FILES", file, 1);
  setenv("VK_ICD_FILENAMES", file, 1);  // read by loaders before 1.3.207
}

// Value of DeviceChoice::device that selects the test device.
inline const char* TestDevice() { return std::getenv("EPIPHYTE_VULKAN_TEST_DRIVER") == nullptr ? "software" : "0"; }

// True if the test device is Mesa's software device, also when EPIPHYTE_VULKAN_TEST_DRIVER names its driver.
inline bool IsLavapipe() {
  const char* const driver = std::getenv("EPIPHYTE_VULKAN_TEST_DRIVER");
  return driver == nullptr || std::string_view(driver).find("lvp_icd") != std::string_view::npos;
}

// Value of the provider's option `prefer`; "" if none is set.
inline const char* TestPreference() {
  const char* const wanted = std::getenv("EPIPHYTE_VULKAN_TEST_PREFER");
  return wanted == nullptr ? "" : wanted;
}

// Pins the driver; call it before the first instance is opened. Returns false if the software device is not installed.
inline bool PinLavapipe() {
  if (const char* const other = std::getenv("EPIPHYTE_VULKAN_TEST_DRIVER"); other != nullptr) {
    PinDriver(other);
    return true;
  }
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator("/usr/share/vulkan/icd.d", error)) {
    if (!file.path().filename().string().starts_with("lvp_icd")) continue;
    PinDriver(file.path().c_str());
    return true;
  }
  return false;
}

}  // namespace epiphyte::vulkan
