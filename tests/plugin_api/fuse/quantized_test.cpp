// QDQ units become operators on quantized numbers. Nodes that can't become one stay unchanged.
#include "epiphyte/kit/fuse/quantized.hpp"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::QuantizedOptions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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
c = Conv@11<strides=[1,1], low=7, activation="Relu">(dx, dw, db) : float[1,2,4,4]
y = QuantizeLinear@13(c, s, z) : uint8[1,2,4,4]
out y
)";

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

TEST(FuseQuantized, ConvBecomesOnnxsQLinearConv) {
  EXPECT_EQ(Recognised(kConv, Quantized()), "y = QLinearConv<strides=[1,1]>(x, s, z, w, ws, wz, s, z, y_bias)\n");
}

TEST(FuseQuantized, ProductsOfComputedMatricesWhereTheyAreTaken) {
  const std::string text = With(kProduct, "const b: uint8[2,4] = [1, 2, 3, 4, 5, 6, 7, 8]", "in b: uint8[2,4]");
  EXPECT_THAT(Recognised(text, Quantized()), HasSubstr("MatMul(da, db)"));
  QuantizedOptions options;
  options.computed_products = true;
  EXPECT_EQ(Recognised(text, Quantized(options)), "y = QLinearMatMul(a, s, z, b, s, bz, s, z)\n");
  // The sums are larger than int32 can hold.
  std::string deep =
      With(With(text, "in a: int8[3,2]", "in a: int8[3,70000]"), "in b: uint8[2,4]", "in b: uint8[70000,4]");
  deep = With(With(deep, "float[3,2]", "float[3,70000]"), "db = DequantizeLinear@13(b, s, bz) : float[2,4]",
              "db = DequantizeLinear@13(b, s, bz) : float[70000,4]");
  EXPECT_THAT(Recognised(deep, Quantized(options)), HasSubstr("MatMul(da, db)"));
}

TEST(FuseQuantized, WithBoundsItIsTheKits) {
  const std::string relu = With(With(kConv, "y = Quant", "r = Relu@14(c) : float[1,2,4,4]\ny = Quant"),
                                "(c, s, z) : uint8", "(r, s, z) : uint8");
  EXPECT_EQ(Recognised(relu, Quantized()),
            "y = epiphyte.kit::QLinearConv<high=255, low=128, strides=[1,1]>(x, s, z, w, ws, wz, s, z, y_bias)\n");
  // A Relu is dropped if the zero point has the same effect.
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
  // A bias is not rescaled if a step of the sums is more than an output step, because rounding would be visible.
  std::string coarse =
      With(text, "const s: float[] = [0.5]", "const s: float[] = [0.5]\nconst fine: float[] = [0.125]");
  coarse = With(coarse, "(c, s, z) : uint8", "(c, fine, z) : uint8");
  EXPECT_THAT(RecognisedOperators(coarse, Quantized()), HasSubstr("Conv"));
  EXPECT_THAT(RecognisedOperators(coarse, Quantized()), Not(HasSubstr("QLinear")));
}

