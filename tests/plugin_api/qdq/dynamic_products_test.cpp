// Float matrix products that become dynamically quantized ones.
#include "epiphyte/kit/qdq/dynamic_products.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "epiphyte/kit/fuse/integer_products.hpp"
#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;

void Quantize(kit::ir::Editor& editor) { kit::qdq::QuantizeProducts(editor); }
void QuantizeAndFuse(kit::ir::Editor& editor) {
  Quantize(editor);
  kit::fuse::FuseIntegerProducts(editor);
}

// Returns "name: type[dims] = [f(0), f(1), …]".
template <typename F>
std::string WeightText(std::string declaration, int64_t count, const F& f) {
  std::string text = "const " + std::move(declaration) + " = [";
  for (int64_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(f(i));
  return text + "]\n";
}
std::string Ones(std::string declaration, int64_t count) {
  return WeightText(std::move(declaration), count, [](int64_t) { return 1.0; });
}

const std::string kMatMul = "in x: float[3,64]\n" + Ones("w: float[64,2]", 128) + R"(
y = MatMul@13(x, w) : float[3,2]
out y
)";

TEST(QuantizeProducts, AMatMulIsWhatQuantisersWrite) {
  EXPECT_EQ(RecognisedOperators(kMatMul, Quantize), "DynamicQuantizeLinear MatMulInteger Cast Mul Mul");
  EXPECT_EQ(Recognised(kMatMul, QuantizeAndFuse),
            "x_quantized, x_scale, x_zero_point = DynamicQuantizeLinear(x)\n"
            "y = epiphyte.kit::MatMulIntegerToFloat(x_quantized, w_quantized, x_zero_point, _, x_scale, "
            "y_weight_scales, _)\n");
}

TEST(QuantizeProducts, WhatIsAddedBehindAMatMulIsItsBias) {
  const std::string text = With(With(kMatMul, "y = MatMul@13(x, w)", "m = MatMul@13(x, w)"), "out y",
                                "const b: float[2] = [1, 2]\ny = Add@14(m, b) : float[3,2]\nout y");
  EXPECT_EQ(RecognisedOperators(text, QuantizeAndFuse), "DynamicQuantizeLinear MatMulIntegerToFloat");
}

TEST(QuantizeProducts, AGemmMayTransposeItsWeightsScaleAndAdd) {
  const std::string text = "in x: float[3,64]\n" + Ones("w: float[2,64]", 128) + R"(
const c: float[2] = [1, 2]
y = Gemm@13<alpha=0.5, transB=1>(x, w, c) : float[3,2]
out y
)";
  EXPECT_EQ(RecognisedOperators(text, QuantizeAndFuse), "DynamicQuantizeLinear MatMulIntegerToFloat");
  // This addend has one number per row, so it isn't a bias of columns. The Gemm must still add it.
  EXPECT_EQ(RecognisedOperators(With(text, "c: float[2] = [1, 2]", "c: float[3,1] = [1, 2, 3]"), QuantizeAndFuse),
            "DynamicQuantizeLinear MatMulIntegerToFloat Add");
  for (const char* attribute : {"transA=1", "beta=0.5"})
    EXPECT_EQ(RecognisedOperators(With(text, "alpha=0.5", attribute), QuantizeAndFuse), "Gemm") << attribute;
}

TEST(QuantizeProducts, AConvolutionKeepsItsAttributesAndItsBias) {
  const std::string text = "in x: float[1,8,4,4]\n" + Ones("w: float[3,8,3,3]", 216) + R"(
const b: float[3] = [1, 2, 3]
y = Conv@11<group=1, pads=[1,1,1,1]>(x, w, b) : float[1,3,4,4]
out y
)";
  EXPECT_EQ(Recognised(text, QuantizeAndFuse),
            "x_quantized, x_scale, x_zero_point = DynamicQuantizeLinear(x)\n"
            "y = epiphyte.kit::ConvIntegerToFloat<group=1, pads=[1,1,1,1]>(x_quantized, w_quantized, x_zero_point, _, "
            "x_scale, y_weight_scales, y_bias)\n");
}

