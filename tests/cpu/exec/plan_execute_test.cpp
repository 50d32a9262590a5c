// Running a plan: a memory plan from the first run, changing shapes, outputs in the host's memory, errors.
#include <gmock/gmock.h>

#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Frame, RunsAgainAndAgainWithOtherData) {
  PlanBuilder b;
  const int32_t x = b.Input({4});
  const int32_t y = b.Node("Softmax", 13, {b.Node("Neg", 13, {x}, {4})}, {4});
  b.Output(b.Node("CumSum", 14, {y, b.Constant({}, {0})}, {4}));
  kit::ir::Graph def = b.Take();
  // CumSum's axis must be an integer. The builder makes float constants, so the test replaces this one.
  static const int32_t kAxis = 0;
  kit::ir::Constant& axis = def.constants[0];
  axis.tensor.type = EP_TYPE_INT32;
  axis.tensor.data = const_cast<int32_t*>(&kAxis);
  def.values[axis.value].type = EP_TYPE_INT32;
  PlanRunner runner(std::move(def));
  for (int run = 0; run < 4; ++run) {
    const std::vector<float> sums = runner.Run({{0, 0, static_cast<float>(run), 0}});
    EXPECT_FLOAT_EQ(sums.back(), 1.0f);
    EXPECT_EQ(sums[0], sums[1] - sums[0]);
  }
  EXPECT_EQ(runner.frame_count(), 1u);
}

TEST(Frame, EachShapeHasItsOwnFrame) {
  PlanBuilder b;
  b.Output(b.Node("Relu", 14, {b.Input({-1})}, {-1}));
  PlanRunner runner(b.Take());
  EXPECT_THAT(runner.Run({{-1, 2}}, {{2}}), ElementsAre(0, 2));
  EXPECT_THAT(runner.Run({{3, -4, 5}}, {{3}}), ElementsAre(3, 0, 5));
  EXPECT_THAT(runner.Run({{6, -1}}, {{2}}), ElementsAre(6, 0));
  EXPECT_THAT(runner.Run({{}}, {{0}}), ElementsAre());
  EXPECT_EQ(runner.frame_count(), 3u);
}

TEST(Frame, DataDependentShapesMayGrowAfterTheProfiledRun) {
  PlanBuilder b;
  const int32_t x = b.Input({6});
  // Compress keeps the positive elements: two in the first run, six in the second, none in the third.
  kit::ir::Graph def;
  const int32_t condition = b.Node("Greater", 13, {x, b.Constant({}, {0})}, {6});
  const int32_t kept = b.Node("Compress", 11, {x, condition}, {-1});
  b.Output(b.Node("Neg", 13, {b.Node("Softsign", 1, {kept}, {-1})}, {-1}));
  def = b.Take();
  def.values[condition].type = EP_TYPE_BOOL;
  PlanRunner runner(std::move(def));
  EXPECT_EQ(runner.Run({{1, -1, -1, -1, -1, 1}}).size(), 2u);
  EXPECT_THAT(runner.Run({{1, 1, 1, 1, 1, 1}}), ElementsAre(-0.5f, -0.5f, -0.5f, -0.5f, -0.5f, -0.5f));
  EXPECT_EQ(runner.Run({{-1, -1, -1, -1, -1, -1}}).size(), 0u);
  EXPECT_EQ(runner.frame_count(), 1u);
}

TEST(Frame, AnOutputIsAllocatedOnceAndWrittenByItsKernel) {
  PlanBuilder b;
  const int32_t x = b.Input({3});
  const int32_t y = b.Node("Relu", 14, {x}, {3});
  b.Output(y);
  b.Output(b.Node("Reshape", 14, {y, b.Constant({2}, {})}, {3, 1}));
  b.Output(x);
  b.Output(y);
  kit::ir::Graph def = b.Take();
  static const int64_t kShape[] = {3, 1};
  kit::ir::Constant& shape = def.constants[0];
  shape.tensor.type = EP_TYPE_INT64;
  shape.tensor.data = const_cast<int64_t*>(kShape);
  def.values[shape.value].type = EP_TYPE_INT64;
  PlanRunner runner(std::move(def));
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(runner.Run({{-1, 0, 1}}), ElementsAre(0, 0, 1));
    const auto& outputs = runner.last_run().outputs;
    for (const auto& output : outputs) EXPECT_EQ(output.allocations, 1);
    EXPECT_THAT(outputs[1].data, ElementsAre(0, 0, 1));
    EXPECT_THAT(outputs[1].dims, ElementsAre(3, 1));
    EXPECT_THAT(outputs[2].data, ElementsAre(-1, 0, 1));
    EXPECT_THAT(outputs[3].data, ElementsAre(0, 0, 1));
  }
}