// Sums in float can't overflow, but a bias that a quantizer clipped to int32 could make int32 sums overflow. The first
// filter's sums are within 128 (1 + 2) of its bias.
TEST(FuseQuantized, SumsThatInt32DoesNotHoldStayInFloat) {
  for (const std::string sign : {"", "-"}) {
    const std::string most = With(kConv, "[5, 6]", "[" + sign + "2147483263, 6]");
    EXPECT_EQ(RecognisedOperators(most, Quantized()), "QLinearConv");
    EXPECT_THAT(RecognisedOperators(With(most, "83263", "83264"), Quantized()), Not(HasSubstr("QLinear")));
  }
  // Two columns of 40000 numbers. Those of the last column are 127 away from their zero point.
  std::string numbers;
  for (int i = 0; i < 40000; ++i) numbers += i == 0 ? "0,-127" : ",0,-127";
  const std::string product =
      "in a: uint8[1,40000]\nconst s: float[] = [0.5]\nconst z: uint8[] = [10]\nconst bz: int8[2] = [0, 0]\n"
      "const bs: float[2] = [0.5, 0.5]\nconst b: int8[40000,2] = [" +
      numbers +
      "]\nda = DequantizeLinear@13(a, s, z) : float[1,40000]\n"
      "db = DequantizeLinear@13<axis=1>(b, bs, bz) : float[40000,2]\nm = MatMul@13(da, db) : float[1,2]\n"
      "y = QuantizeLinear@13(m, s, z) : uint8[1,2]\nout y\n";
  EXPECT_EQ(RecognisedOperators(product, Quantized()), "QLinearMatMul");
  // 245 · 40000 · 219 = 2146200000, and 245 · 40000 · 220 is more than 2^31.
  EXPECT_EQ(RecognisedOperators(With(product, "bz: int8[2] = [0, 0]", "bz: int8[2] = [0, 92]"), Quantized()),
            "QLinearMatMul");
  EXPECT_THAT(RecognisedOperators(With(product, "bz: int8[2] = [0, 0]", "bz: int8[2] = [0, 93]"), Quantized()),
              Not(HasSubstr("QLinear")));
}

TEST(FuseQuantized, FactorsThatFloatDoesNotHoldStayInFloat) {
  const std::string text = With(kProduct, "const s: float[] = [0.5]",
                                "const s: float[] = [1e-20]\nconst t: float[] = [1e-20]\nconst u: float[] = [1]");
  const std::string all = With(With(text, "(b, s, bz)", "(b, t, bz)"), "(m, s, z)", "(m, u, z)");
  EXPECT_THAT(RecognisedOperators(all, Quantized()), Not(HasSubstr("QLinear")));
  EXPECT_EQ(RecognisedOperators(With(all, "u: float[] = [1]", "u: float[] = [1e-20]"), Quantized()), "QLinearMatMul");
}

TEST(FuseQuantized, ABiasInStepsOfTheSumsStaysAsItIsHoweverCoarseTheyAre) {
  const std::string coarse =
      With(With(kConv, "const s: float[] = [0.5]", "const s: float[] = [0.5]\nconst fine: float[] = [0.125]"),
           "(c, s, z) : uint8", "(c, fine, z) : uint8");
  EXPECT_EQ(RecognisedOperators(coarse, Quantized()), "QLinearConv");
}

TEST(FuseQuantized, ABiasOfOtherChannelsIsNone) {
  const std::string text = With(With(With(kConv, "DequantizeLinear@13<axis=0>(w, ws, wz)", "DequantizeLinear@13(w, s)"),
                                     "const six: float[] = [6]", "const three: float[3] = [1, 2, 3]"),
                                "(dx, dw, db)", "(dx, dw, three)");
  EXPECT_THAT(RecognisedOperators(text, Quantized()), Not(HasSubstr("QLinear")));
  EXPECT_EQ(RecognisedOperators(With(text, "three: float[3] = [1, 2, 3]", "three: float[2] = [1, 2]"), Quantized()),
            "QLinearConv");
}

