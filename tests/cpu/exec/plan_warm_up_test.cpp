// The warm-up makes the objects of the first run ahead of time, so that the first run isn't slower than later ones.
#include <gmock/gmock.h>

#include "epiphyte/kit/graph/text.hpp"
#include "plugins/cpu/exec/fuse.h"
#include "plugins/cpu/exec/warm_up.h"
#include "plugins/cpu/onednn/reorder_call.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/provider.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {
namespace {

using kit::ir::Graph;
using testing::Each;
using testing::ElementsAre;
using testing::Eq;

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i % 13) - 6;
  return numbers;
}

// A convolution, its activation, a matrix product and a sum.
Graph Network(int64_t batch = 1) {
  PlanBuilder b;
  const int32_t x = b.Input({batch, 3, 8, 8});
  const int32_t conv = b.Node("Conv", 11, {x, b.Constant({16, 3, 3, 3}, Numbers(432))}, {batch, 16, 6, 6});
  const int32_t relu = b.Node("Relu", 14, {conv}, {batch, 16, 6, 6});
  const int32_t product = b.Node("MatMul", 13, {relu, b.Constant({6, 4}, Numbers(24))}, {batch, 16, 6, 4});
  b.Output(b.Node("Add", 14, {product, b.Constant({4}, {1, 2, 3, 4})}, {batch, 16, 6, 4}));
  return b.Take();
}

std::unique_ptr<cpu::Plan> Build(Graph def) {
  cpu::PlanConfig config;
  config.registry = &AllKernels();
  config.threads = {&kSingleThreadServices, nullptr, 1};
  return cpu::Plan::Build(std::move(def), config);
}

std::unique_ptr<cpu::Frame> WarmUpFrame(const cpu::Plan& plan) { return cpu::WarmUp(plan, *FakeHost()); }

std::vector<float> RunFrame(cpu::Frame& frame, const std::vector<int64_t>& dims, const std::vector<float>& data) {
  EpTensorView tensor = {};
  tensor.struct_size = sizeof tensor;
  tensor.element_type = EP_TYPE_FLOAT;
  tensor.rank = static_cast<uint32_t>(dims.size());
  tensor.dims = dims.data();
  tensor.data = data.data();
  tensor.element_count = data.size();
  tensor.byte_size = data.size() * sizeof(float);
  const EpValueView view = {sizeof view, EP_KIND_TENSOR, &tensor, nullptr, 0, 0, 0};
  const EpValueView* const inputs[] = {&view};
  FakeRun run;
  run.outputs.resize(1);
  const EpRunInfo info = {sizeof info, 1, 1, 1, inputs};
  EXPECT_TRUE(frame.Matches(info));
  frame.Execute(kit::Run(*FakeHost(), reinterpret_cast<EpRun*>(&run), info));
  std::vector<float> result(run.outputs[0].bytes / sizeof(float));
  std::memcpy(result.data(), run.outputs[0].memory.get(), run.outputs[0].bytes);
  return result;
}

TEST(WarmUp, TheFrameComputesAsAnyOther) {
  const std::unique_ptr<cpu::Plan> plan = Build(Network());
  const std::unique_ptr<cpu::Frame> frame = WarmUpFrame(*plan);
  ASSERT_NE(frame, nullptr);
  const std::vector<float> x = Numbers(192);
  PlanRunner runner(Network(), false);
  const std::vector<float> expected = runner.Run({x});
  EXPECT_THAT(RunFrame(*frame, {1, 3, 8, 8}, x), testing::Pointwise(testing::FloatNear(1e-3f), expected));
  EXPECT_THAT(RunFrame(*frame, {1, 3, 8, 8}, x), testing::Pointwise(testing::FloatNear(1e-3f), expected));
}

