// The large generated models agree with the CPU plugin, from their files and from contexts.

#include <gtest/gtest.h>

#include "tests/vulkan/lavapipe.h"
#include "tests/vulkan/models/model_agreement.h"

namespace epiphyte::test {
namespace {

class VulkanLargeModel : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!ModelAgreement::HasDevice()) GTEST_SKIP() << vulkan::kNoLavapipe;
  }
};

INSTANTIATE_TEST_SUITE_P(Large, VulkanLargeModel,
                         ::testing::Values("resnet50", "bert_base", "llama_prefill", "llama_decode"));

TEST_P(VulkanLargeModel, IsAlmostWholeAndAgreesFromAFileAndFromContexts) {
  ModelAgreement agreement(GetParam());
  EXPECT_GE(agreement.Share(), 0.95) << agreement.Others();
  for (Route route : {Route::kFile, Route::kContext, Route::kEmbeddedContext}) {
    SCOPED_TRACE(static_cast<int>(route));
    agreement.Check(route);
  }
}

class VulkanLargeStaticModel : public VulkanLargeModel {};

INSTANTIATE_TEST_SUITE_P(Large, VulkanLargeStaticModel, ::testing::Values("resnet50", "bert_base"));

TEST_P(VulkanLargeStaticModel, IsOnePartition) { EXPECT_EQ(ModelAgreement(GetParam()).Partitions(), 1u); }

}  // namespace
}  // namespace epiphyte::test
