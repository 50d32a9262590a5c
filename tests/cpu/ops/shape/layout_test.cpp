// Operators that rearrange elements: Transpose, Concat, Split, Slice, Pad, Tile, Expand, DepthToSpace …
#include <algorithm>

#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Reference transposition, element by element.
std::vector<int64_t> Transposed(const Shape& dims, const std::vector<int64_t>& perm) {
  const size_t rank = dims.size();
  Shape strides(rank, 1), out(rank);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= out[i] = dims[static_cast<size_t>(perm[i])];
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0;
    for (size_t k = rank; k-- > 0; rest /= out[k]) at += rest % out[k] * strides[static_cast<size_t>(perm[k])];
    values[static_cast<size_t>(i)] = at;
  }
  return values;
}

template <typename T>
void ExpectTransposes(const Shape& dims, const std::vector<int64_t>& perm) {
  const std::vector<int64_t> expected = Transposed(dims, perm);
  OpRunner transpose("Transpose", 25);
  transpose.Attribute("perm", perm).Input<T>(dims, Counting<T>(static_cast<int64_t>(expected.size())));
  transpose.Run();
  EXPECT_EQ(transpose.Output<T>(0), std::vector<T>(expected.begin(), expected.end()));
}

TEST(Transpose, LargeEnoughForTilesAndShares) {
  // Odd sizes cut the tiles at both borders.
  ExpectTransposes<float>({67, 131}, {1, 0});
  ExpectTransposes<double>({5, 67, 33}, {0, 2, 1});
  ExpectTransposes<uint16_t>({2, 13, 37, 5}, {0, 3, 1, 2});
  ExpectTransposes<float>({2, 37, 13, 70}, {0, 2, 1, 3});
  ExpectTransposes<int64_t>({3, 4, 5, 6, 7}, {4, 2, 0, 3, 1});
  ExpectTransposes<float>({129, 6, 70}, {2, 0, 1});
  // Few channels are moved to the end and back. These cases cut strips, too.
  for (const int64_t channels : {2, 3, 4, 5}) {
    ExpectTransposes<float>({2, channels, 37, 131}, {0, 2, 3, 1});
    ExpectTransposes<uint8_t>({1, channels, 5, 3}, {0, 2, 3, 1});
    ExpectTransposes<double>({2, 37, 131, channels}, {0, 3, 1, 2});
  }
}

TEST(Transpose, OneShortSideAndManyPieces) {
  for (const int64_t channels : {2, 3, 4, 7, 31, 33}) {
    ExpectTransposes<uint8_t>({1, channels, 211, 97}, {0, 2, 3, 1});
    ExpectTransposes<uint8_t>({1, 211, 97, channels}, {0, 3, 1, 2});
    ExpectTransposes<uint16_t>({2, channels, 201, 37}, {0, 2, 3, 1});
    ExpectTransposes<uint16_t>({2, 201, 37, channels}, {0, 3, 1, 2});
    ExpectTransposes<float>({1, channels, 211, 97}, {0, 2, 3, 1});
    ExpectTransposes<float>({2, 211, 97, channels}, {0, 3, 1, 2});
    ExpectTransposes<double>({1, channels, 201, 37}, {0, 2, 3, 1});
  }
}

TEST(Transpose, StringsAndPackedTypes) {
  OpRunner strings("Transpose", 13);
  strings.Input<std::string>({2, 3}, {"a", "b", "c", "d", "e", "f"}).Run();
  EXPECT_THAT(strings.Output<std::string>(0), ElementsAre("a", "d", "b", "e", "c", "f"));
  for (cpu::ElementType type : {EP_TYPE_INT4, EP_TYPE_UINT4, EP_TYPE_FLOAT4E2M1}) {
    OpRunner nibbles("Transpose", 25);
    nibbles.InputDatum(Packed(type, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 15})).Run();
    EXPECT_THAT(Unpacked(nibbles.OutputTensor(0)), ElementsAre(1, 4, 7, 2, 5, 8, 3, 6, 15));
  }
  OpRunner pairs("Transpose", 25);
  pairs.InputDatum(Packed(EP_TYPE_UINT2, {2, 3}, {1, 2, 3, 0, 3, 2})).Run();
  EXPECT_THAT(Unpacked(pairs.OutputTensor(0)), ElementsAre(1, 0, 2, 3, 3, 2));
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  OpRunner twice("Transpose", 13);
  twice.Attribute("perm", std::vector<int64_t>{0, 0}).Input<float>({1, 2}, {1, 2});
  EXPECT_THAT(Failure(twice), HasSubstr("each axis once"));
  OpRunner few("Transpose", 13);
  few.Attribute("perm", std::vector<int64_t>{0}).Input<float>({1, 2}, {1, 2});
  EXPECT_THAT(Failure(few), HasSubstr("2 axes expected"));
}

