// Requirements of QDQ units on scales, zero points and types.
#include <gmock/gmock.h>

#include "epiphyte/kit/abi/error.hpp"
#include "tests/plugin_api/qdq/unit_text.h"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Returns y = op(x, w) with 4x4 operands, quantized to `numbers`, with the given scales.
std::string Product(const std::string& op, const std::string& numbers, const std::string& weights,
                    const std::string& weight_scales) {
  return "in q: " + numbers + "[4,4]\nconst qw: " + weights + "[4,4] = …\nconst s4: float[4] = [1, 2, 3, 4]\n" +
         "const s24: float[2,4] = [1, 2, 3, 4, 5, 6, 7, 8]\n" +
         "x = DequantizeLinear@21(q, s) : float[4,4]\nw = DequantizeLinear@21" + weight_scales +
         " : float[4,4]\ny = " + op + "(x, w) : float[4,4]\nr = QuantizeLinear@21(y, s) : " + numbers + "[4,4]\nout r";
}

TEST(QdqScales, WeightsMayBeNarrower) {
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int4", "(qw, s)"), "y"), "MatMul(x, w) -> r");
  EXPECT_EQ(Units(Product("MatMul@13", "int8", "int4", "(qw, s)"), "y"), "MatMul(x, w) -> r");
  EXPECT_EQ(Units(Product("MatMul@13", "uint16", "uint8", "(qw, s)"), "y"), "MatMul(x, w) -> r");
  EXPECT_EQ(Units(Product("MatMul@13", "int16", "int8", "(qw, s)"), "y"), "MatMul(x, w) -> r");
}

TEST(QdqScales, SignedNumbersNeedSignedWeights) {
  EXPECT_EQ(Units(Product("MatMul@13", "int8", "int8", "(qw, s)"), "y"), "MatMul(x, w) -> r");
  EXPECT_THAT(Units(Product("MatMul@13", "int8", "uint8", "(qw, s)"), "y"),
              HasSubstr("its input 1 'w' is quantised to uint8; with numbers of int8"));
  EXPECT_THAT(Units(Product("MatMul@13", "int8", "int16", "(qw, s)"), "y"), HasSubstr("is quantised to int16; with"));
}

TEST(QdqScales, WidthsAreThoseThatTheProviderTakes) {
  EXPECT_EQ(Units(Product("MatMul@13", "uint16", "uint8", "(qw, s)"), "y", {.widest_bits = 8}),
            "none: its input 0 'x' is quantised to uint16, expected 4 to 8 bits");
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int4", "(qw, s)"), "y", {.narrowest_bits = 8}),
            "none: its input 1 'w' is quantised to int4, expected 8 to 16 bits");
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int2", "(qw, s)"), "y"),
            "none: its input 1 'w' is quantised to int2, expected 4 to 16 bits");
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int2", "(qw, s)"), "y", {.narrowest_bits = 2}), "MatMul(x, w) -> r");
  EXPECT_EQ(Units(Product("MatMul@13", "float8e4m3fn", "int8", "(qw, s)"), "y"),
            "none: DequantizeLinear 'x' in front of its input 0 'x': its quantised type is float8e4m3fn, expected an "
            "integer of 2 to 32 bits");
}

TEST(QdqScales, ScalesOfWeightsAreAlongTheOutputChannels) {
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int8", "<axis=1>(qw, s4)"), "y"), "MatMul(x, w) -> r");
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int8", "<axis=-1>(qw, s4)"), "y"), "MatMul(x, w) -> r");
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int8", "<axis=0>(qw, s4)"), "y"),
            "none: its input 1 'w' has a scale for each index of axis 0; one scale, or those of axis 1, expected");
  EXPECT_EQ(Units(Product("Gemm@13", "uint8", "int8", "<axis=1>(qw, s4)"), "y"), "Gemm(x, w) -> r");
  EXPECT_EQ(Units(Product("Gemm@13<transB=1>", "uint8", "int8", "<axis=0>(qw, s4)"), "y"), "Gemm(x, w) -> r");
  EXPECT_EQ(Units(Product("Gemm@13<transB=1>", "uint8", "int8", "<axis=1>(qw, s4)"), "y"),
            "none: its input 1 'w' has a scale for each index of axis 1; one scale, or those of axis 0, expected");
}

TEST(QdqScales, BlocksOfWeightsAreAlongTheRows) {
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int4", "<axis=0, block_size=2>(qw, s24)"), "y"), "MatMul(x, w) -> r");
  EXPECT_EQ(Units(Product("Conv@11", "uint8", "int4", "<axis=0, block_size=2>(qw, s24)"), "y"),
            "none: its input 1 'w' is quantised in blocks of axis 0; only the rows of MatMul's and Gemm's matrices can "
            "be");
  EXPECT_EQ(Units(Product("MatMul@13", "uint8", "int4", "<axis=0, block_size=3>(qw, s4)"), "y"),
            "none: DequantizeLinear 'w' in front of its input 1 'w': its scales have the shape [4], which doesn't fit "
            "axis 0 of [4,4] in blocks of 3");
}

