// Fusions: nodes that are fused, nodes that must stay separate, and unchanged results.
#include <gmock/gmock.h>

#include <cmath>

#include "plugins/cpu/exec/fuse.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using testing::FloatNear;
using testing::Pointwise;

kit::ir::Graph Fused(kit::ir::Graph def) {
  cpu::Fuse(def, AllKernels());
  return def;
}

std::vector<float> Ramp(size_t count, float scale = 0.1f) {
  std::vector<float> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = scale * (static_cast<float>(i % 23) - 11.0f);
  return data;
}

// Runs the plan without and with fusion on the same inputs, and compares the results.
void ExpectSameResult(const std::function<kit::ir::Graph()>& make, const std::vector<std::vector<float>>& inputs,
                      float tolerance = 1e-5f) {
  PlanRunner plain(make(), false);
  PlanRunner fused(make(), true);
  const std::vector<float> expected = plain.Run(inputs);
  EXPECT_THAT(fused.Run(inputs), Pointwise(FloatNear(tolerance), expected));
  EXPECT_THAT(fused.Run(inputs), Pointwise(FloatNear(tolerance), expected)) << "with the learned memory plan";
}

// A new pass of the kit must run here. A plugin that can't use a pass declines it in its options with a reason, and the
// test lists it.
TEST(Fuse, RunsEveryPassOfTheKitButThoseThatAreDeclined) {
  const kit::fuse::Pipeline pipeline = cpu::MakePipeline(AllKernels());
  EXPECT_EQ(kit::fuse::FindBrokenNeed(pipeline.passes()), "");
  std::vector<std::string_view> declined;
  for (const kit::fuse::DeclinedPass& pass : pipeline.options().declined) {
    EXPECT_NE(pass.why, "");
    declined.push_back(kit::fuse::InfoOf(pass.pass).name);
  }
  EXPECT_THAT(declined, testing::ElementsAre("FuseSwish", "FuseMish", "FuseSkipNormalizations"));
  EXPECT_EQ(pipeline.passes().size() + declined.size(), kit::fuse::AllPasses().size());
}

TEST(FuseElementwise, AChainBecomesOneNode) {
  const auto make = [] {
    PlanBuilder b;
    int32_t x = b.Input({4});
    for (int i = 0; i < 10; ++i) x = b.Node("Add", 14, {x, b.Constant({4}, {1, 2, 3, 4})}, {4});
    b.Output(x);
    return b.Take();
  };
  EXPECT_EQ(Operators(Fused(make())), "Elementwise*");
  ExpectSameResult(make, {{0, 1, 2, 3}});
}

// The plane is longer than the block to which the activation is applied at a time.
TEST(FuseBatchNormalizations, AnActivationJoinsOneThatFollowsNoConvolution) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t x = b.Input({1, 2, 70, 70});
    const int32_t y = b.Node("BatchNormalization", 15,
                             {x, b.Constant({2}, {1, -2}), b.Constant({2}, {0.1f, 0.2f}),
                              b.Constant({2}, {0.3f, -0.1f}), b.Constant({2}, {1, 4})},
                             {1, 2, 70, 70});
    b.Output(b.Node("Relu", 14, {y}, {1, 2, 70, 70}));
    return b.Take();
  };
  EXPECT_EQ(Operators(Fused(make())), "BatchNormalization*");
  ExpectSameResult(make, {Ramp(2 * 70 * 70)});
}

TEST(FuseElementwise, ALongChainIsCutWhereItNeedsTooManyInputs) {
  const auto make = [] {
    PlanBuilder b;
    int32_t x = b.Input({4});
    for (int i = 0; i < 200; ++i) x = b.Node(i % 2 ? "Mul" : "Sub", 14, {x, b.Constant({4}, Ramp(4, 0.09f))}, {4});
    b.Output(x);
    return b.Take();
  };
  const kit::ir::Graph fused = Fused(make());
  EXPECT_LE(fused.nodes.size(), 8u);
  for (const kit::ir::Node& node : fused.nodes) EXPECT_LE(node.inputs.size(), 32u);
  ExpectSameResult(make, {{0, 1, 2, 3}});
}

TEST(FuseElementwise, AValueThatTwoNodesReadIsStillMade) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t x = b.Input({2, 3});
    const int32_t shared = b.Node("Exp", 13, {x}, {2, 3});
    const int32_t left = b.Node("Neg", 13, {shared}, {2, 3});
    const int32_t right = b.Node("Sqrt", 13, {shared}, {2, 3});
    b.Output(b.Node("Mul", 14, {left, right}, {2, 3}));
    return b.Take();
  };
  ExpectSameResult(make, {Ramp(6)});
}