TEST(Concat, JoinsAlongAnInnerAxisAndSkipsEmptyParts) {
  OpRunner concat("Concat", 13);
  concat.Attribute("axis", -1).Input<float>({2, 1}, {1, 2}).Input<float>({2, 0}, {}).Input<float>({2, 2}, {3, 4, 5, 6});
  concat.Run();
  EXPECT_EQ(concat.Dims(0), (Shape{2, 3}));
  EXPECT_THAT(concat.Output<float>(0), ElementsAre(1, 3, 4, 2, 5, 6));
}

TEST(Concat, JoinsPackedElementsInsideAByte) {
  OpRunner concat("Concat", 25);
  concat.Attribute("axis", 0)
      .InputDatum(Packed(EP_TYPE_UINT4, {3}, {1, 2, 3}))
      .InputDatum(Packed(EP_TYPE_UINT4, {2}, {4, 5}));
  concat.Run();
  EXPECT_THAT(Unpacked(concat.OutputTensor(0)), ElementsAre(1, 2, 3, 4, 5));
}

TEST(Concat, RefusesShapesThatDiffer) {
  OpRunner concat("Concat", 13);
  concat.Attribute("axis", 0).Input<float>({1, 2}, {1, 2}).Input<float>({1, 3}, {1, 2, 3});
  EXPECT_THAT(Failure(concat), HasSubstr("[1,3]"));
  OpRunner types("Concat", 13);
  types.Attribute("axis", 0).Input<float>({1}, {1}).Input<int32_t>({1}, {1});
  EXPECT_NE(Failure(types), "");
}

TEST(Split, GivesTheLastOutputWhatIsLeft) {
  OpRunner split("Split", 18);
  split.Attribute("num_outputs", 4).Input<int32_t>({5}, {1, 2, 3, 4, 5}).Outputs(4).Run();
  EXPECT_THAT(split.Output<int32_t>(0), ElementsAre(1, 2));
  EXPECT_THAT(split.Output<int32_t>(2), ElementsAre(5));
  EXPECT_EQ(split.Dims(3), Shape{0});
}

TEST(Split, RefusesSizesThatDoNotAddUp) {
  const auto failure = [](const std::vector<int64_t>& sizes) {
    OpRunner split("Split", 13);
    split.Input<float>({4}, {1, 2, 3, 4}).Input<int64_t>({static_cast<int64_t>(sizes.size())}, sizes).Outputs(2);
    return Failure(split);
  };
  EXPECT_THAT(failure({1, 2}), HasSubstr("that sum expected"));
  EXPECT_THAT(failure({5, -1}), HasSubstr("at least 0"));
  EXPECT_THAT(failure({INT64_MAX, INT64_MAX}), HasSubstr("2^63"));
  EXPECT_THAT(failure({4}), HasSubstr("2 outputs"));
}

TEST(Slice, TakesTheMostExtremeNumbers) {
  OpRunner backwards("Slice", 13);
  backwards.Input<int32_t>({5}, {0, 1, 2, 3, 4}).Input<int64_t>({1}, {INT64_MAX}).Input<int64_t>({1}, {INT64_MIN});
  backwards.Input<int64_t>({1}, {0}).Input<int64_t>({1}, {-2}).Run();
  EXPECT_THAT(backwards.Output<int32_t>(0), ElementsAre(4, 2, 0));
  OpRunner stride("Slice", 13);
  stride.Input<int32_t>({5}, {0, 1, 2, 3, 4}).Input<int64_t>({1}, {-1}).Input<int64_t>({1}, {INT64_MIN});
  stride.Input<int64_t>({1}, {0}).Input<int64_t>({1}, {INT64_MIN}).Run();
  EXPECT_THAT(stride.Output<int32_t>(0), ElementsAre(4));
}