TEST(WarmUp, WhatIsRepackedIsKeptForTheRuns) {
  const auto network = [] {
    PlanBuilder b;
    const int32_t w = b.Constant({32, 16, 2, 2}, Numbers(32 * 16 * 4));
    b.Output(b.Node("ConvTranspose", 11, {b.Input({1, 32, 4, 4}), w}, {1, 16, 8, 8},
                    {kit::ir::Attribute::Ints("strides", {2, 2})}));
    return b.Take();
  };
  const std::unique_ptr<cpu::Plan> plan = Build(network());
  const std::unique_ptr<cpu::Frame> frame = WarmUpFrame(*plan);
  ASSERT_NE(frame, nullptr);
  const std::vector<float> x = Numbers(32 * 16);
  PlanRunner runner(network(), false);
  EXPECT_EQ(RunFrame(*frame, {1, 32, 4, 4}, x), runner.Run({x}));
}

// The warm-up skips the computation of large results: an activation that oneDNN leaves to the plugin, an Elementwise
// program, attention.
TEST(WarmUp, WhatItLeavesOutTheRunsCompute) {
  const auto network = [] {
    PlanBuilder b;
    const int32_t x = b.Input({1, 16, 24, 24});
    const int32_t conv = b.Node("Conv", 11, {x, b.Constant({16, 16, 1, 1}, Numbers(256))}, {1, 16, 24, 24});
    const int32_t sigmoid = b.Node("Sigmoid", 13, {conv}, {1, 16, 24, 24});
    const int32_t swish = b.Node("Mul", 14, {conv, sigmoid}, {1, 16, 24, 24});
    const int32_t pool = b.Node("GlobalAveragePool", 1, {swish}, {1, 16, 1, 1});
    const int32_t gated = b.Node("Mul", 14, {swish, pool}, {1, 16, 24, 24});
    const int32_t keys =
        b.Node("Transpose", 13, {gated}, {1, 16, 24, 24}, {kit::ir::Attribute::Ints("perm", {0, 1, 3, 2})});
    const int32_t scores = b.Node("MatMul", 13, {gated, keys}, {1, 16, 24, 24});
    const int32_t weights = b.Node("Softmax", 13, {scores}, {1, 16, 24, 24}, {kit::ir::Attribute::Int("axis", -1)});
    b.Output(b.Node("MatMul", 13, {weights, gated}, {1, 16, 24, 24}));
    return b.Take();
  };
  const std::vector<float> x = Numbers(16 * 24 * 24);
  Graph fused = network();
  cpu::Fuse(fused, AllKernels());
  EXPECT_THAT(Operators(fused), testing::AllOf(testing::HasSubstr("Elementwise*"), testing::HasSubstr("Attention*")));
  const std::unique_ptr<cpu::Plan> plan = Build(std::move(fused));
  const std::unique_ptr<cpu::Frame> frame = WarmUpFrame(*plan);
  ASSERT_NE(frame, nullptr);
  PlanRunner runner(network(), false);
  EXPECT_THAT(RunFrame(*frame, {1, 16, 24, 24}, x), testing::Pointwise(testing::FloatNear(1e-2f), runner.Run({x})));
}