// The fused operators take only bytes with a float scale.
TEST(FuseQuantized, OtherNumbersAndScalesStay) {
  const std::string bytes =
      "in x: uint8[2,3]\nconst s: float[] = [0.5]\nd = DequantizeLinear@21(x, s) : float[2,3]\n"
      "t = Transpose@13(d) : float[3,2]\ny = QuantizeLinear@21<output_dtype=2>(t, s) : uint8[3,2]\nout y\n";
  EXPECT_EQ(RecognisedOperators(bytes, Quantized()), "Transpose");
  for (const auto& [type, number] : {std::pair{"uint16", "4"}, {"uint4", "21"}}) {
    const std::string other =
        With(With(bytes, "x: uint8", std::string("x: ") + type), ": uint8[3,2]", std::string(": ") + type + "[3,2]");
    EXPECT_EQ(RecognisedOperators(With(other, "output_dtype=2", std::string("output_dtype=") + number), Quantized()),
              "DequantizeLinear Transpose QuantizeLinear")
        << type;
  }
  std::string half = With(With(bytes, "s: float[] = [0.5]", "s: float16[] = [0.5]"), ": float[2,3]", ": float16[2,3]");
  half = With(half, ": float[3,2]", ": float16[3,2]");
  EXPECT_EQ(RecognisedOperators(half, Quantized()), "DequantizeLinear Transpose QuantizeLinear");
  const std::string blocks = With(
      With(kProduct, "db = DequantizeLinear@13(b, s, bz)", "db = DequantizeLinear@21<axis=0, block_size=1>(b, bs)"),
      "const bz", "const bs: float[2,4] = [1, 1, 1, 1, 1, 1, 1, 1]\nconst bz");
  EXPECT_THAT(RecognisedOperators(blocks, Quantized()), Not(HasSubstr("QLinear")));
}

TEST(FuseQuantized, WeightsOfOtherRanksStay) {
  const std::string plain = With(With(kConv, "DequantizeLinear@13<axis=0>(w, ws, wz)", "DequantizeLinear@13(w, s)"),
                                 "(dx, dw, db)", "(dx, dw)");
  EXPECT_EQ(RecognisedOperators(plain, Quantized()), "QLinearConv");
  EXPECT_THAT(RecognisedOperators(With(plain, "w: int8[2,2,1,1] = [1, 2, 3, 4]", "w: int8[] = [1]"), Quantized()),
              HasSubstr("DequantizeLinear Conv"));
  EXPECT_THAT(RecognisedOperators(With(With(kProduct, "b: uint8[2,4]", "b: uint8[1,2,4]"), "(b, s, bz) : float[2,4]",
                                       "(b, s, bz) : float[1,2,4]"),
                                  Quantized()),
              HasSubstr("DequantizeLinear MatMul"));
}

