// Operators after a convolution that are folded into its weights and bias.
#include <gtest/gtest.h>

#include "tests/cpu/exec/plan_text.h"

namespace epiphyte::test {
namespace {

std::string Bias(const FusedPlan& plan) { return plan.def.values[plan.def.nodes[0].inputs.at(2)].name; }
std::string WeightsOf(const FusedPlan& plan) { return plan.def.values[plan.def.nodes[0].inputs.at(1)].name; }

TEST(FoldBatchNormalization, BecomesWeightsAndBias) {
  const FusedPlan plan = Fused(R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const b: float[2] = 1 2
    const gamma: float[2] = 2 4
    const beta: float[2] = 0.5 -1
    const mean: float[2] = 1 -1
    const variance: float[2] = 4 16
    c = Conv@11(x, w, b)
    y = BatchNormalization@15<epsilon=0.0>(c, gamma, beta, mean, variance)
    out y
  )");
  EXPECT_EQ(plan.text, "y = Conv(x, w_folded, w_bias)\n");
  // Batch normalization: y = gamma (w x + b - mean) / sqrt(variance) + beta.
  EXPECT_EQ(plan.Floats("w_folded"), (std::vector<float>{3, 5}));
  EXPECT_EQ(plan.Floats("w_bias"), (std::vector<float>{0.5f, 2.0f}));
  EXPECT_EQ(plan.def.constants.size(), 2u) << "what nobody reads any more is gone";
  EXPECT_EQ(plan.def.values.size(), 4u);
}

TEST(FoldBatchNormalization, AddsABiasWhereThereWasNone) {
  const FusedPlan plan = Fused(R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,2,2] = 1 2 3 4 5 6 7 8
    const gamma: float[2] = 2 1
    const beta: float[2] = 0
    const mean: float[2] = 1 2
    const variance: float[2] = 1
    c = Conv@11<group=1>(x, w)
    y = BatchNormalization@15<epsilon=0.0>(c, gamma, beta, mean, variance)
    out y
  )");
  EXPECT_EQ(plan.Floats("w_folded"), (std::vector<float>{2, 4, 6, 8, 5, 6, 7, 8}));
  EXPECT_EQ(plan.Floats("w_bias"), (std::vector<float>{-2, -2}));
}

TEST(FoldBatchNormalization, KnowsTheLayoutOfConvTranspose) {
  // Weights of shape [in = 2, out / groups = 2, 1] in two groups: output channel = 2 * group + second index.
  const FusedPlan plan = Fused(R"(
    in    x: float[1,2,4]
    const w: float[2,2,1] = 1 1 1 1
    const gamma: float[4] = 1 2 3 4
    const beta: float[4] = 0
    const mean: float[4] = 0
    const variance: float[4] = 1
    c = ConvTranspose@11<group=2>(x, w)
    y = BatchNormalization@15<epsilon=0.0>(c, gamma, beta, mean, variance)
    out y
  )");
  EXPECT_EQ(plan.Floats("w_folded"), (std::vector<float>{1, 2, 3, 4}));
}

TEST(FoldBatchNormalization, StaysWhereItMayNotOrCannot) {
  const std::string head = R"(
    in    x: float[1,1,4,4]
    in    live: float[2]
    const w: float[2,1,1,1] = 3 5
    const p: float[2] = 1
    const minus: float[2] = -1
  )";
  const auto folded = [&](const std::string& body) {
    return Fused(head + body + "\nout y").text.find("BatchNormalization") == std::string::npos;
  };
  EXPECT_TRUE(folded("c = Conv@11(x, w)\ny = BatchNormalization@15(c, p, p, p, p)"));
  EXPECT_FALSE(folded("c = Conv@11(x, w)\ny = BatchNormalization@15(c, p, p, p, live)")) << "parameters of the run";
  EXPECT_FALSE(folded("c = Conv@11(x, w, live)\ny = BatchNormalization@15(c, p, p, p, p)")) << "bias of the run";
  EXPECT_FALSE(folded("c = Conv@11(x, w)\ny = BatchNormalization@15(c, p, p, p, minus)"))
      << "root of a negative number";
  EXPECT_FALSE(folded("c = Conv@11(x, w)\ny, m, v = BatchNormalization@15<training_mode=1>(c, p, p, p, p)"));
  EXPECT_FALSE(folded("c = Conv@11(x, w)\nd = Softmax(c)\ny = BatchNormalization@15(c, p, p, p, p)\nout d"))
      << "c is used";
  EXPECT_FALSE(folded("c = Conv@11(x, w)\nout c\ny = BatchNormalization@15(c, p, p, p, p)")) << "c is an output";
}

TEST(FoldArithmetic, AddAndSubTakeAConstantForEachChannel) {
  const FusedPlan plan = Fused(R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const b: float[2] = 1 2
    const channel: float[2,1,1] = 10 20
    const scalar: float = 100
    c = Conv@11(x, w, b)
    d = Add@14(channel, c)
    y = Sub@14(d, scalar)
    out y
  )");
  EXPECT_EQ(plan.operators(), "Conv");
  EXPECT_EQ(WeightsOf(plan), "w") << "the weights stay as they are";
  EXPECT_EQ(plan.Floats(Bias(plan)), (std::vector<float>{-89, -78}));
}

