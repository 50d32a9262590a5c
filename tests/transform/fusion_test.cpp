// Convolutions and matrix products with what follows them.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;

std::vector<float> Values(const Transformed& result, std::string_view name) {
  const Constant& constant = *result.graph->FindValue(name)->constant();
  const auto* data = static_cast<const float*>(constant.data());
  return {data, data + constant.element_count()};
}

TEST(FuseConvBatchNormalization, FoldsIntoWeightsAndBias) {
  const Transformed result = Apply(MakeFuseConvBatchNormalization(), R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const b: float[2] = 1 2
    const gamma: float[2] = 2 4
    const beta: float[2] = 0.5 -1
    const mean: float[2] = 1 -1
    const variance: float[2] = 4 16
    c:float[1,2,4,4] = Conv(x, w, b)
    y:float[1,2,4,4] = BatchNormalization@15<epsilon=0.0>(c, gamma, beta, mean, variance)
    out y
  )");
  EXPECT_EQ(result.text, "y = Conv(x, w_folded, w_bias)\n") << "the output keeps its name";
  // y = gamma (w x + b - mean) / sqrt(variance) + beta
  EXPECT_EQ(Values(result, "w_folded"), (std::vector<float>{3, 5}));
  EXPECT_EQ(Values(result, "w_bias"), (std::vector<float>{0.5f, 2.0f}));
}

TEST(FuseConvBatchNormalization, AddsABiasWhereThereWasNone) {
  const Transformed result = Apply(MakeFuseConvBatchNormalization(), R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,2,2] = 1 2 3 4 5 6 7 8
    const gamma: float[2] = 2 1
    const beta: float[2] = 0
    const mean: float[2] = 1 2
    const variance: float[2] = 1
    c = Conv<group=1>(x, w)
    y = BatchNormalization@15<epsilon=0.0>(c, gamma, beta, mean, variance)
    out y
  )");
  EXPECT_EQ(Values(result, "w_folded"), (std::vector<float>{2, 4, 6, 8, 5, 6, 7, 8}));
  EXPECT_EQ(Values(result, "w_bias"), (std::vector<float>{-2, -2}));
}

TEST(FuseConvBatchNormalization, KnowsTheLayoutOfConvTranspose) {
  // Weights [in = 2, out / groups = 2, 1] in two groups: output channel = 2 * group + second index.
  const Transformed result = Apply(MakeFuseConvBatchNormalization(), R"(
    in    x: float[1,2,4]
    const w: float[2,2,1] = 1 1 1 1
    const gamma: float[4] = 1 2 3 4
    const beta: float[4] = 0
    const mean: float[4] = 0
    const variance: float[4] = 1
    c = ConvTranspose<group=2>(x, w)
    y = BatchNormalization@15<epsilon=0.0>(c, gamma, beta, mean, variance)
    out y
  )");
  EXPECT_EQ(Values(result, "w_folded"), (std::vector<float>{1, 2, 3, 4}));
}

TEST(FuseConvBatchNormalization, StaysWhereItMayNotOrCannot) {
  const std::string head = R"(
    in    x: float[1,1,4,4]
    in    live: float[2]
    const w: float[2,1,1,1] = 3 5
    const wd: double[2,1,1,1] = 3 5
    const p: float[2] = 1
    const p3: float[3] = 1
    const minus: float[2] = -1
  )";
  const auto changed = [&](const std::string& body) {
    return Apply(MakeFuseConvBatchNormalization(), head + body + "\nout y").changed;
  };
  EXPECT_TRUE(changed("c = Conv(x, w)\ny = BatchNormalization@15(c, p, p, p, p)"));
  EXPECT_FALSE(changed("c = Conv(x, w)\ny = BatchNormalization@15(c, p, p, p, live)")) << "parameters of the run";
  EXPECT_FALSE(changed("c = Conv(x, w, live)\ny = BatchNormalization@15(c, p, p, p, p)")) << "bias of the run";
  EXPECT_FALSE(changed("c = Conv(x, wd)\ny = BatchNormalization@15(c, p, p, p, p)")) << "double";
  EXPECT_FALSE(changed("c = Conv(x, w)\ny = BatchNormalization@15(c, p3, p3, p3, p3)")) << "sizes that don't fit";
  EXPECT_FALSE(changed("c = Conv(x, w)\ny = BatchNormalization@15(c, p, p, p, minus)")) << "root of a negative number";
  EXPECT_FALSE(changed("c = Conv(x, w)\ny = BatchNormalization@15<training_mode=1>(c, p, p, p, p)"));
  EXPECT_FALSE(changed("c = Conv(x, w)\nd = Relu(c)\ny = BatchNormalization@15(c, p, p, p, p)\nout d")) << "c is used";
  EXPECT_FALSE(changed("c = Conv(x, w)\nout c\ny = BatchNormalization@15(c, p, p, p, p)")) << "c is an output";
  EXPECT_FALSE(changed("c = Conv<group=0>(x, w)\ny = BatchNormalization@15(c, p, p, p, p)")) << "hostile group";
}