TEST(QuantizeProducts, AnInputOfSeveralIsQuantisedOnceAndSharedWeightsToo) {
  const std::string text = "in x: float[3,64]\n" + Ones("w: float[64,2]", 128) + Ones("v: float[64,2]", 128) + R"(
y = MatMul@13(x, w) : float[3,2]
z = MatMul@13(x, v) : float[3,2]
u = MatMul@13(x, w) : float[3,2]
out y
out z
out u
)";
  const kit::ir::Graph graph = RecognisedGraph(text, QuantizeAndFuse);
  EXPECT_EQ(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                          [](const kit::ir::Node& node) { return node.Is("DynamicQuantizeLinear"); }),
            1);
  EXPECT_EQ(std::count_if(graph.constants.begin(), graph.constants.end(),
                          [](const kit::ir::Constant& c) { return c.tensor.type == EP_TYPE_INT8; }),
            2);
}

TEST(QuantizeProducts, WeightsAreRoundedToStepsOfTheirColumn) {
  // Column 0 has -127 to -64 and column 1 a twentieth of these numbers, so their steps are 1 and 0.05.
  const auto number = [](int64_t i) { return static_cast<double>(i / 2 - 127) * (i % 2 == 0 ? 1 : 0.05); };
  const std::string text = With(kMatMul, Ones("w: float[64,2]", 128), WeightText("w: float[64,2]", 128, number));
  const kit::ir::Graph graph = RecognisedGraph(text, Quantize);
  const auto found = std::find_if(graph.constants.begin(), graph.constants.end(),
                                  [](const kit::ir::Constant& c) { return c.tensor.type == EP_TYPE_INT8; });
  ASSERT_NE(found, graph.constants.end());
  for (int64_t i = 0; i < 128; ++i) EXPECT_EQ(found->tensor.as<int8_t>()[i], i / 2 - 127) << i;
  EXPECT_EQ(graph.values[static_cast<size_t>(found->value)].name, "w_quantized");
  const auto scales = std::find_if(graph.constants.begin(), graph.constants.end(), [&](const kit::ir::Constant& c) {
    return graph.values[static_cast<size_t>(c.value)].name == "y_weight_scales";
  });
  ASSERT_NE(scales, graph.constants.end());
  EXPECT_NEAR(scales->tensor.as<float>()[0], 1, 1e-6);
  EXPECT_NEAR(scales->tensor.as<float>()[1], 0.05, 1e-7);
}

TEST(QuantizeProducts, WhatIsNotWorthItOrHasNoIntegersStays) {
  const std::string few =
      "in x: float[3,63]\n" + Ones("w: float[63,2]", 126) + "y = MatMul@13(x, w) : float[3,2]\nout y\n";
  const std::string computed = "in x: float[3,64]\nin w: float[64,2]\ny = MatMul@13(x, w) : float[3,2]\nout y\n";
  const std::string doubles =
      "in x: double[3,64]\n" + Ones("w: double[64,2]", 128) + "y = MatMul@13(x, w) : double[3,2]\nout y\n";
  const std::string stack =
      "in x: float[2,3,64]\n" + Ones("w: float[2,64,2]", 256) + "y = MatMul@13(x, w) : float[2,3,2]\nout y\n";
  const std::string row = "in x: float[64]\n" + Ones("w: float[64,2]", 128) + "y = MatMul@13(x, w) : float[2]\nout y\n";
  for (const std::string& text : {few, computed, doubles, stack, row})
    EXPECT_EQ(RecognisedOperators(text, QuantizeAndFuse), "MatMul") << text;
  const std::string groups = "in x: float[1,16,4,4]\n" + Ones("w: float[2,8,3,3]", 144) +
                             "y = Conv@11<group=2>(x, w) : float[1,2,2,2]\nout y\n";
  EXPECT_EQ(RecognisedOperators(groups, QuantizeAndFuse), "Conv");
  const std::string endless = With(kMatMul, "[1.000000, ", "[inf, ");
  EXPECT_EQ(RecognisedOperators(endless, QuantizeAndFuse), "MatMul");
}

TEST(QuantizeProducts, ColumnsOfZerosGiveZeros) {
  const std::string text = With(kMatMul, Ones("w: float[64,2]", 128),
                                WeightText("w: float[64,2]", 128, [](int64_t i) { return i % 2 == 0 ? 0.0 : 1.0; }));
  const kit::ir::Graph graph = RecognisedGraph(text, Quantize);
  for (const kit::ir::Constant& constant : graph.constants) {
    if (constant.tensor.type != EP_TYPE_INT8) continue;
    EXPECT_EQ(constant.tensor.as<int8_t>()[0], 0);
    EXPECT_EQ(constant.tensor.as<int8_t>()[1], 127);
  }
}

}  // namespace
}  // namespace epiphyte::test