TEST(FuseQuantized, WeightsThatAreComputedStay) {
  const std::string text = With(kConv, "const w: int8[2,2,1,1] = [1, 2, 3, 4]", "in w: int8[2,2,1,1]");
  EXPECT_THAT(RecognisedOperators(text, Quantized()), Not(HasSubstr("QLinear")));
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

// The value between two units may be a graph output, too.
TEST(FuseQuantized, QuantisedNumbersMayBeOutputs) {
  EXPECT_EQ(
      Recognised(kConv + "dy = DequantizeLinear@13(y, s, z) : float[1,2,4,4]\n"
                         "t = Transpose@13(dy) : float[4,4,2,1]\nq = QuantizeLinear@13(t, s, z) : uint8[4,4,2,1]\n"
                         "out q\n",
                 Quantized()),
      "y = QLinearConv<strides=[1,1]>(x, s, z, w, ws, wz, s, z, y_bias)\nq = Transpose(y)\n");
  // A float value inside a unit must not be a graph output.
  EXPECT_THAT(RecognisedOperators(kConv + "out c\n", Quantized()), Not(HasSubstr("QLinear")));
}

// The result of a DequantizeLinear may have further readers.
TEST(FuseQuantized, FloatsStayForOtherReaders) {
  const std::string text = kConv + "n = Neg@13(dx) : float[1,2,4,4]\nout n\n";
  EXPECT_EQ(RecognisedOperators(text, Quantized()), "DequantizeLinear QLinearConv Neg");
}

TEST(FuseQuantized, MatMulOfAnySigns) {
  EXPECT_EQ(Recognised(kProduct, Quantized()), "y = QLinearMatMul(a, s, z, b, s, bz, s, z)\n");
}

TEST(FuseQuantized, GemmHasABiasAndATransposedMatrix) {
  const std::string gemm = R"(
in a: int8[3,2]
const s: float[] = [0.5]
const z: int8[] = [0]
const b: int8[3,2] = [1, 2, 3, 4, 5, 6]
const c: float[3] = [1, 0, -1]
da = DequantizeLinear@13(a, s, z) : float[3,2]
db = DequantizeLinear@13(b, s, z) : float[3,2]
m = Gemm@13<transB=1>(da, db, c) : float[3,3]
y = QuantizeLinear@13(m, s, z) : int8[3,3]
out y
)";
  const auto bias = [](const std::string& text) {
    const kit::ir::Graph graph = RecognisedGraph(text, Quantized());
    const kit::ir::Tensor& tensor = graph.FindConstant(graph.nodes[0].inputs[8])->tensor;
    return std::vector<int32_t>(tensor.as<int32_t>(), tensor.as<int32_t>() + tensor.Count());
  };
  EXPECT_EQ(Recognised(gemm, Quantized()),
            "y = epiphyte.kit::QLinearMatMul<transB=1>(a, s, z, b, s, z, s, z, y_bias)\n");
  EXPECT_THAT(bias(gemm), ElementsAre(4, 0, -4));
  // The bias is one number for all columns.
  EXPECT_THAT(bias(With(gemm, "c: float[3] = [1, 0, -1]", "c: float[] = [2]")), ElementsAre(8, 8, 8));
  EXPECT_THAT(bias(With(gemm, "c: float[3] = [1, 0, -1]", "c: float[1,3] = [1, 0, 2]")), ElementsAre(4, 0, 8));
  // The weight matrix is not transposed.
  const std::string plain = With(With(With(gemm, "<transB=1>", ""), "b: int8[3,2]", "b: int8[2,3]"),
                                 "(b, s, z) : float[3,2]", "(b, s, z) : float[2,3]");
  EXPECT_EQ(Recognised(plain, Quantized()), "y = epiphyte.kit::QLinearMatMul(a, s, z, b, s, z, s, z, y_bias)\n");
  // No fusion: a Gemm that is more than a plain GEMM, and a bias with one number for each row instead of each column.
  for (const auto& [from, to] : {std::pair{"transB=1", "transB=1, alpha=2.0"},
                                 {"transB=1", "transB=1, transA=1"},
                                 {"c: float[3] = [1, 0, -1]", "c: float[3,1] = [1, 0, -1]"}})
    EXPECT_THAT(RecognisedOperators(With(gemm, from, to), Quantized()), Not(HasSubstr("QLinear"))) << to;
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

TEST(FuseQuantized, BetweenDifferentScalesNumbersAreBroughtOverBeforeTheyMove) {
  for (const std::string op : {"Transpose@13", "DepthToSpace@13<blocksize=1>", "MaxPool@12<kernel_shape=[1]>"}) {
    EXPECT_EQ(RecognisedOperators(
                  kMove + "m = " + op + "(dx) : float[2,3]\n" + "y = QuantizeLinear@13(m, t, z) : uint8[2,3]\nout y\n",
                  Quantized()),
              "QLinearElementwise " + op.substr(0, op.find('@')));
  }
  EXPECT_EQ(RecognisedOperators(kMove + "const i: int64[1] = [2]\nm, n = TopK@11(dx, i) : float[2,2], int64[2,2]\n"
                                        "y = QuantizeLinear@13(m, t, z) : uint8[2,2]\nout y\nout n\n",
                                Quantized()),
            "DequantizeLinear TopK QuantizeLinear");
}

TEST(FuseQuantized, InputsOfAConcatAreBroughtToItsNumbers) {
  const std::string concat = kMove +
                             "m = Concat@13<axis=0>(dx, dk) : float[4,3]\n"
                             "y = QuantizeLinear@13(m, t, z) : uint8[4,3]\nout y\n";
  const auto brought = [](const std::string& to, const std::string& from, const std::string& zeros) {
    return to + " = epiphyte.kit::QLinearElementwise<code=[26,0,-1], parameters=[-32.0,31.75], scales=[0.5,0.25], " +
           "zero_points=[" + zeros + "]>(" + from + ")\n";
  };
  EXPECT_EQ(Recognised(concat, Quantized()), brought("y_input0", "x", "128,128") + brought("y_input1", "k", "128,128") +
                                                 "y = Concat<axis=0>(y_input0, y_input1)\n");
  // An input that already has the output's scale and zero point is not converted.
  EXPECT_EQ(
      Recognised(With(concat, "dk = DequantizeLinear@13(k, s, z)", "dk = DequantizeLinear@13(k, t, z)"), Quantized()),
      brought("y_input0", "x", "128,128") + "y = Concat<axis=0>(y_input0, k)\n");
  // A Relu stays in float if it could only become bounds of the result.
  EXPECT_THAT(RecognisedOperators(
                  With(With(concat, "y = Quant", "r = Relu@14(m) : float[4,3]\ny = Quant"), "(m, t, z)", "(r, t, z)"),
                  Quantized()),
              HasSubstr("Concat Relu"));
  // A provider may lack either operator.
  for (const std::string lacks : {"Concat", "QLinearElementwise"}) {
    QuantizedOptions options;
    options.takes = [&](const kit::ir::Editor&, const kit::ir::Node& node) { return node.op_type != lacks; };
    EXPECT_EQ(RecognisedOperators(concat, Quantized(options)),
              "DequantizeLinear DequantizeLinear Concat QuantizeLinear");
  }
}

TEST(FuseQuantized, MaxOfDifferentScalesIsElementWiseOrBroughtToThem) {
  const std::string max = kMove +
                          "m = Max@13(dx, dk) : float[2,3]\n"
                          "y = QuantizeLinear@13(m, t, z) : uint8[2,3]\nout y\n";
  EXPECT_EQ(Recognised(max, Quantized()),
            "y = epiphyte.kit::QLinearElementwise<code=[4,0,2], parameters=[0.0,0.0], scales=[0.5,0.5,0.25], "
            "zero_points=[128,128,128]>(x, k)\n");
  EXPECT_EQ(RecognisedOperators(With(max, "Max@13(dx, dk)", "Max@13(dx, dk, dx)"), Quantized()),
            "QLinearElementwise QLinearElementwise QLinearElementwise Max");
}

TEST(FuseQuantized, AveragePoolsTakeTheirQuantisationsAlong) {
  const std::string pool = R"(
in x: int8[1,2,4,4]
const s: float[] = [0.5]
const t: float[] = [0.25]
const z: int8[] = [3]
dx = DequantizeLinear@13(x, s, z) : float[1,2,4,4]
m = AveragePool@11<kernel_shape=[2,2], scales=7, high=1>(dx) : float[1,2,3,3]
y = QuantizeLinear@13(m, t, z) : int8[1,2,3,3]
out y
)";
  EXPECT_EQ(Recognised(pool, Quantized()),
            "y = epiphyte.kit::QLinearAveragePool<kernel_shape=[2,2], scales=[0.5,0.25], zero_points=[3,3]>(x)\n");
  const std::string global = With(pool, "AveragePool@11<kernel_shape=[2,2], scales=7, high=1>", "GlobalAveragePool@1");
  EXPECT_EQ(Recognised(global, Quantized()),
            "y = epiphyte.kit::QLinearAveragePool<global=1, scales=[0.5,0.25], zero_points=[3,3]>(x)\n");
  const std::string relu =
      With(With(global, "y = Quant", "r = Relu@14(m) : float[1,2,3,3]\ny = Quant"), "(m, t, z)", "(r, t, z)");
  EXPECT_EQ(Recognised(relu, Quantized()),
            "y = epiphyte.kit::QLinearAveragePool<global=1, high=127, low=3, "
            "scales=[0.5,0.25], zero_points=[3,3]>(x)\n");
}