TEST(FoldArithmetic, AddStaysForOtherShapes) {
  for (const std::string dims : {"[4]", "[4,4]", "[1,2,4,4]", "[1,1,1,2,1,1]", "[2,1,1,1]"}) {
    const std::string text = "const k: float" + dims + R"( = 1 2
      in    x: float[1,1,4,4]
      const w: float[2,1,1,1] = 3 5
      c = Conv@11(x, w)
      y = Add@14(c, k)
      out y
    )";
    EXPECT_EQ(Fused(text).def.nodes[0].inputs.size(), dims == "[1,2,4,4]" ? 4u : 2u)
        << dims << ": no bias, at most a residual";
  }
}

TEST(FoldArithmetic, MulAndDivScaleWeightsAndBias) {
  const FusedPlan plan = Fused(R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const b: float[2] = 1 2
    const channel: float[1,2,1,1] = 2 4
    const half: float = 2
    c = Conv@11(x, w, b)
    d = Mul@14(c, channel)
    y = Div@14(d, half)
    out y
  )");
  EXPECT_EQ(plan.operators(), "Conv");
  EXPECT_EQ(plan.Floats(WeightsOf(plan)), (std::vector<float>{3, 10}));
  EXPECT_EQ(plan.Floats(Bias(plan)), (std::vector<float>{1, 4}));
}

TEST(FoldArithmetic, StaysForDivisionByZeroAndOfAConstant) {
  const FusedPlan plan = Fused(R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const zero: float = 0
    const one: float = 1
    c = Conv@11(x, w)
    d = Div@14(c, zero)
    e = Conv@11(x, w)
    f = Div@14(one, e)
    out d, f
  )");
  EXPECT_EQ(plan.def.nodes.size(), 4u);
}

TEST(FoldIntoConvolutions, TheResultsStay) {
  std::vector<float> x(2 * 36);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
  ExpectSameAsPlain(R"(
    in    x: float[1,2,6,6]
    const w: float[4,1,3,3] = 0.1 -0.2 0.3 0.4 -0.5 0.6 0.7
    const gamma: float[4] = 0.5 1.5 -1 2
    const beta: float[4] = 0.1 0.2 0.3 0.4
    const mean: float[4] = 0.3 -0.3 0.1 0
    const variance: float[4] = 0.5 1 2 4
    const k: float[4,1,1] = 3 2 1 0.5
    c = Conv@11<group=2, pads=[1,1,1,1]>(x, w)
    n = BatchNormalization@15(c, gamma, beta, mean, variance)
    m = Mul@14(k, n)
    s = Add@14(m, k)
    y = Relu@14(s)
    out y
  )",
                    {x}, 1e-4f);
}

TEST(FoldIntoConvolutions, ReluAndClipBecomeTheConvolutionsActivation) {
  const FusedPlan plan = Fused(R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const low: float = -1
    const high: float = 6
    c = Conv@11(x, w)
    r = Relu@14(c)
    y = Clip@13(r, low, high)
    out y
  )");
  EXPECT_EQ(plan.text,
            "y = epiphyte.kit::Conv<activation=\"Clip\", activation_alpha=0.0, activation_beta=6.0>(x, w, _, _)\n");
}

TEST(MergeReluIntoClip, KeepsABoundAboveZeroAndKnowsAttributes) {
  EXPECT_EQ(Fused(R"(
    in    x: float[2]
    const low: float = 1
    a = Relu@14(x)
    y = Clip@13(a, low)
    out y
  )")
                .text,
            "y = Clip(x, low)\n");
  EXPECT_EQ(Fused(R"(
    opset 10
    in    x: float[2]
    a = Relu@6(x)
    y = Clip@6<min=-2.0, max=6.0>(a)
    out y
  )")
                .text,
            "y = Clip<max=6.0, min=0.0>(x)\n");
}

TEST(MergeReluIntoClip, StaysForOtherUsesAndUnknownBounds) {
  const FusedPlan plan = Fused(R"(
    in    x: float[2]
    in    bound: float
    const negative: float = -3
    a = Relu@14(x)
    y = Softmax(a)
    b = Clip@13(a)
    c = Relu@14(y)
    d = Clip@13(c, bound)
    e = Softmax(d)
    f = Relu@14(e)
    g = Clip@13(f, _, negative)
    out b, g
  )");
  size_t relus = 0;
  for (const kit::ir::Node& node : plan.def.nodes) relus += node.op_type == "Relu" ? 1 : 0;
  EXPECT_EQ(relus, 2u) << "read by others, and in front of a bound of the run: " << plan.text;
  EXPECT_NE(plan.text.find("Elementwise"), std::string::npos) << "the third is joined as it is";
}

}  // namespace
}  // namespace epiphyte::test