// The warm-up trusts the declared shape of Expand's output until the kernel gives another one.
TEST(WarmUp, AnOutputThatIsMuchLargerThanDeclaredEndsIt) {
  const std::unique_ptr<cpu::Plan> plan = Build(kit::ir::FromText(R"(graph "liar"
in x: float[1]
const sizes: int64[1] = [536870912]
y = Expand@13(x, sizes) : float[1]
out y
)"));
  EXPECT_EQ(WarmUpFrame(*plan), nullptr);
}

TEST(WarmUp, PlanWithoutInputsIsNotWarmedUp) {
  PlanBuilder b;
  b.Output(b.Node("Neg", 13, {b.Constant({2}, {1, 2})}, {2}));
  EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
}

TEST(WarmUp, ItEndsWhenTheApplicationHasCancelled) {
  const std::unique_ptr<cpu::Plan> plan = Build(Network());
  int asked = 0;
  EXPECT_EQ(cpu::WarmUp(*plan, *FakeHost(), [&] { return ++asked == 2; }), nullptr);
  EXPECT_EQ(asked, 2);
  EXPECT_NE(cpu::WarmUp(*plan, *FakeHost(), [] { return false; }), nullptr);
}

TEST(WarmUp, TheMemoryPlanIsKnownAfterwards) {
  const std::unique_ptr<cpu::Plan> plan = Build(Network());
  const cpu::ShapeSignature signature = {EP_KIND_TENSOR, EP_TYPE_FLOAT, 4, 1, 3, 8, 8};
  EXPECT_EQ(plan->FindMemoryPlan(signature), nullptr);
  ASSERT_NE(WarmUpFrame(*plan), nullptr);
  EXPECT_NE(plan->FindMemoryPlan(signature), nullptr);
}

TEST(WarmUp, UnknownBatchSizeIsTakenAsOne) {
  const std::unique_ptr<cpu::Plan> plan = Build(Network(-1));
  const std::unique_ptr<cpu::Frame> frame = WarmUpFrame(*plan);
  ASSERT_NE(frame, nullptr);
  const std::vector<float> x = Numbers(192);
  PlanRunner runner(Network(), false);
  EXPECT_THAT(RunFrame(*frame, {1, 3, 8, 8}, x), testing::Pointwise(testing::FloatNear(1e-3f), runner.Run({x})));
  EXPECT_FALSE(frame->is_warmup());
}

TEST(WarmUp, OtherOpenShapesAreLeftToTheFirstRun) {
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{1, -1}, {-1, -1}}) {
    PlanBuilder b;
    b.Output(b.Node("Relu", 14, {b.Node("Neg", 13, {b.Input(dims)}, dims)}, dims));
    EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
  }
  PlanBuilder b;
  const int32_t x = b.Input({2});
  b.Info(x).rank = -1;
  b.Info(x).dims.clear();
  b.Output(b.Node("Neg", 13, {x}, {2}));
  EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
}

// NonZero's number of elements depends on the data; the warm-up runs on zeros and finds none.
TEST(WarmUp, PlanThatDoesNotFitTheFirstRunIsMadeAnew) {
  PlanBuilder b;
  const int32_t x = b.Input({-1, 64});
  const int32_t found = b.Node("NonZero", 13, {x}, {2, -1});
  b.Info(found).type = EP_TYPE_INT64;
  const int32_t cast = b.Node("Cast", 13, {found}, {2, -1}, {kit::ir::Attribute::Int("to", EP_TYPE_FLOAT)});
  b.Output(b.Node("Neg", 13, {cast}, {2, -1}));
  const std::unique_ptr<cpu::Plan> plan = Build(b.Take());
  const std::unique_ptr<cpu::Frame> frame = WarmUpFrame(*plan);
  ASSERT_NE(frame, nullptr);
  const std::vector<float> ones(64, 1);
  const uint64_t before = frame->memory_bytes();
  const std::vector<float> first = RunFrame(*frame, {1, 64}, ones);
  EXPECT_EQ(RunFrame(*frame, {1, 64}, ones), first);
  EXPECT_GE(frame->memory_bytes(), before + 2 * 64 * sizeof(int64_t));
  EXPECT_EQ(RunFrame(*frame, {1, 64}, ones), first);
  EXPECT_EQ(first.size(), 128u);
  EXPECT_EQ(first.back(), -63);
}

// The product's shape is known only at run time, when it takes 2 GiB.
TEST(WarmUp, MemoryBeyondReasonIsLeftToTheFirstRun) {
  PlanBuilder b;
  const int32_t x = b.Input({-1, 1024});
  const int32_t square = b.Node("MatMul", 13, {b.Constant({1 << 19, 1}, Numbers(1 << 19)), x}, {1 << 19, -1});
  b.Info(square).rank = -1;
  b.Info(square).dims.clear();
  b.Output(b.Node("ReduceSum", 13, {square}, {1, 1}));
  EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
}

TEST(WarmUp, TextsAreLeftToTheFirstRun) {
  PlanBuilder b;
  const int32_t x = b.Input({2});
  b.Info(x).type = EP_TYPE_STRING;
  const int32_t y = b.Node("Identity", 14, {x}, {2});
  b.Info(y).type = EP_TYPE_STRING;
  b.Output(y);
  EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
}

TEST(WarmUp, HugeValuesAreLeftToTheFirstRun) {
  PlanBuilder b;
  const int32_t x = b.Input({1 << 20, 1 << 10});
  b.Output(b.Node("Relu", 14, {x}, {1 << 20, 1 << 10}));
  EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
}