TEST(FuseElementwise, OperandsBroadcastInEveryWay) {
  const auto make = [] {
    PlanBuilder b;
    int32_t x = b.Input({2, 3, 4, 5});
    x = b.Node("Add", 14, {x, b.Constant({5}, Ramp(5))}, {2, 3, 4, 5});
    x = b.Node("Mul", 14, {b.Constant({3, 1, 1}, Ramp(3)), x}, {2, 3, 4, 5});
    x = b.Node("Sub", 14, {x, b.Constant({2, 1, 4, 1}, Ramp(8))}, {2, 3, 4, 5});
    x = b.Node("Max", 13, {x, b.Constant({}, {-0.25f})}, {2, 3, 4, 5});
    b.Output(x);
    return b.Take();
  };
  EXPECT_EQ(Operators(Fused(make())), "Elementwise*");
  ExpectSameResult(make, {Ramp(120)});
}

// There are several images, so that a block of the output can span two images, or the next block reads another row.
TEST(FuseElementwise, ARowThatRepeatsIsReadInEveryPlaceOfItsImage) {
  for (const std::pair<int64_t, int64_t>& size :
       {std::pair<int64_t, int64_t>(37, 1), {37, 3}, {37, 96}, {37, 700}, {37, 1500}, {32, 64}}) {
    const int64_t points = size.first, channels = size.second;
    const std::vector<int64_t> dims = {3, points, channels};
    const auto make = [&] {
      PlanBuilder b;
      int32_t x = b.Input(dims);
      x = b.Node("Mul", 14, {x, b.Input({3, 1, channels})}, dims);
      x = b.Node("Add", 14, {x, b.Input({channels})}, dims);
      b.Output(x);
      return b.Take();
    };
    EXPECT_EQ(Operators(Fused(make())), "Elementwise*");
    const auto count = static_cast<size_t>(channels);
    ExpectSameResult(make, {Ramp(3 * static_cast<size_t>(points) * count), Ramp(3 * count), Ramp(count)});
  }
}

TEST(FuseConv, ResidualAndActivationJoinTheConvolution) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t x = b.Input({1, 16, 8, 8});
    const int32_t w = b.Constant({16, 16, 3, 3}, Ramp(16 * 16 * 9, 0.01f));
    const std::vector<kit::ir::Attribute> pads = {kit::ir::Attribute::Ints("pads", {1, 1, 1, 1})};
    const int32_t first = b.Node("Relu", 14, {b.Node("Conv", 11, {x, w}, {1, 16, 8, 8}, pads)}, {1, 16, 8, 8});
    const int32_t second = b.Node("Conv", 11, {first, w}, {1, 16, 8, 8}, pads);
    b.Output(b.Node("Relu", 14, {b.Node("Add", 14, {second, first}, {1, 16, 8, 8})}, {1, 16, 8, 8}));
    return b.Take();
  };
  EXPECT_EQ(Operators(Fused(make())), "Conv* Conv*");
  ExpectSameResult(make, {Ramp(16 * 64)}, 1e-4f);
}

// oneDNN applies the activation to a small result, the plugin's own loop to a large one. 17 channels may be padded.
TEST(FuseConv, ASwishJoinsSmallAndLargeConvolutions) {
  for (const std::pair<int64_t, int64_t>& size : {std::pair<int64_t, int64_t>(16, 9), {16, 72}, {17, 72}}) {
    const int64_t channels = size.first, side = size.second;
    for (const bool residual : {false, true}) {
      const std::vector<int64_t> dims = {1, channels, side, side};
      const auto make = [&] {
        PlanBuilder b;
        const int32_t x = b.Input(dims);
        int32_t y =
            b.Node("Conv", 11,
                   {x, b.Constant({channels, channels, 1, 1}, Ramp(static_cast<size_t>(channels * channels)))}, dims);
        if (residual) y = b.Node("Add", 14, {y, x}, dims);
        b.Output(b.Node("Mul", 14, {y, b.Node("Sigmoid", 13, {y}, dims)}, dims));
        return b.Take();
      };
      EXPECT_EQ(Operators(Fused(make())), "Conv*");
      ExpectSameResult(make, {Ramp(static_cast<size_t>(channels * side * side))}, 1e-4f);
    }
  }
}

