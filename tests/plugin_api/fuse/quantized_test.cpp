// QDQ units become operators on quantised numbers, and what can't be one stays as it is.
#include "epiphyte/kit/fuse/quantized.hpp"

#include <gmock/gmock.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::QuantizedOptions;

Recogniser Quantized(QuantizedOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseQuantized(editor, options); };
}

const std::string kConv = R"(
in x: uint8[1,2,4,4]
const s: float[] = [0.5]
const z: uint8[] = [128]
const ws: float[2] = [0.5, 0.25]
const wz: int8[2] = [0, 0]
const bs: float[2] = [0.25, 0.125]
const w: int8[2,2,1,1] = [1, 2, 3, 4]
const b: int32[2] = [5, 6]
const six: float[] = [6]
dx = DequantizeLinear@13(x, s, z) : float[1,2,4,4]
dw = DequantizeLinear@13<axis=0>(w, ws, wz) : float[2,2,1,1]
db = DequantizeLinear@13<axis=0>(b, bs) : float[2]
c = Conv@11<strides=[1,1], low=7>(dx, dw, db) : float[1,2,4,4]
y = QuantizeLinear@13(c, s, z) : uint8[1,2,4,4]
out y
)";

TEST(FuseQuantized, ConvBecomesOnnxsQLinearConv) {
  EXPECT_EQ(Recognised(kConv, Quantized()), "y = QLinearConv<strides=[1,1]>(x, s, z, w, ws, wz, s, z, y_bias)\n");
}

TEST(FuseQuantized, WithBoundsItIsTheKits) {
  const std::string relu = With(With(kConv, "y = Quant", "r = Relu@14(c) : float[1,2,4,4]\ny = Quant"),
                                "(c, s, z) : uint8", "(r, s, z) : uint8");
  EXPECT_EQ(Recognised(relu, Quantized()),
            "y = epiphyte.kit::QLinearConv<high=255, low=128, strides=[1,1]>(x, s, z, w, ws, wz, s, z, y_bias)\n");
  // A Relu that the zero point does already is none.
  std::string idle = relu;
  idle = With(idle, "const z: uint8[] = [128]", "const z: uint8[] = [0]");
  EXPECT_EQ(RecognisedGraph(idle, Quantized()).nodes[0].domain, "");
}

TEST(FuseQuantized, ZeroPointsThatAreLeftOutAreAdded) {
  const std::string text = With(With(kConv, "(w, ws, wz)", "(w, ws)"), "(x, s, z)", "(x, s)");
  EXPECT_EQ(Recognised(text, Quantized()),
            "y = QLinearConv<strides=[1,1]>(x, s, x_zero, w, ws, w_zero, s, z, y_bias)\n");
}

TEST(FuseQuantized, ABiasInOtherStepsIsBroughtToThem) {
  const std::string text = With(kConv, "const bs: float[2] = [0.25, 0.125]", "const bs: float[2] = [0.5, 0.5]");
  const kit::ir::Graph graph = RecognisedGraph(text, Quantized());
  const kit::ir::Tensor& bias = graph.FindConstant(graph.nodes[0].inputs[8])->tensor;
  EXPECT_EQ(bias.as<int32_t>()[0], 10);
  EXPECT_EQ(bias.as<int32_t>()[1], 24);
  // But not where a step of the sums is more than a quantum, so that rounding would show.
  std::string coarse =
      With(text, "const s: float[] = [0.5]", "const s: float[] = [0.5]\nconst fine: float[] = [0.125]");
  coarse = With(coarse, "(c, s, z) : uint8", "(c, fine, z) : uint8");
  EXPECT_THAT(RecognisedOperators(coarse, Quantized()), testing::HasSubstr("Conv"));
  EXPECT_THAT(RecognisedOperators(coarse, Quantized()), testing::Not(testing::HasSubstr("QLinear")));
}

TEST(FuseQuantized, WeightsThatAreComputedStay) {
  const std::string text = With(kConv, "const w: int8[2,2,1,1] = [1, 2, 3, 4]", "in w: int8[2,2,1,1]");
  EXPECT_THAT(RecognisedOperators(text, Quantized()), testing::Not(testing::HasSubstr("QLinear")));
}

TEST(FuseQuantized, AProviderSaysWhatItTakes) {
  QuantizedOptions options;
  options.takes = [](const kit::ir::Editor& editor, const kit::ir::Node& node) {
    EXPECT_EQ(node.op_type, "QLinearConv");
    EXPECT_EQ(editor.info(node.inputs[3]).name, "w");
    return false;
  };
  EXPECT_EQ(RecognisedOperators(kConv, Quantized(options)),
            "DequantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear");
}

// What a DequantizeLinear makes may go elsewhere, too.
TEST(FuseQuantized, OthersThatReadTheFloatsKeepThem) {
  const std::string text = kConv + "n = Neg@13(dx) : float[1,2,4,4]\nout n\n";
  EXPECT_EQ(RecognisedOperators(text, Quantized()), "DequantizeLinear QLinearConv Neg");
}

const std::string kProduct = R"(
in a: int8[3,2]
const s: float[] = [0.5]
const z: int8[] = [0]
const b: uint8[2,4] = [1, 2, 3, 4, 5, 6, 7, 8]
const bz: uint8[] = [3]
da = DequantizeLinear@13(a, s, z) : float[3,2]
db = DequantizeLinear@13(b, s, bz) : float[2,4]
m = MatMul@13(da, db) : float[3,4]
y = QuantizeLinear@13(m, s, z) : int8[3,4]
out y
)";