TEST(Frame, AnErrorNamesTheNodeAndLeavesTheFrameUsable) {
  PlanBuilder b;
  const int32_t a = b.Input({-1, -1});
  const int32_t c = b.Input({-1, -1});
  b.Output(b.Node("MatMul", 13, {b.Node("Softmax", 13, {a}, {-1, -1}), c}, {-1, -1}));
  PlanRunner runner(b.Take());
  try {
    runner.Run({{1, 2}, {1, 2, 3}}, {{1, 2}, {3, 1}});
    FAIL() << "inner dimensions 2 and 3 were multiplied";
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), HasSubstr("node 'MatMul"));
    EXPECT_THAT(error.what(), HasSubstr("2 and 3"));
  }
  EXPECT_THAT(runner.Run({{1, 1}, {2, 4}}, {{1, 2}, {2, 1}}), ElementsAre(3));
}

TEST(Frame, AnInputOfAnotherTypeThanDeclaredIsRefused) {
  PlanBuilder b;
  b.Output(b.Node("Softmax", 13, {b.Input({2})}, {2}));
  kit::ir::Graph def = b.Take();
  def.values[def.inputs[0]].type = EP_TYPE_DOUBLE;
  def.values[def.outputs[0]].type = EP_TYPE_DOUBLE;
  PlanRunner runner(std::move(def), false);
  EXPECT_THROW(runner.Run({{1, 2}}), kit::Error);
}

TEST(Plan, AnOperatorWithoutKernelIsNotImplementedAndNamed) {
  PlanBuilder b;
  b.Output(b.Node("Frobnicate", 1, {b.Input({2})}, {2}));
  try {
    PlanRunner runner(b.Take());
    FAIL() << "a kernel was found";
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_NOT_IMPLEMENTED);
    EXPECT_THAT(error.what(), HasSubstr("no kernel for operator Frobnicate"));
  }
}

// The plan chooses the layout of packed weights for the declared shape. A model may declare any shape.
TEST(Plan, AnInputDeclaredBeyondAllMemoryIsPlannedFor) {
  for (int64_t rows : {int64_t{INT32_MAX}, int64_t{1} << 32, int64_t{1} << 38}) {
    PlanBuilder products;
    const int32_t a = products.Input({rows, 16});
    products.Output(
        products.Node("MatMul", 13, {a, products.Constant({16, 48}, std::vector<float>(16 * 48, 1))}, {rows, 48}));
    EXPECT_EQ(PlanRunner(products.Take()).Run({std::vector<float>(16, 0.5f)}, {{1, 16}})[0], 8.0f);
    PlanBuilder gemm;
    const int32_t b = gemm.Input({rows, 16});
    gemm.Output(gemm.Node("Gemm", 13, {b, gemm.Constant({16, 48}, std::vector<float>(16 * 48, 1))}, {rows, 48}));
    EXPECT_EQ(PlanRunner(gemm.Take()).Run({std::vector<float>(16, 0.5f)}, {{1, 16}})[0], 8.0f);
    PlanBuilder images;
    const int32_t x = images.Input({1, 1, rows, 3});
    images.Output(
        images.Node("Conv", 11, {x, images.Constant({2, 1, 3, 3}, std::vector<float>(18, 1))}, {1, 2, rows - 2, 1}));
    EXPECT_EQ(PlanRunner(images.Take()).Run({std::vector<float>(9, 0.5f)}, {{1, 1, 3, 3}})[0], 4.5f);
  }
}

TEST(Plan, PackedConstantsAreNotKeptTwice) {
  PlanBuilder b;
  const int32_t x = b.Input({2, 64});
  b.Output(b.Node("MatMul", 13, {x, b.Constant({64, 64}, std::vector<float>(64 * 64, 1))}, {2, 64}));
  PlanRunner runner(b.Take());
  ASSERT_EQ(runner.plan().packed().size(), 1u);
  EXPECT_EQ(runner.plan().def().constants[0].storage, kit::ir::Constant::Storage::kDropped);
  EXPECT_EQ(runner.Run({std::vector<float>(128, 0.5f)})[0], 32.0f);
}

}  // namespace
}  // namespace epiphyte::test