TEST(FuseConv, AConvolutionThatIsAnOutputToKeepsItsOwnResult) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t x = b.Input({1, 3, 5, 5});
    const int32_t y = b.Node("Conv", 11, {x, b.Constant({4, 3, 1, 1}, Ramp(12))}, {1, 4, 5, 5});
    b.Output(y);
    b.Output(b.Node("Relu", 14, {y}, {1, 4, 5, 5}));
    return b.Take();
  };
  ExpectSameResult(make, {Ramp(75)});
}

TEST(FuseMatMul, BiasResidualAndGeluJoinTheProduct) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t x = b.Input({2, 3, 8});
    const int32_t residual = b.Input({2, 3, 4});
    int32_t y = b.Node("MatMul", 13, {x, b.Constant({8, 4}, Ramp(32))}, {2, 3, 4});
    y = b.Node("Add", 14, {b.Constant({4}, Ramp(4)), y}, {2, 3, 4});
    y = b.Node("Add", 14, {y, residual}, {2, 3, 4});
    const int32_t scaled = b.Node("Div", 14, {y, b.Constant({}, {std::sqrt(2.0f)})}, {2, 3, 4});
    const int32_t gate = b.Node("Add", 14, {b.Node("Erf", 13, {scaled}, {2, 3, 4}), b.Constant({}, {1})}, {2, 3, 4});
    y = b.Node("Mul", 14, {b.Node("Mul", 14, {y, gate}, {2, 3, 4}), b.Constant({}, {0.5f})}, {2, 3, 4});
    b.Output(y);
    return b.Take();
  };
  EXPECT_EQ(Operators(Fused(make())), "MatMul*");
  ExpectSameResult(make, {Ramp(48), Ramp(24)}, 1e-4f);
}

// A model may give ONNX's operators any attributes. Attributes that only fused operators have must not affect them.
TEST(Fuse, AttributesOfFusedOperatorsHaveNoEffectOnPlainOnes) {
  const std::vector<kit::ir::Attribute> stray = {kit::ir::Attribute::Int("transpose_b", 1),
                                                 kit::ir::Attribute::String("activation", "Relu"),
                                                 kit::ir::Attribute::Float("activation_alpha", 3)};
  for (const bool tail : {false, true}) {
    const auto product = [&](const std::vector<kit::ir::Attribute>& attributes) {
      PlanBuilder b;
      int32_t y = b.Node("MatMul", 13, {b.Input({2, 2}), b.Constant({2, 2}, {1, -2, 3, -4})}, {2, 2}, attributes);
      if (tail) y = b.Node("Tanh", 13, {b.Node("Add", 14, {y, b.Constant({2}, {0.5f, 0.25f})}, {2, 2})}, {2, 2});
      b.Output(y);
      return b.Take();
    };
    const auto convolution = [&](const std::vector<kit::ir::Attribute>& attributes) {
      PlanBuilder b;
      int32_t y =
          b.Node("Conv", 11, {b.Input({1, 1, 4}), b.Constant({1, 1, 3}, {0.1f, -0.2f, 0.3f})}, {1, 1, 2}, attributes);
      if (tail) y = b.Node("Tanh", 13, {y}, {1, 1, 2});
      b.Output(y);
      return b.Take();
    };
    const auto gemm = [&](const std::vector<kit::ir::Attribute>& attributes) {
      PlanBuilder b;
      int32_t y = b.Node("Gemm", 13, {b.Input({2, 2}), b.Constant({2, 2}, {1, -2, 3, -4})}, {2, 2}, attributes);
      if (tail) y = b.Node("Tanh", 13, {y}, {2, 2});
      b.Output(y);
      return b.Take();
    };
    const std::vector<std::vector<float>> x = {{0.1f, -0.2f, -0.3f, 0.4f}};
    for (const bool fused : {false, true}) {
      EXPECT_EQ(PlanRunner(product(stray), fused).Run(x), PlanRunner(product({}), fused).Run(x)) << tail << fused;
      EXPECT_EQ(PlanRunner(convolution(stray), fused).Run(x), PlanRunner(convolution({}), fused).Run(x))
          << tail << fused;
      EXPECT_EQ(PlanRunner(gemm(stray), fused).Run(x), PlanRunner(gemm({}), fused).Run(x)) << tail << fused;
    }
    EXPECT_LT(PlanRunner(product({}), true).Run(x)[3], 0) << "a Relu would show";
  }
}

