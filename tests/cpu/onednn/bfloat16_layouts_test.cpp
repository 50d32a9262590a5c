// Values passed between convolutions in bfloat16 are stored as bfloat16. All other readers get float.
#include <gmock/gmock.h>

#include <cmath>

#include "plugins/cpu/onednn/compat.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using kit::ir::Attribute;
using testing::ElementsAreArray;

constexpr int64_t kChannels = 32, kSide = 8, kCount = kChannels * kSide * kSide;
const std::vector<int64_t> kDims = {1, kChannels, kSide, kSide};

std::vector<float> Waves(int64_t count, double step, float size) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = size * static_cast<float>(std::sin(static_cast<double>(i) * step));
  return values;
}

int32_t Conv(PlanBuilder& b, int32_t x, double step) {
  const int32_t w = b.Constant({kChannels, kChannels, 3, 3}, Waves(kChannels * kChannels * 9, step, 0.1f));
  return b.Node("Conv", 11, {x, w}, kDims, {Attribute::Ints("pads", {1, 1, 1, 1})});
}

// Three convolutions with a residual sum, one more, a Softmax that reads every number as float, and a last convolution.
kit::ir::Graph Chain() {
  PlanBuilder b;
  const int32_t first = Conv(b, b.Input(kDims), 0.3);
  const int32_t sum = b.Node("Add", 14, {Conv(b, Conv(b, first, 0.7), 1.1), first}, kDims);
  b.Output(Conv(b, b.Node("Softmax", 13, {Conv(b, sum, 0.45)}, kDims, {Attribute::Int("axis", 3)}), 0.9));
  return b.Take();
}

PlanRunner Runner(kit::ir::Graph graph, bool bfloat16, std::vector<kit::PackedData> packed = {}) {
  return PlanRunner(std::move(graph), packed.empty(), std::move(packed), cpu::PlanOrigin::kMadeNow, bfloat16);
}

TEST(Bfloat16Layouts, AreWhatConvolutionsAloneRead) {
  PlanRunner runner = Runner(Chain(), false);
  ASSERT_EQ(Operators(runner.plan().def()), "Conv Conv Conv* Conv Softmax Conv");
  std::vector<bool> may_be;
  for (const kit::ir::Node& node : runner.plan().def().nodes)
    may_be.push_back(runner.plan().may_be_bfloat16(node.outputs[0]));
  EXPECT_THAT(may_be, ElementsAreArray({true, true, true, false, true, false}));
}

TEST(Bfloat16Layouts, AreAsNearAsTheRoundingOfProducts) {
  if (!cpu::HasBfloat16Products()) GTEST_SKIP() << "this CPU multiplies no bfloat16";
  const std::vector<float> x = Waves(kCount, 0.2, 1);
  PlanRunner exact = Runner(Chain(), false), rounded = Runner(Chain(), true);
  const std::vector<float> expected = exact.Run({x}), found = rounded.Run({x});
  double error = 0, size = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    error += std::pow(found[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  EXPECT_LT(std::sqrt(error / size), 0x1p-5);
  EXPECT_GT(error, 0);
  PlanRunner loaded = Runner(kit::ir::Graph(rounded.plan().def()), true, rounded.plan().packed());
  EXPECT_FALSE(loaded.plan().repacked());
  EXPECT_THAT(loaded.Run({x}), ElementsAreArray(found));
}

}  // namespace
}  // namespace epiphyte::test
