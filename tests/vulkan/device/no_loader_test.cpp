#include <cstdlib>

#include "tests/vulkan/device/hidden_loader.h"
#include "tests/vulkan/device/test_device.h"

namespace epiphyte::vulkan {
namespace {

// The test runs in a separate process, because a library that was loaded once stays loaded.
TEST(NoLoaderDeathTest, WithoutTheLoaderThereIsNoInstanceAndTheReasonNamesThePackage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        HideVulkanLoader();
        const OpenedInstance opened = OpenInstance();
        const bool right = opened.instance == nullptr && opened.why_not.find("install libvulkan1") != std::string::npos;
        std::exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace epiphyte::vulkan