TEST(QdqScales, FloatsTimesDequantisedWeightsAreAUnitOnRequest) {
  const std::string text = R"(
    in x: float[2,4]
    const qw: int4[4,4] = …
    const s24: float[2,4] = [1, 2, 3, 4, 5, 6, 7, 8]
    w = DequantizeLinear@21<axis=0, block_size=2>(qw, s24) : float[4,4]
    y = MatMul@13(x, w) : float[2,4]
    out y)";
  EXPECT_EQ(Units(text, "y"), "none: its input 0 'x' isn't dequantised");
  EXPECT_EQ(Units(text, "y", {.weight_only_products = true}), "MatMul(_, w) -> _");
}

TEST(QdqScales, NodesOfTheOlderDomainAreTheSame) {
  EXPECT_EQ(Units(R"(
    in q: uint16[4]
    const zw: uint16[] = [32768]
    x = com.microsoft::DequantizeLinear(q, s, zw) : float[4]
    y = Sigmoid@13(x) : float[4]
    r = com.microsoft::QuantizeLinear(y, s, zw) : uint16[4]
    out r)",
                  "y"),
            "Sigmoid(x) -> r");
}

TEST(QdqScales, TypeOfTheZeroPointIsUsedWhereNoOtherIsKnown) {
  EXPECT_EQ(
      Units("in q: ?\nx = DequantizeLinear@13(q, s, z)\ny = Sigmoid@13(x)\nr = QuantizeLinear@13(y, s, z)\nout r", "y"),
      "Sigmoid(x) -> r");
}

// Returns the reason why a DequantizeLinear forms no unit.
std::string Trouble(const std::string& parameters, const std::string& inputs) {
  const std::string reason = Units(parameters + "in q: uint8[4,4]\nx = DequantizeLinear@21" + inputs +
                                       " : float[4,4]\ny = Sigmoid@13(x) : float[4,4]\nr = QuantizeLinear@13(y, s, z) "
                                       ": uint8[4,4]\nout r\n",
                                   "y");
  constexpr std::string_view kWhose = "none: DequantizeLinear 'x' in front of its input 0 'x': ";
  EXPECT_THAT(reason, StartsWith(std::string(kWhose)));
  return reason.substr(std::min(kWhose.size(), reason.size()));
}

TEST(QdqScales, InvalidParametersAreReported) {
  EXPECT_EQ(Trouble("in v: float[]\n", "(q, v)"), "its scale isn't a constant");
  EXPECT_EQ(Trouble("in v: uint8[]\n", "(q, s, v)"), "its zero point isn't a constant");
  EXPECT_EQ(Trouble("const v: float[] = …\n", "(q, v)"), "the bytes of its scale are gone");
  EXPECT_EQ(Trouble("const v: float[] = [0]\n", "(q, v)"), "its scale holds a number that isn't positive and finite");
  EXPECT_EQ(Trouble("const v: float[] = [-1]\n", "(q, v)"), "its scale holds a number that isn't positive and finite");
  EXPECT_EQ(Trouble("const v: float[4] = [1, 2, nan, 4]\n", "<axis=0>(q, v)"),
            "its scale holds a number that isn't positive and finite");
  EXPECT_EQ(Trouble("const v: float[] = [inf]\n", "(q, v)"), "its scale holds a number that isn't positive and finite");
  EXPECT_THAT(Trouble("const v: int32[] = [1]\n", "(q, v)"), StartsWith("its scale is int32[] with block_size 0"));
  EXPECT_THAT(Trouble("const v: float[0] = []\n", "(q, v)"), StartsWith("its scale is float[0]"));
  EXPECT_EQ(Trouble("const v: int8[] = [1]\n", "(q, s, v)"), "its zero point is int8, expected uint8");
  EXPECT_EQ(Trouble("const v: float[4] = [1, 2, 3, 4]\n", "<axis=2>(q, v)"),
            "its axis is 2, and what it quantises has 2 dimensions");
  EXPECT_EQ(Trouble("const v: float[3] = [1, 2, 3]\n", "<axis=0>(q, v)"),
            "its scales have the shape [3], which doesn't fit axis 0 of [4,4]");
  EXPECT_EQ(Trouble("const v: float[4] = [1, 2, 3, 4]\nconst u: uint8[] = [1]\n", "<axis=0>(q, v, u)"),
            "its zero points have the shape [], expected that of its scales, [4]");
}

TEST(QdqScales, ScalesOfUnknownRankAreReported) {
  EXPECT_EQ(
      Units("in q: uint8\nx = DequantizeLinear@13(q, s3)\ny = Sigmoid@13(x)\nr = QuantizeLinear@13(y, s)\nout r", "y"),
      "none: DequantizeLinear 'x' in front of its input 0 'x': it has 3 scales, and the rank of what it quantises "
      "isn't known");
}

TEST(QdqScales, AttributesOfAWrongTypeAreInvalid) {
  kit::ir::Graph graph = kit::ir::FromText(
      Text("in q: uint8[3]\nx = DequantizeLinear@13<axis=\"0\">(q, s3) : float[3]\ny = Sigmoid@13(x)\nout y"));
  const kit::ir::Editor editor(graph);
  try {
    kit::qdq::FindUnits(editor);
    FAIL() << "an axis that is a text was taken";
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
  }
}

}  // namespace
}  // namespace epiphyte::test
