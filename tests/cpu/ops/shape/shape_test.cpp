// Reshape and similar operators, and operators that return or make shapes.
#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Shape Reshaped(const Shape& input, const std::vector<int64_t>& wanted, bool allow_zero = false) {
  int64_t count = 1;
  for (int64_t dim : input) count *= dim;
  OpRunner reshape("Reshape", 14);
  reshape.Attribute("allowzero", allow_zero ? 1 : 0);
  reshape.Input<float>(input, Counting<float>(count));
  reshape.Input<int64_t>({static_cast<int64_t>(wanted.size())}, wanted);
  reshape.Run();
  EXPECT_EQ(reshape.Output<float>(0), Counting<float>(count));
  return reshape.Dims(0);
}

std::string ReshapeFailure(const Shape& input, const std::vector<int64_t>& wanted) {
  int64_t count = 1;
  for (int64_t dim : input) count *= dim;
  OpRunner reshape("Reshape", 14);
  reshape.Input<float>(input, Counting<float>(count));
  reshape.Input<int64_t>({static_cast<int64_t>(wanted.size())}, wanted);
  return Failure(reshape);
}

TEST(Reshape, ResolvesZeroAndMinusOne) {
  EXPECT_EQ(Reshaped({2, 3, 4}, {0, -1}), (Shape{2, 12}));
  EXPECT_EQ(Reshaped({2, 3, 4}, {-1}), (Shape{24}));
  EXPECT_EQ(Reshaped({1}, {}), (Shape{}));
}

TEST(Reshape, EmptyInputsKeepTheirZeros) {
  EXPECT_EQ(Reshaped({0, 3}, {0, -1}), (Shape{0, 3}));
  EXPECT_EQ(Reshaped({0, 3}, {3, -1}), (Shape{3, 0}));
  EXPECT_EQ(Reshaped({0, 3}, {5, 0}, true), (Shape{5, 0}));
}

TEST(Reshape, RefusesShapesThatDoNotFit) {
  EXPECT_THAT(ReshapeFailure({2, 3}, {4, -1}), HasSubstr("[2,3]"));
  EXPECT_THAT(ReshapeFailure({2, 3}, {-1, -1}), HasSubstr("at most one -1"));
  EXPECT_THAT(ReshapeFailure({2, 3}, {2, 3, 0}), HasSubstr("dimension 2"));
  EXPECT_THAT(ReshapeFailure({2, 3}, {-7, 3}), HasSubstr("at least -1"));
  EXPECT_THAT(ReshapeFailure({2, 3}, {int64_t{1} << 62, 8, -1}), HasSubstr("2^63"));
}

TEST(Reshape, OldVersionsHaveAnAttribute) {
  OpRunner reshape("Reshape", 1);
  reshape.Attribute("shape", std::vector<int64_t>{3, 0}).Input<std::string>({2, 2}, {"a", "b", "c", "d"});
  EXPECT_THAT(Failure(reshape), HasSubstr("[2,2]"));
  OpRunner fits("Reshape", 1);
  fits.Attribute("shape", std::vector<int64_t>{4, 1}).Input<std::string>({2, 2}, {"a", "b", "c", "d"}).Run();
  EXPECT_THAT(fits.Output<std::string>(0), ElementsAre("a", "b", "c", "d"));
}

TEST(Unsqueeze, AxesCountInTheOutput) {
  OpRunner unsqueeze("Unsqueeze", 21);
  unsqueeze.Input<float>({2, 0}, {}).Input<int64_t>({3}, {-1, 0, 2}).Run();
  EXPECT_EQ(unsqueeze.Dims(0), (Shape{1, 2, 1, 0, 1}));
}

TEST(Unsqueeze, RefusesARepeatedAxis) {
  OpRunner unsqueeze("Unsqueeze", 13);
  unsqueeze.Input<float>({2}, {1, 2}).Input<int64_t>({2}, {0, -3});
  EXPECT_THAT(Failure(unsqueeze), HasSubstr("each axis once"));
}

TEST(Squeeze, WithoutAxesDropsAllOnes) {
  OpRunner squeeze("Squeeze", 13);
  squeeze.Input<float>({1, 3, 1}, {1, 2, 3}).Run();
  EXPECT_EQ(squeeze.Dims(0), (Shape{3}));
}