// Declared shapes may be wrong in any way. The warm-up gives up, and the first run reports the error.
TEST(WarmUp, WhatFailsIsLeftToTheFirstRun) {
  PlanBuilder b;
  const int32_t x = b.Input({2, 3});
  b.Output(b.Node("MatMul", 13, {x, x}, {2, 3}));
  EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
}

TEST(WarmUp, AnInputThatIsAnOutputIsLeftToTheFirstRun) {
  PlanBuilder b;
  b.Output(b.Input({2}));
  EXPECT_EQ(WarmUpFrame(*Build(b.Take())), nullptr);
}

TEST(WarmUpScope, PrimitivesAreMadeButDoNotRun) {
  const std::vector<float> from = {1, 2, 3, 4, 5, 6};
  std::vector<float> to(6, -7);
  const int64_t dims[] = {2, 3};
  const cpu::MemoryDesc plain = cpu::PlainDesc(EP_TYPE_FLOAT, dims);
  const cpu::MemoryDesc turned({2, 3}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ba);
  cpu::ReorderCall call;
  {
    const cpu::WarmUpScope warm_up;
    call.Run(plain, from.data(), turned, to.data());
  }
  EXPECT_THAT(to, Each(Eq(-7)));
  call.Run(plain, from.data(), turned, to.data());
  EXPECT_THAT(to, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(CompiledKernel, FirstStateHasTheWarmedUpFrame) {
  cpu::CompiledKernel kernel(Build(Network()));
  kernel.WarmUp(*FakeHost());
  EXPECT_EQ(kernel.MakeState()->size(), 1u);
  EXPECT_EQ(kernel.MakeState()->size(), 0u);
}

TEST(CompiledKernel, FrameForTheWrongShapeIsReplaced) {
  const std::shared_ptr<const cpu::Plan> plan = Build(Network(-1));
  cpu::CompiledKernel kernel(plan);
  kernel.WarmUp(*FakeHost());
  const std::unique_ptr<cpu::FrameSet> frames = kernel.MakeState();
  EXPECT_EQ(frames->size(), 1u);
  const std::vector<float> x = Numbers(3 * 192);
  const int64_t dims[] = {3, 3, 8, 8};
  EpTensorView tensor = {};
  tensor.struct_size = sizeof tensor;
  tensor.element_type = EP_TYPE_FLOAT;
  tensor.rank = 4;
  tensor.dims = dims;
  tensor.data = x.data();
  tensor.element_count = x.size();
  tensor.byte_size = x.size() * sizeof(float);
  const EpValueView view = {sizeof view, EP_KIND_TENSOR, &tensor, nullptr, 0, 0, 0};
  const EpValueView* const inputs[] = {&view};
  FakeRun run;
  run.outputs.resize(1);
  const EpRunInfo info = {sizeof info, 1, 1, 1, inputs};
  frames->Execute(*plan, kit::Run(*FakeHost(), reinterpret_cast<EpRun*>(&run), info));
  EXPECT_EQ(frames->size(), 1u);
  EXPECT_EQ(run.outputs[0].bytes, 3 * 16 * 6 * 4 * sizeof(float));
}

// Twenty shapes are run. The memory plan of the first one is looked up after each run, so it is kept; that of the
// second is dropped.
TEST(MemoryPlans, TheOneThatWasNotUsedForLongestGoes) {
  PlanBuilder b;
  const int32_t x = b.Input({-1});
  b.Output(b.Node("Neg", 13, {b.Node("Relu", 14, {x}, {-1})}, {-1}));
  PlanRunner runner(b.Take(), false);
  const auto known = [&](int64_t size) {
    return runner.plan().FindMemoryPlan({EP_KIND_TENSOR, EP_TYPE_FLOAT, 1, size}) != nullptr;
  };
  for (int64_t size = 1; size <= 20; ++size) {
    runner.Run({Numbers(static_cast<size_t>(size))}, {{size}});
    EXPECT_TRUE(known(1)) << size;
  }
  EXPECT_TRUE(known(20));
  EXPECT_FALSE(known(2));
}

}  // namespace
}  // namespace epiphyte::test