TEST(FuseQuantized, SoftmaxAlongTheLastAxisTakesItsQuantisationsAlong) {
  const std::string softmax = R"(
in x: uint8[2,3,4]
const s: float[] = [0.5]
const t: float[] = [0.25]
const z: uint8[] = [3]
dx = DequantizeLinear@13(x, s, z) : float[2,3,4]
m = Softmax@13(dx) : float[2,3,4]
y = QuantizeLinear@13(m, t, z) : uint8[2,3,4]
out y
)";
  const std::string fused = "y = epiphyte.kit::QLinearSoftmax<scales=[0.5,0.25], zero_points=[3,3]>(x)\n";
  EXPECT_EQ(Recognised(softmax, Quantized()), fused);
  for (const std::string last : {"Softmax@13<axis=2>", "Softmax@11<axis=2>", "Softmax@11<axis=-1>"})
    EXPECT_EQ(Recognised(With(softmax, "Softmax@13", last), Quantized()), fused) << last;
  for (const std::string other : {"Softmax@13<axis=1>", "Softmax@13<axis=-2>", "Softmax@11", "Softmax@11<axis=0>"})
    EXPECT_EQ(RecognisedOperators(With(softmax, "Softmax@13", other), Quantized()),
              "DequantizeLinear Softmax QuantizeLinear")
        << other;
}

