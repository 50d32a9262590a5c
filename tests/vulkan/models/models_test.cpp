// The smaller generated models agree with the CPU plugin, from their files and from contexts.

#include <gtest/gtest.h>

#include "tests/vulkan/lavapipe.h"
#include "tests/vulkan/models/model_agreement.h"

namespace epiphyte::test {
namespace {

class VulkanModel : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!ModelAgreement::HasDevice()) GTEST_SKIP() << vulkan::kNoLavapipe;
  }
};

INSTANTIATE_TEST_SUITE_P(Small, VulkanModel,
                         ::testing::Values("tiny_add", "chain_1000", "control_flow", "detector_tail", "lstm_tagger",
                                           "squeezenet1.1", "mobilenetv2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& letter : name)
                             if (letter == '.') letter = '_';
                           return name;
                         });

TEST_P(VulkanModel, AgreesFromAFileAndFromContexts) {
  ModelAgreement agreement(GetParam());
  ASSERT_GT(agreement.Share(), 0) << agreement.Others();
  for (Route route : {Route::kFile, Route::kContext, Route::kEmbeddedContext}) {
    SCOPED_TRACE(static_cast<int>(route));
    agreement.Check(route);
  }
}

class WholeModel : public VulkanModel {};

INSTANTIATE_TEST_SUITE_P(Static, WholeModel, ::testing::Values("mobilenetv2"));

TEST_P(WholeModel, IsOnePartition) {
  const ModelAgreement agreement(GetParam());
  EXPECT_GE(agreement.Share(), 0.95) << agreement.Others();
  EXPECT_EQ(agreement.Partitions(), 1u);
}

}  // namespace
}  // namespace epiphyte::test
