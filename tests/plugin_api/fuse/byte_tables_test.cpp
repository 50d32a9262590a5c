// Chains of element-wise operators on bytes become one operator if they depend on one tensor.
#include "epiphyte/kit/fuse/byte_tables.hpp"

#include <gmock/gmock.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::ByteTableOptions;
using testing::HasSubstr;

Recogniser Tables(ByteTableOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseByteTables(editor, options); };
}

// (x + 1.5) erf(x / 1.5): 2 / 4 less a zero point of -1 is 3 steps of 0.5.
const std::string kGelu = R"(
in x: int8[2,3]
const k: int8[] = [2]
u = epiphyte.kit::QLinearElementwise<code=[3,0,2], parameters=[0.0,0.0], scales=[0.25,0.5,0.125], zero_points=[3,-1,4]>(x, k) : int8[2,3]
v = epiphyte.kit::QLinearElementwise<code=[14,0,-1], parameters=[0.0,0.0], scales=[0.125,0.0625], zero_points=[4,5]>(u) : int8[2,3]
w = epiphyte.kit::QLinearElementwise<code=[0,0,2], parameters=[0.0,0.0], scales=[0.5,0.25,1.0], zero_points=[-1,3,6]>(k, x) : int8[2,3]
y = epiphyte.kit::QLinearElementwise<code=[2,0,2], parameters=[0.0,0.0], scales=[1.0,0.0625,2.0], zero_points=[6,5,7]>(w, v) : int8[2,3]
out y
)";

TEST(FuseByteTables, OneOperatorTakesThePlaceOfAChain) {
  EXPECT_EQ(Recognised(kGelu, Tables()),
            "y = epiphyte.kit::QLinearElementwise<code=[0,-1,0,3,0,-1,14,3,-1,2,1,5], "
            "parameters=[1.5,0.0,1.5,0.0,0.0,0.0,0.0,0.0], scales=[0.25,1.0,0.125,0.0625,2.0], "
            "zero_points=[3,6,4,5,7]>(x)\n");
}

TEST(FuseByteTables, ResultWithAnotherReaderIsStillComputed) {
  EXPECT_EQ(RecognisedOperators(kGelu + "out u\n", Tables()), "QLinearElementwise QLinearElementwise");
  EXPECT_THAT(Recognised(kGelu + "out u\n", Tables()),
              HasSubstr("u = epiphyte.kit::QLinearElementwise<code=[3,0,-1], parameters=[1.5,0.0], "
                        "scales=[0.25,0.125], zero_points=[3,4]>(x)\n"));
}

TEST(FuseByteTables, BoundsOfTheLastOneStayAndOthersEndAChain) {
  EXPECT_THAT(Recognised(With(kGelu, "code=[2,0,2]", "high=9, low=1, code=[2,0,2]"), Tables()),
              HasSubstr("high=9, low=1"));
  // A node with bounds still depends on x alone. Its reader starts a new chain, and therefore reads two inputs.
  EXPECT_EQ(RecognisedOperators(With(kGelu, "code=[14,0,-1]", "high=9, low=1, code=[14,0,-1]"), Tables()),
            "QLinearElementwise QLinearElementwise QLinearElementwise");
}

TEST(FuseByteTables, TwoTensorsAreNoTable) {
  const std::string two = With(With(kGelu, "in x: int8[2,3]", "in x: int8[2,3]\nin z: int8[2,3]"), "(k, x)", "(k, z)");
  EXPECT_THAT(Recognised(two, Tables()), HasSubstr("code=[2,0,2]"));
  // A constant with several elements, or with more dimensions than the other operand, gives no table either.
  for (const std::string k : {"const k: int8[3] = [2, 2, 2]", "const k: int8[1,1,1] = [2]"}) {
    const std::string text = With(kGelu, "const k: int8[] = [2]", k);
    EXPECT_THAT(Recognised(text, Tables()), HasSubstr("code=[3,0,2]")) << k;
    EXPECT_THAT(Recognised(text, Tables()), HasSubstr("code=[2,0,2]")) << k;
  }
  EXPECT_EQ(RecognisedOperators(With(kGelu, "const k: int8[] = [2]", "const k: int8[1,1] = [2]"), Tables()),
            "QLinearElementwise");
}

// Producer and reader must agree on scale and zero point of the bytes between them. Otherwise the reader begins a new
// chain.
TEST(FuseByteTables, ADifferentMeaningOfAByteEndsAChain) {
  const std::string other =
      With(kGelu, "scales=[0.125,0.0625], zero_points=[4,5]", "scales=[0.5,0.0625], zero_points=[4,5]");
  EXPECT_EQ(RecognisedOperators(other, Tables()),
            "QLinearElementwise QLinearElementwise QLinearElementwise QLinearElementwise");
  const std::string of_x = With(kGelu, "scales=[0.5,0.25,1.0]", "scales=[0.5,0.75,1.0]");
  EXPECT_EQ(RecognisedOperators(of_x, Tables()), "QLinearElementwise QLinearElementwise QLinearElementwise");
}

TEST(FuseByteTables, OnlyWhereTheProviderTakesIt) {
  ByteTableOptions options;
  options.takes = [](const kit::ir::Editor&, const kit::ir::Node& node) { return node.Ints("code").size() <= 6; };
  EXPECT_EQ(RecognisedOperators(kGelu, Tables(options)), "QLinearElementwise QLinearElementwise QLinearElementwise");
}

}  // namespace
}  // namespace epiphyte::test