TEST(FuseQuantized, LayerNormalizationTakesItsQuantisationsAlong) {
  const std::string norm = R"(
in x: uint8[2,3,4]
in g: float[4]
const s: float[] = [0.5]
const t: float[] = [0.25]
const z: uint8[] = [3]
const b: float[4] = [1, 2, 3, 4]
dx = DequantizeLinear@13(x, s, z) : float[2,3,4]
m = LayerNormalization@17<axis=1, epsilon=0.001>(dx, g, b) : float[2,3,4]
y = QuantizeLinear@13(m, t, z) : uint8[2,3,4]
out y
)";
  EXPECT_EQ(Recognised(norm, Quantized()),
            "y = epiphyte.kit::QLinearLayerNormalization<axis=1, epsilon=0.001, scales=[0.5,0.25], "
            "zero_points=[3,3]>(x, g, b)\n");
  EXPECT_THAT(Recognised(With(norm, "(dx, g, b)", "(dx, g)"), Quantized()), HasSubstr(">(x, g)"));
  // The floats stay if they have other readers.
  EXPECT_EQ(RecognisedOperators(norm + "r = Relu@14(dx) : float[2,3,4]\nout r\n", Quantized()),
            "DequantizeLinear QLinearLayerNormalization Relu");
  const std::string all = "DequantizeLinear LayerNormalization QuantizeLinear";
  EXPECT_EQ(RecognisedOperators(norm + "out m\n", Quantized()), all);
  EXPECT_EQ(RecognisedOperators(With(norm, "epsilon", "stash_type=10, epsilon"), Quantized()), all);
  EXPECT_EQ(RecognisedOperators(With(norm, "in g: float[4]", "in g: float16[4]"), Quantized()), all);
  // The statistics are an output, or the input and output types differ.
  const std::string statistics =
      With(With(norm, "m = Layer", "m, v = Layer"), "b) : float[2,3,4]", "b) : float[2,3,4], float[2,1,1]");
  EXPECT_EQ(RecognisedOperators(statistics + "out v\n", Quantized()), all);
  EXPECT_EQ(RecognisedOperators(With(With(norm, "const z:", "const u: int8[] = [3]\nconst z:"), "(m, t, z) : uint8",
                                     "(m, t, u) : int8"),
                                Quantized()),
            all);
}