TEST(Slice, EmptyResultsAndEmptyInputs) {
  OpRunner nothing("Slice", 13);
  nothing.Input<float>({0, 3}, {}).Input<int32_t>({2}, {0, 2}).Input<int32_t>({2}, {9, 1}).Run();
  EXPECT_EQ(nothing.Dims(0), (Shape{0, 0}));
}

TEST(Slice, RefusesStepZeroAndForeignAxes) {
  OpRunner zero("Slice", 10);
  zero.Input<float>({2}, {1, 2}).Input<int64_t>({1}, {0}).Input<int64_t>({1}, {2}).Input<int64_t>({1}, {0});
  zero.Input<int64_t>({1}, {0});
  EXPECT_THAT(Failure(zero), HasSubstr("step of 0"));
  OpRunner axis("Slice", 10);
  axis.Input<float>({2}, {1, 2}).Input<int64_t>({1}, {0}).Input<int64_t>({1}, {2}).Input<int64_t>({1}, {1});
  EXPECT_THAT(Failure(axis), HasSubstr("[-1, 0]"));
}

TEST(Pad, WrapsAndReflectsAsOftenAsNeeded) {
  OpRunner wrap("Pad", 25);
  wrap.Attribute("mode", "wrap").Input<int32_t>({3}, {1, 2, 3}).Input<int64_t>({2}, {4, 5}).Run();
  EXPECT_THAT(wrap.Output<int32_t>(0), ElementsAre(3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2));
  OpRunner reflect("Pad", 25);
  reflect.Attribute("mode", "reflect").Input<int32_t>({3}, {1, 2, 3}).Input<int64_t>({2}, {3, 0}).Run();
  EXPECT_THAT(reflect.Output<int32_t>(0), ElementsAre(2, 3, 2, 1, 2, 3));
}

TEST(Pad, StringsAndPackedTypes) {
  OpRunner strings("Pad", 25);
  strings.Input<std::string>({1}, {"x"}).Input<int64_t>({2}, {1, 1}).Input<std::string>({}, {"-"}).Run();
  EXPECT_THAT(strings.Output<std::string>(0), ElementsAre("-", "x", "-"));
  OpRunner nibbles("Pad", 25);
  nibbles.InputDatum(Packed(EP_TYPE_INT4, {2}, {1, 2}))
      .Input<int64_t>({2}, {1, 0})
      .InputDatum(Packed(EP_TYPE_INT4, {}, {7}))
      .Run();
  EXPECT_THAT(Unpacked(nibbles.OutputTensor(0)), ElementsAre(7, 1, 2));
}

TEST(Pad, NothingTakesNoMemoryHoweverLongItIs) {
  OpRunner pad("Pad", 18);
  pad.Input<float>({3, 2}, Counting<float>(6)).Input<int64_t>({4}, {int64_t{1} << 50, 0, 0, -2}).Run();
  EXPECT_EQ(pad.Dims(0), (Shape{(int64_t{1} << 50) + 3, 0}));
}

TEST(Pad, RefusesWhatCannotBePadded) {
  const auto failure = [](const std::string& mode, const Shape& dims, const std::vector<int64_t>& pads) {
    OpRunner pad("Pad", 18);
    pad.Attribute("mode", mode)
        .Input<float>(dims, Counting<float>(dims[0]))
        .Input<int64_t>({static_cast<int64_t>(pads.size())}, pads);
    return Failure(pad);
  };
  EXPECT_THAT(failure("edge", {0}, {1, 0}), HasSubstr("empty dimension"));
  EXPECT_THAT(failure("constant", {2}, {-2, -1}), HasSubstr("at least 0 left"));
  EXPECT_THAT(failure("constant", {2}, {INT64_MIN, INT64_MAX}), HasSubstr("2^57"));
  EXPECT_THAT(failure("constant", {2}, {1}), HasSubstr("two for each"));
  EXPECT_THAT(failure("mirror", {2}, {1, 1}), HasSubstr("'mirror'"));
}

