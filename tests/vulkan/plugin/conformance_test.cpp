// The plugin keeps every rule of the ABI, including those for devices, with timeline semaphores and without.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "host/conformance/suite.h"
#include "tests/framework/temp_dir.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::conformance {
namespace {

using testing::Contains;
using testing::IsEmpty;

class VulkanConformance : public testing::TestWithParam<const char*> {};

TEST_P(VulkanConformance, NoRuleIsBroken) {
  if (!vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
  const test::TempDir dir;
  const std::filesystem::path manifest =
      dir.Write("vulkan.yaml", std::string("manifest_version: 1\nname: vulkan\nvendor: Epiphyte\nversion: ") +
                                   EPIPHYTE_VERSION "\nlicense: Apache-2.0\ndescription: Vulkan\nlibrary: " +
                                   EPIPHYTE_VULKAN_LIBRARY "\nabi: \"0.2\"\nsources: [EpiphyteVulkan]\n" +
                                   "devices: [gpu]\n" + GetParam());
  std::vector<std::string> broken;
  std::set<int> passed;
  for (const RuleResult& result : RunSuite(ReadTarget(manifest), {})) {
    const int number = static_cast<int>(result.rule);
    if (result.outcome == Outcome::kFail) broken.push_back("R" + std::to_string(number) + " " + result.message);
    if (result.outcome == Outcome::kPass) passed.insert(number);
  }
  EXPECT_THAT(broken, IsEmpty());
  for (const int rule : {1201, 1204, 1211, 1222, 1225, 1226, 1227, 1228, 1229, 1230, 1231,
                         1233, 1243, 1244, 1245, 1246, 1247, 1248, 1249, 1264, 1267, 1268})
    EXPECT_THAT(passed, Contains(rule));
}

INSTANTIATE_TEST_SUITE_P(Parameters, VulkanConformance, testing::Values("", "parameters: {disable: timeline}\n"),
                         [](const auto& info) { return std::string(info.index == 0 ? "timeline" : "fences"); });

}  // namespace
}  // namespace epiphyte::conformance