TEST(FuseQuantized, NumbersBetweenNeighboursAreNoMove) {
  const std::string resize = kMove +
                             "const sizes: float[2] = [2, 2]\n"
                             "m = Resize@13<mode=\"linear\">(dx, _, sizes) : float[4,6]\n"
                             "y = QuantizeLinear@13(m, s, z) : uint8[4,6]\nout y\n";
  EXPECT_THAT(RecognisedOperators(resize, Quantized()), HasSubstr("DequantizeLinear"));
  const std::string nearest = With(resize, "linear", "nearest");
  EXPECT_EQ(RecognisedOperators(nearest, Quantized()), "Resize");
  // In this mode, positions beyond the edges get a float attribute's value, which is not a quantized number.
  EXPECT_THAT(
      RecognisedOperators(
          With(nearest, "nearest\"", "nearest\", coordinate_transformation_mode=\"tf_crop_and_resize\""), Quantized()),
      HasSubstr("DequantizeLinear"));
}

TEST(FuseQuantized, ReluThatStandsAloneIsAClip) {
  const kit::ir::Graph graph = RecognisedGraph(
      kMove + "m = Relu@14(dx) : float[2,3]\ny = QuantizeLinear@13(m, s, z) : uint8[2,3]\nout y\n", Quantized());
  EXPECT_EQ(kit::ir::NodesToText(graph), "y = Clip(x, y_low, y_high)\n");
  EXPECT_EQ(graph.FindConstant(graph.nodes[0].inputs[1])->tensor.as<uint8_t>()[0], 128);
  EXPECT_EQ(graph.nodes[0].since_version, 13);  // the first version that takes more types than floats
}

TEST(FuseQuantized, ReluThatDoesMoreThanAClipIsElementWise) {
  const std::string relu = kMove + "m = Relu@14(dx) : float[2,3]\ny = QuantizeLinear@13(m, s, z) : uint8[2,3]\nout y\n";
  EXPECT_EQ(RecognisedOperators(With(relu, "(m, s, z)", "(m, t, z)"), Quantized()), "QLinearElementwise");
  // The unit takes the bounds of the second Relu.
  const std::string two =
      With(With(relu, "y = Quant", "lo = Relu@14(m) : float[2,3]\ny = Quant"), "(m, s, z)", "(lo, s, z)");
  EXPECT_THAT(Recognised(two, Quantized()), HasSubstr("QLinearElementwise<code=[6,0,-1], high=255, low=128"));
  // If the lower bound exceeds the upper one, the result is the upper one. No Clip of integers expresses that.
  const std::string empty = With(With(relu, "const z", "const lo: float[] = [3]\nconst hi: float[] = [1]\nconst z"),
                                 "Relu@14(dx)", "Clip@13(dx, lo, hi)");
  EXPECT_EQ(RecognisedOperators(empty, Quantized()), "QLinearElementwise");
}

TEST(FuseQuantized, AMoveKeepsNothingBack) {
  const std::string text = kMove +
                           "m = SpaceToDepth@13<blocksize=1>(dx) : float[2,3]\nr = Relu@14(m) : float[2,3]\n"
                           "y = QuantizeLinear@13(r, s, z) : uint8[2,3]\nout y\n";
  EXPECT_THAT(RecognisedOperators(text, Quantized()), HasSubstr("DequantizeLinear SpaceToDepth"));
  // A Relu that changes nothing is dropped.
  EXPECT_EQ(RecognisedOperators(With(text, "[128]", "[0]"), Quantized()), "SpaceToDepth");
}

TEST(FuseQuantized, WhatAProviderDeclinesStays) {
  for (const std::string op :
       {"Transpose@13(dx)", "Relu@14(dx)", "Neg@13(dx)", "AveragePool@11<kernel_shape=[1]>(dx)"}) {
    const std::string text =
        kMove + "m = " + op + " : float[2,3]\ny = QuantizeLinear@13(m, s, z) : uint8[2,3]\nout y\n";
    EXPECT_THAT(RecognisedOperators(text, Quantized()), Not(HasSubstr("DequantizeLinear"))) << op;
    QuantizedOptions options;
    options.takes = [](const kit::ir::Editor&, const kit::ir::Node&) { return false; };
    EXPECT_THAT(RecognisedOperators(text, Quantized(options)), HasSubstr("DequantizeLinear")) << op;
  }
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