TEST(Tile, RepeatsAlongEveryAxis) {
  OpRunner tile("Tile", 13);
  tile.Input<uint8_t>({1, 2}, {1, 2}).Input<int64_t>({2}, {2, 2}).Run();
  EXPECT_THAT(tile.Output<uint8_t>(0), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
  OpRunner none("Tile", 13);
  none.Input<uint8_t>({1, 2}, {1, 2}).Input<int64_t>({2}, {0, 3}).Run();
  EXPECT_EQ(none.Dims(0), (Shape{0, 6}));
}

TEST(Tile, RefusesNegativeAndHugeCounts) {
  OpRunner negative("Tile", 13);
  negative.Input<float>({1}, {1}).Input<int64_t>({1}, {-1});
  EXPECT_THAT(Failure(negative), HasSubstr("at least 0"));
  OpRunner huge("Tile", 13);
  huge.Input<float>({4}, {1, 2, 3, 4}).Input<int64_t>({1}, {INT64_MAX / 2});
  EXPECT_THAT(Failure(huge), HasSubstr("2^63"));
}

TEST(Expand, BroadcastsBothWays) {
  OpRunner expand("Expand", 13);
  expand.Input<int16_t>({3, 1}, {1, 2, 3}).Input<int64_t>({3}, {2, 1, 2}).Run();
  EXPECT_EQ(expand.Dims(0), (Shape{2, 3, 2}));
  EXPECT_THAT(expand.Output<int16_t>(0), ElementsAre(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3));
  OpRunner bad("Expand", 13);
  bad.Input<float>({3}, {1, 2, 3}).Input<int64_t>({1}, {2});
  EXPECT_THAT(Failure(bad), HasSubstr("broadcast"));
}

TEST(Expand, RepeatsShortRowsManyTimes) {
  for (const int64_t times : {1, 2, 7, 1000, 20'001}) {
    const std::vector<int16_t> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    OpRunner expand("Expand", 13);
    expand.Input<int16_t>({3, 1, 5}, x).Input<int64_t>({3}, {3, times, 5}).Run();
    const std::vector<int16_t> y = expand.Output<int16_t>(0);
    ASSERT_EQ(y.size(), static_cast<size_t>(15 * times));
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], x[i / static_cast<size_t>(5 * times) * 5 + i % 5]) << i << " of " << times << " times";
  }
}

TEST(CenterCropPad, CropsAndPadsAroundTheMiddle) {
  OpRunner both("CenterCropPad", 18);
  both.Input<int32_t>({1, 5}, {1, 2, 3, 4, 5}).Input<int64_t>({2}, {2, 2}).Run();
  EXPECT_EQ(both.Dims(0), (Shape{2, 2}));
  EXPECT_THAT(both.Output<int32_t>(0), ElementsAre(2, 3, 0, 0));
}

TEST(SpaceToDepth, IsTheInverseOfDepthToSpace) {
  OpRunner forth("DepthToSpace", 13);
  forth.Attribute("blocksize", 2).Input<float>({1, 8, 2, 3}, Counting<float>(48)).Run();
  OpRunner back("SpaceToDepth", 13);
  back.Attribute("blocksize", 2).Input<float>({1, 2, 4, 6}, forth.Output<float>(0)).Run();
  EXPECT_EQ(back.Output<float>(0), Counting<float>(48));
  OpRunner bad("DepthToSpace", 13);
  bad.Attribute("blocksize", 3).Input<float>({1, 8, 2, 3}, Counting<float>(48));
  EXPECT_THAT(Failure(bad), HasSubstr("multiple of 9"));
}

TEST(ReverseSequence, RefusesLengthsBeyondTheAxis) {
  OpRunner reverse("ReverseSequence", 10);
  reverse.Input<float>({2, 1}, {1, 2}).Input<int64_t>({1}, {3});
  EXPECT_THAT(Failure(reverse), HasSubstr("[0, 2]"));
}

}  // namespace
}  // namespace epiphyte::test