TEST(Squeeze, RefusesALongAxis) {
  OpRunner squeeze("Squeeze", 11);
  squeeze.Attribute("axes", std::vector<int64_t>{1}).Input<float>({1, 3}, {1, 2, 3});
  EXPECT_THAT(Failure(squeeze), HasSubstr("a dimension of 1 expected"));
}

TEST(Shape, CountsStartAndEndLikeASlice) {
  OpRunner shape("Shape", 25);
  shape.Attribute("start", -2).Attribute("end", 100).Input<uint8_t>({2, 0, 5}, {}).Run();
  EXPECT_THAT(shape.Output<int64_t>(0), ElementsAre(0, 5));
}

TEST(ConstantOfShape, FillsAnyType) {
  OpRunner fill("ConstantOfShape", 20);
  fill.Attribute("value", Packed(EP_TYPE_UINT4, {1}, {9})).Input<int64_t>({2}, {1, 3}).Run();
  EXPECT_THAT(Unpacked(fill.OutputTensor(0)), ElementsAre(9, 9, 9));
}

TEST(ConstantOfShape, RefusesImpossibleShapes) {
  OpRunner huge("ConstantOfShape", 9);
  huge.Input<int64_t>({3}, {int64_t{1} << 40, int64_t{1} << 40, 0});
  EXPECT_THAT(Failure(huge), HasSubstr("fewer than 2^57"));
  OpRunner negative("ConstantOfShape", 9);
  negative.Input<int64_t>({2}, {2, -1});
  EXPECT_THAT(Failure(negative), HasSubstr("at least 0"));
}

TEST(Constant, TakesEveryFormOfItsAttribute) {
  OpRunner floats("Constant", 13);
  floats.Attribute("value_floats", std::vector<float>{1.5f, 2}).Run();
  EXPECT_THAT(floats.Output<float>(0), ElementsAre(1.5f, 2));
  OpRunner integer("Constant", 13);
  integer.Attribute("value_int", 7).Run();
  EXPECT_EQ(integer.Dims(0), Shape{});
  EXPECT_THAT(integer.Output<int64_t>(0), ElementsAre(7));
  OpRunner strings("Constant", 13);
  strings.Attribute("value_strings", std::vector<std::string>{"x", "y"}).Run();
  EXPECT_THAT(strings.Output<std::string>(0), ElementsAre("x", "y"));
  OpRunner nothing("Constant", 13);
  EXPECT_THAT(Failure(nothing), HasSubstr("value"));
}

TEST(Range, ReachesTheEndsOfItsType) {
  OpRunner range("Range", 11);
  range.Input<int64_t>({}, {INT64_MAX - 2}).Input<int64_t>({}, {INT64_MIN}).Input<int64_t>({}, {INT64_MIN}).Run();
  EXPECT_THAT(range.Output<int64_t>(0), ElementsAre(INT64_MAX - 2, -3));
}

template <typename T>
void ExpectRanges(T start, T delta) {
  for (int64_t count = 0; count < 40; ++count) {
    std::vector<T> expected;
    for (int64_t i = 0; i < count; ++i) expected.push_back(static_cast<T>(start + static_cast<T>(i) * delta));
    OpRunner range("Range", 11);
    range.Input<T>({}, {start});
    range.Input<T>({}, {static_cast<T>(start + static_cast<T>(count) * delta)});
    range.Input<T>({}, {delta});
    range.Run();
    EXPECT_EQ(range.Output<T>(0), expected) << count;
  }
}
TEST(Range, IsThatOfTheDefinitionAtEveryLength) {
  ExpectRanges<int32_t>(-7, 3);
  ExpectRanges<int64_t>(int64_t{1} << 40, -5);
  ExpectRanges<int16_t>(100, -9);
  ExpectRanges<float>(-3, 0.25f);
  ExpectRanges<double>(1e10, -2);
}

TEST(Range, RefusesAStepOfZeroAndEndlessRanges) {
  OpRunner zero("Range", 11);
  zero.Input<int32_t>({}, {0}).Input<int32_t>({}, {3}).Input<int32_t>({}, {0});
  EXPECT_THAT(Failure(zero), HasSubstr("delta of 0"));
  OpRunner endless("Range", 11);
  endless.Input<float>({}, {0}).Input<float>({}, {INFINITY}).Input<float>({}, {1});
  EXPECT_THAT(Failure(endless), HasSubstr("2^57"));
}

}  // namespace
}  // namespace epiphyte::test