TEST(FuseQuantized, MatMulOfAnySigns) {
  EXPECT_EQ(Recognised(kProduct, Quantized()), "y = QLinearMatMul(a, s, z, b, s, bz, s, z)\n");
}

TEST(FuseQuantized, GemmHasABiasAndATransposedMatrix) {
  const std::string gemm = With(With(kProduct, "m = MatMul@13(da, db)", "m = Gemm@13<transB=1>(da, db, c)"),
                                "const b: uint8[2,4]", "const c: float[4] = [1, 0, -1, 2]\nconst b: uint8[4,2]");
  const std::string typed =
      With(gemm, "db = DequantizeLinear@13(b, s, bz) : float[2,4]", "db = DequantizeLinear@13(b, s, bz) : float[4,2]");
  EXPECT_EQ(Recognised(typed, Quantized()),
            "y = epiphyte.kit::QLinearMatMul<transB=1>(a, s, z, b, s, bz, s, z, y_bias)\n");
  for (const char* attribute : {"alpha=2.0", "transA=1"})
    EXPECT_THAT(RecognisedOperators(With(typed, "transB=1", std::string(attribute)), Quantized()),
                testing::HasSubstr("Gemm"))
        << attribute;
  // A number for each row is no bias of columns.
  EXPECT_THAT(RecognisedOperators(With(typed, "const c: float[4] = [1, 0, -1, 2]", "const c: float[3,1] = [1, 0, -1]"),
                                  Quantized()),
              testing::HasSubstr("Gemm"));
}

const std::string kMove = R"(
in x: uint8[2,3]
in k: uint8[2,3]
const s: float[] = [0.5]
const t: float[] = [0.25]
const z: uint8[] = [128]
dx = DequantizeLinear@13(x, s, z) : float[2,3]
dk = DequantizeLinear@13(k, s, z) : float[2,3]
)";

TEST(FuseQuantized, WhatMovesMovesTheIntegers) {
  EXPECT_EQ(
      Recognised(kMove + "m = Transpose@13(dx) : float[3,2]\ny = QuantizeLinear@13(m, s, z) : uint8[3,2]\nout y\n",
                 Quantized()),
      "y = Transpose(x)\n");
  EXPECT_EQ(Recognised(kMove + "m = Concat@13<axis=0>(dx, dk) : float[4,3]\n"
                               "y = QuantizeLinear@13(m, s, z) : uint8[4,3]\nout y\n",
                       Quantized()),
            "y = Concat<axis=0>(x, k)\n");
}

TEST(FuseQuantized, BetweenDifferentScalesItStays) {
  EXPECT_THAT(RecognisedOperators(kMove + "m = Concat@13<axis=0>(dx, dk) : float[4,3]\n"
                                          "y = QuantizeLinear@13(m, t, z) : uint8[4,3]\nout y\n",
                                  Quantized()),
              testing::HasSubstr("DequantizeLinear"));
}

TEST(FuseQuantized, NumbersBetweenNeighboursAreNoMove) {
  const std::string resize = kMove +
                             "const sizes: float[2] = [2, 2]\n"
                             "m = Resize@13<mode=\"linear\">(dx, _, sizes) : float[4,6]\n"
                             "y = QuantizeLinear@13(m, s, z) : uint8[4,6]\nout y\n";
  EXPECT_THAT(RecognisedOperators(resize, Quantized()), testing::HasSubstr("DequantizeLinear"));
  EXPECT_EQ(RecognisedOperators(With(resize, "linear", "nearest"), Quantized()), "Resize");
}

TEST(FuseQuantized, ReluThatStandsAloneIsAClip) {
  const kit::ir::Graph graph = RecognisedGraph(
      kMove + "m = Relu@14(dx) : float[2,3]\ny = QuantizeLinear@13(m, s, z) : uint8[2,3]\nout y\n", Quantized());
  EXPECT_EQ(kit::ir::NodesToText(graph), "y = Clip(x, y_low, y_high)\n");
  EXPECT_EQ(graph.FindConstant(graph.nodes[0].inputs[1])->tensor.as<uint8_t>()[0], 128);
}

TEST(FuseQuantized, ElementWiseOperatorsTakeTheirQuantisationsAlong) {
  EXPECT_EQ(Recognised(kMove + "m = Add@14(dx, dk) : float[2,3]\ny = QuantizeLinear@13(m, t, z) : uint8[2,3]\nout y\n",
                       Quantized()),
            "y = epiphyte.kit::QLinearElementwise<code=[0,0,2], parameters=[0.0,0.0], scales=[0.5,0.5,0.25], "
            "zero_points=[128,128,128]>(x, k)\n");
  EXPECT_EQ(Recognised(kMove + "m = Mul@14(dx, dx) : float[2,3]\nr = Relu@14(m) : float[2,3]\n"
                               "y = QuantizeLinear@13(r, t, z) : uint8[2,3]\nout y\n",
                       Quantized()),
            "y = epiphyte.kit::QLinearElementwise<code=[2,0,2], high=255, low=128, parameters=[0.0,0.0], "
            "scales=[0.5,0.5,0.25], zero_points=[128,128,128]>(x, x)\n");
}

}  // namespace
}  // namespace epiphyte::test
