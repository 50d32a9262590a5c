// The plugin keeps every rule of the plugin API, with each SDK.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "host/conformance/suite.h"
#include "tests/npu/ep/npu_harness.h"

namespace epiphyte::conformance {
namespace {

using testing::Contains;
using testing::IsEmpty;

class NpuConformance : public testing::TestWithParam<const char*> {};

TEST_P(NpuConformance, NoRuleIsBroken) {
  const std::filesystem::path sdk =
      std::string_view(GetParam()) == "npusim" ? test::SimulatorLibrary() : test::MinimalLibrary();
  const test::TempDir dir;
  const std::filesystem::path manifest = dir.Write("npu.yaml", test::NpuManifest(sdk));
  std::vector<std::string> broken;
  std::set<int> passed;
  for (const RuleResult& result : RunSuite(ReadTarget(manifest), {})) {
    const int number = static_cast<int>(result.rule);
    if (result.outcome == Outcome::kFail) broken.push_back("R" + std::to_string(number) + " " + result.message);
    if (result.outcome == Outcome::kPass) passed.insert(number);
  }
  EXPECT_THAT(broken, IsEmpty());
  // Without units of quantized numbers in the suite, no rule about kernels and contexts would apply.
  EXPECT_GE(passed.size(), 150u);
}

INSTANTIATE_TEST_SUITE_P(Sdk, NpuConformance, testing::Values("npusim", "minimal"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace epiphyte::conformance