TEST(FuseNormalization, AWrittenOutLayerNormalizationBecomesOneNode) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t x = b.Input({2, 5, 16});
    const std::vector<kit::ir::Attribute> last = {kit::ir::Attribute::Ints("axes", {-1})};
    const int32_t mean = b.Node("ReduceMean", 13, {x}, {2, 5, 1}, last);
    const int32_t centred = b.Node("Sub", 14, {x, mean}, {2, 5, 16});
    const int32_t square = b.Node("Pow", 13, {centred, b.Constant({}, {2})}, {2, 5, 16});
    const int32_t variance = b.Node("ReduceMean", 13, {square}, {2, 5, 1}, last);
    const int32_t sum = b.Node("Add", 14, {variance, b.Constant({}, {1e-5f})}, {2, 5, 1});
    const int32_t normal = b.Node("Div", 14, {centred, b.Node("Sqrt", 13, {sum}, {2, 5, 1})}, {2, 5, 16});
    const int32_t scaled = b.Node("Mul", 14, {normal, b.Constant({16}, Ramp(16))}, {2, 5, 16});
    b.Output(b.Node("Add", 14, {scaled, b.Constant({16}, Ramp(16, 0.3f))}, {2, 5, 16}));
    return b.Take();
  };
  EXPECT_EQ(Operators(Fused(make())), "LayerNormalization");
  ExpectSameResult(make, {Ramp(160)}, 1e-4f);
}

TEST(FuseAttention, ScoresSoftmaxAndValuesBecomeOneNode) {
  const auto make = [] {
    PlanBuilder b;
    const int32_t q = b.Input({1, 6, 2, 8});
    const int32_t k = b.Input({1, 7, 2, 8});
    const int32_t v = b.Input({1, 7, 2, 8});
    const int32_t mask = b.Input({1, 1, 1, 7});
    const auto perm = [](std::vector<int64_t> order) {
      return std::vector<kit::ir::Attribute>{kit::ir::Attribute::Ints("perm", std::move(order))};
    };
    const int32_t queries = b.Node("Transpose", 13, {q}, {1, 2, 6, 8}, perm({0, 2, 1, 3}));
    const int32_t keys = b.Node("Transpose", 13, {k}, {1, 2, 8, 7}, perm({0, 2, 3, 1}));
    const int32_t values = b.Node("Transpose", 13, {v}, {1, 2, 7, 8}, perm({0, 2, 1, 3}));
    int32_t s = b.Node("MatMul", 13, {queries, keys}, {1, 2, 6, 7});
    s = b.Node("Div", 14, {s, b.Constant({}, {2.5f})}, {1, 2, 6, 7});
    s = b.Node("Softmax", 13, {b.Node("Add", 14, {s, mask}, {1, 2, 6, 7})}, {1, 2, 6, 7});
    const int32_t y = b.Node("MatMul", 13, {s, values}, {1, 2, 6, 8});
    b.Output(b.Node("Transpose", 13, {y}, {1, 6, 2, 8}, perm({0, 2, 1, 3})));
    return b.Take();
  };
  EXPECT_EQ(Operators(Fused(make())), "Attention*");
  ExpectSameResult(make, {Ramp(96), Ramp(112, 0.2f), Ramp(112, 0.3f), {0, 0, -1e9f, 0, 0, 0, -1e9f}});
}

TEST(Fuse, UnusedNodesAreDropped) {
  PlanBuilder b;
  const int32_t x = b.Input({4});
  b.Node("Exp", 13, {x}, {4});
  b.Output(b.Node("Softmax", 13, {x}, {4}));
  EXPECT_EQ(Operators(Fused(b.Take())), "Softmax");
}

TEST(FuseAttention, ATransposeThatIsNoPermutationIsLeftToItsKernel) {
  PlanBuilder b;
  const int32_t q = b.Input({1, 1, 2, 2}), k = b.Input({1, 1, 2, 2}), v = b.Input({1, 1, 2, 2});
  const kit::ir::Attribute perm = kit::ir::Attribute::Ints("perm", {0, int64_t{1} << 40, 3, 2});
  const int32_t keys = b.Node("Transpose", 13, {k}, {1, 1, 2, 2}, {perm});
  const int32_t scores = b.Node("Softmax", 13, {b.Node("MatMul", 13, {q, keys}, {1, 1, 2, 2})}, {1, 1, 2, 2});
  b.Output(b.Node("MatMul", 13, {scores, v}, {1, 1, 2, 2}));
  const kit::ir::Graph fused = Fused(b.Take());
  EXPECT_EQ(fused.nodes[0].op_type, "Transpose");
}

}  // namespace
}  // namespace epiphyte::test
