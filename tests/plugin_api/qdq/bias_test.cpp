// The bias of a QDQ unit, in steps of the unit's sums.
#include "epiphyte/kit/qdq/bias.hpp"

#include <gmock/gmock.h>

#include "tests/plugin_api/qdq/unit_text.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Found {
  std::optional<std::vector<int32_t>> bias;
  std::string why;
};

// Returns the analysis of the bias in y = Gemm(x, w, b). x has the scale 0.5, and w is `weights`.
Found BiasOf(const std::string& bias, const std::string& weights = "(qw, s)") {
  kit::ir::Graph graph = kit::ir::FromText(
      Text("in q: uint8[3,3]\nconst qw: int8[3,3] = …\nconst s23: float[2,3] = [1, 1, 1, 2, 2, 2]\nx = "
           "DequantizeLinear@13(q, s, z) : float[3,3]\n"
           "w = DequantizeLinear@13" +
           weights + " : float[3,3]\n" + bias +
           "\ny = Gemm@13(x, w, b) : float[3,3]\nr = QuantizeLinear@13(y, s, z) : uint8[3,3]\nout r"));
  const kit::ir::Editor editor(graph);
  const kit::qdq::Units units = kit::qdq::FindUnits(editor);
  Found found;
  for (const kit::qdq::Unit& unit : units.units) {
    if (unit.IsQdq()) found.bias = kit::qdq::QuantizedBias(editor, unit, &found.why);
  }
  EXPECT_EQ(found.bias.has_value(), found.why.empty()) << found.why;
  return found;
}

TEST(QdqBias, InStepsOfTheSumsStaysAsItIs) {
  EXPECT_THAT(*BiasOf("const qb: int32[3] = [1, -2, 2147483647]\nb = DequantizeLinear@13(qb, si) : float[3]").bias,
              ElementsAre(1, -2, 2147483647));
}

TEST(QdqBias, InOtherStepsIsRounded) {
  // The bias has steps of 0.5; those of the sums are 0.25.
  EXPECT_THAT(*BiasOf("const qb: int32[3] = [1, -2, 3]\nb = DequantizeLinear@13(qb, s) : float[3]").bias,
              ElementsAre(2, -4, 6));
  EXPECT_THAT(*BiasOf("const qb: int32[3] = [1, -3, 2]\nconst tenth: float[] = [0.1]\n"
                      "b = DequantizeLinear@13(qb, tenth) : float[3]")
                   .bias,
              ElementsAre(0, -1, 1));
}

TEST(QdqBias, OfFloatsIsQuantized) {
  EXPECT_THAT(*BiasOf("const b: float[3] = [0.25, -1, 0.4]").bias, ElementsAre(1, -4, 2));
  EXPECT_THAT(*BiasOf("const b: float16[3] = [0.25, -1, 0.4]").bias, ElementsAre(1, -4, 2));
}

TEST(QdqBias, HasTheStepsOfItsChannel) {
  // The channels have steps of 0.5 * {0.5, 1, 2}.
  EXPECT_THAT(*BiasOf("const b: float[3] = [1, 1, 1]", "<axis=1>(qw, s3)").bias, ElementsAre(4, 2, 1));
  EXPECT_THAT(*BiasOf("const b: float[1] = [2]", "<axis=1>(qw, s3)").bias, ElementsAre(8, 4, 2));
  EXPECT_THAT(*BiasOf("const qb: int32[3] = [1, 1, 1]\nconst sb: float[3] = [0.25, 0.5, 1]\n"
                      "b = DequantizeLinear@13<axis=0>(qb, sb) : float[3]",
                      "<axis=1>(qw, s3)")
                   .bias,
              ElementsAre(1, 1, 1));
}

TEST(QdqBias, ThatIsLeftOutIsEmpty) {
  kit::ir::Graph graph = kit::ir::FromText(Text(
      "in q: uint8[3]\nx = DequantizeLinear@13(q, s, z)\ny = Sigmoid@13(x)\nr = QuantizeLinear@13(y, s, z)\nout r"));
  const kit::ir::Editor editor(graph);
  std::string why;
  EXPECT_THAT(*kit::qdq::QuantizedBias(editor, kit::qdq::FindUnits(editor).units[0], &why), IsEmpty());
}

TEST(QdqBias, ThatCannotBeBroughtToThemSaysWhy) {
  EXPECT_THAT(BiasOf("const b: float[3] = [0, 4294967296, 0]").why, HasSubstr("element 1 of its bias is 4294967296"));
  EXPECT_THAT(BiasOf("const b: float[3] = [0, nan, 0]").why, HasSubstr("element 1 of its bias is nan"));
  EXPECT_THAT(BiasOf("const b: float[2] = [1, 2]", "<axis=1>(qw, s3)").why,
              HasSubstr("its bias has 2 elements, and its weights 3 scales"));
  EXPECT_THAT(BiasOf("const qb: int32[2,3] = [1, 2, 3, 4, 5, 6]\nconst sb: float[3] = [1, 2, 4]\n"
                     "b = DequantizeLinear@13<axis=1>(qb, sb)")
                  .why,
              HasSubstr("its bias has 6 elements and 3 scales"));
  EXPECT_THAT(BiasOf("const b: float[3] = …").why, HasSubstr("whose bytes are there"));
  EXPECT_THAT(BiasOf("const b: bool[3] = [0, 1, 0]").why, HasSubstr("its bias is bool, expected numbers"));
}

TEST(QdqBias, OfProductsOfFloatsHasNoSteps) {
  kit::ir::Graph graph =
      kit::ir::FromText(Text("in x: float[3,3]\nconst qw: int8[3,3] = …\nconst b: float[3] = [1, 2, 3]\n"
                             "w = DequantizeLinear@13(qw, s)\ny = Gemm@13(x, w, b)\nout y"));
  const kit::ir::Editor editor(graph);
  const kit::qdq::Units units = kit::qdq::FindUnits(editor, {.weight_only_products = true});
  ASSERT_TRUE(units.units[0].IsQdq());
  std::string why;
  EXPECT_FALSE(kit::qdq::QuantizedBias(editor, units.units[0], &why));
  EXPECT_EQ(why, "its input or its weights aren't dequantised");
}

TEST(QdqBias, OfWeightsInBlocksHasNoSteps) {
  EXPECT_THAT(BiasOf("const b: float[3] = [1, 2, 3]", "<axis=0, block_size=2>(qw, s23)").why,
              HasSubstr("its bias has 3 elements, and its weights 6 scales of blocks"));
}

}  // namespace
}  // namespace epiphyte::test