TEST(FuseConvAdd, TakesAConstantForEachChannel) {
  const Transformed result = Apply(MakeFuseConvAdd(), R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const b: float[2] = 1 2
    const channel: float[2,1,1] = 10 20
    const scalar: float = 100
    c = Conv(x, w, b)
    d = Add(channel, c)
    y = Sub(d, scalar)
    out y
  )");
  const std::string bias = result.graph->nodes()[0]->input(2)->name();
  EXPECT_EQ(result.text, "y = Conv(x, w, " + bias + ")\n") << "the weights stay as they are";
  EXPECT_EQ(Values(result, bias), (std::vector<float>{-89, -78}));
}

TEST(FuseConvAdd, StaysForOtherShapes) {
  for (const std::string dims : {"[2]", "[4,4]", "[1,2,4,4]", "[1,1,1,2,1,1]", "[3,1,1]"}) {
    const std::string text = "const k: float" + dims + R"( = 1 2
      in    x: float[1,1,4,4]
      const w: float[2,1,1,1] = 3 5
      c = Conv(x, w)
      y = Add(c, k)
      out y
    )";
    EXPECT_FALSE(Apply(MakeFuseConvAdd(), text).changed) << dims;
  }
}

TEST(FuseConvMul, ScalesWeightsAndBias) {
  const Transformed result = Apply(MakeFuseConvMul(), R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const b: float[2] = 1 2
    const channel: float[1,2,1,1] = 2 4
    const half: float = 2
    c = Conv(x, w, b)
    d = Mul(c, channel)
    y = Div(d, half)
    out y
  )");
  const Node& conv = *result.graph->nodes()[0];
  EXPECT_EQ(conv.op_type(), "Conv");
  EXPECT_EQ(Values(result, conv.input(1)->name()), (std::vector<float>{3, 10}));
  EXPECT_EQ(Values(result, conv.input(2)->name()), (std::vector<float>{1, 4}));
}

TEST(FuseConvMul, StaysForDivisionByOrOf) {
  EXPECT_FALSE(Apply(MakeFuseConvMul(), R"(
    in    x: float[1,1,4,4]
    const w: float[2,1,1,1] = 3 5
    const zero: float = 0
    const one: float = 1
    c = Conv(x, w)
    d = Div(c, zero)
    e = Conv(x, w)
    f = Div(one, e)
    out d, f
  )")
                   .changed);
}

TEST(FuseMatMulAdd, MatricesWithABiasAreGemm) {
  const Transformed result = Apply(MakeFuseMatMulAdd(), R"(
    opset 17
    in    x: float[batch,3]
    const w: float[3,4] = 1
    const b: float[4] = 2
    m:float[batch,4] = MatMul(x, w)
    y:float[batch,4] = Add(b, m)
    out y
  )");
  EXPECT_EQ(result.text, "y = Gemm(x, w, b)\n");
  EXPECT_EQ(result.graph->nodes()[0]->since_version(), 13);
  EXPECT_EQ(result.graph->nodes()[0]->name(), "m");
}

TEST(FuseMatMulAdd, StaysWhereGemmDoesNotFit) {
  const auto changed = [&](const char* x, const char* w, const char* b, const char* m, int opset) {
    return Apply(MakeFuseMatMulAdd(), "opset " + std::to_string(opset) + "\nin x: " + x + "\nin w: " + w +
                                          "\nin b: " + b + "\nm:" + m + " = MatMul(x, w)\ny = Add(m, b)\nout y")
        .changed;
  };
  EXPECT_TRUE(changed("float[2,3]", "float[3,4]", "float[2,1]", "float[2,4]", 17));
  EXPECT_FALSE(changed("float[5,2,3]", "float[3,4]", "float[4]", "float[5,2,4]", 17)) << "three dimensions";
  EXPECT_FALSE(changed("float[2,3]", "float[3,4]", "float[6,2,4]", "float[2,4]", 17)) << "the sum is larger";
  EXPECT_FALSE(changed("float[1,3]", "float[3,4]", "float[2,4]", "float[1,4]", 17)) << "the sum has more rows";
  EXPECT_FALSE(changed("float[n,3]", "float[3,4]", "float[2,4]", "float[n,4]", 17)) << "rows not known";
  EXPECT_FALSE(changed("int32[2,3]", "int32[3,4]", "int32[4]", "int32[2,4]", 17)) << "integers";
  EXPECT_FALSE(changed("float[2,3]", "float[3,4]", "float[4]", "float[2,4]", 6)) << "no broadcasting Gemm yet";
}

TEST(FuseGemmBias, FillsTheMissingC) {
  EXPECT_EQ(Apply(MakeFuseGemmBias(), R"(
    in    x: float[2,3]
    const w: float[4,3] = 1
    const b: float[4] = 2
    m:float[2,4] = Gemm<transB=1, alpha=0.5, beta=3.0>(x, w)
    y:float[2,4] = Add(m, b)
    out y
  )")
                .text,
            "y = Gemm<alpha=0.5, transB=1>(x, w, b)\n")
      << "beta has nothing to do with the new C";
  EXPECT_FALSE(Apply(MakeFuseGemmBias(), R"(
    in    x: float[2,3]
    const w: float[3,4] = 1
    const b: float[4] = 2
    m:float[2,4] = Gemm(x, w, b)
    y:float[2,4] = Add(m, b)
    out y
  )")
                   .changed);
}

}  // namespace
}  // namespace epiphyte::test
