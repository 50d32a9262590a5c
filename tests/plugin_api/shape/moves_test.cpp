// Shapes and index maps of operators that move elements: Expand, Tile, Concat, Split, Gather, Reshape and its
// relatives, Pad, DepthToSpace, Scatter, Range.
#include <gmock/gmock.h>

#include "epiphyte/kit/shape/depth_space.hpp"
#include "epiphyte/kit/shape/gather.hpp"
#include "epiphyte/kit/shape/join.hpp"
#include "epiphyte/kit/shape/pad.hpp"
#include "epiphyte/kit/shape/range.hpp"
#include "epiphyte/kit/shape/repeat.hpp"
#include "epiphyte/kit/shape/reshape.hpp"
#include "epiphyte/kit/shape/scatter.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::Dims;
using kit::ShapeText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ExpandShape, RepeatsWhatIsOne) {
  const kit::ExpandShape expand(Dims{3, 1, 2}, Dims{5, 1, 4, 1});
  EXPECT_EQ(ShapeText(expand.dims), "[5,3,4,2]");
  EXPECT_EQ(ShapeText(expand.strides), "[0,2,0,1]");
  EXPECT_EQ(ShapeText(kit::ExpandShape(Dims{3, 1}, Dims{0}).dims), "[3,0]");
  EXPECT_EQ(Complaint([] {
              kit::ExpandShape(Dims{3, 2}, Dims{4, 2});
            }),
            "shape [4,2] found for an input of shape [3,2], shapes that broadcast expected");
  EXPECT_THAT(Complaint([] { kit::ExpandShape(Dims{1}, Dims{-1}); }), HasSubstr("shapes that broadcast expected"));
  EXPECT_THAT(Complaint([] { kit::ExpandShape(Dims{1}, Dims{INT64_MAX}); }), HasSubstr("fewer than 2^57"));
}

TEST(TileShape, IsAMoveWithTwoAxesForEach) {
  const kit::TileShape tile(Dims{2, 3}, Dims{4, 1});
  EXPECT_EQ(ShapeText(tile.dims), "[8,3]");
  EXPECT_EQ(ShapeText(tile.move), "[4,2,1,3]");
  EXPECT_EQ(ShapeText(tile.strides), "[0,3,0,1]");
  EXPECT_EQ(Complaint([] { kit::TileShape(Dims{2, 3}, Dims{4}); }), "repeats [4] found, 2 numbers expected");
  EXPECT_EQ(Complaint([] { kit::TileShape(Dims{2}, Dims{-4}); }), "repeats [-4] found, numbers of at least 0 expected");
  EXPECT_THAT(Complaint([] { kit::TileShape(Dims{4}, Dims{INT64_MAX}); }), HasSubstr("a product below 2^63"));
}

TEST(ConcatShape, AddsUpAlongTheAxis) {
  const Dims first{2, 3};
  kit::ConcatShape shape(first, -1);
  shape.Add(Dims{2, 0});
  shape.Add(Dims{2, 5});
  EXPECT_EQ(shape.axis(), 1u);
  EXPECT_EQ(ShapeText(shape.Result()), "[2,8]");
  EXPECT_EQ(Complaint([&] {
              shape.Add(Dims{3, 5});
            }),
            "input 3 of shape [3,5] found, [2,3] apart from axis 1 expected");
  EXPECT_THAT(Complaint([&] { shape.Add(Dims{2, 5, 1}); }), HasSubstr("apart from axis 1"));
  EXPECT_THAT(Complaint([&] { shape.Add(Dims{2, INT64_MAX}); }), HasSubstr("a sum below 2^63"));
}

TEST(Split, PartsSumUpToTheDimension) {
  kit::CheckSplit(Dims{2, 0, 5}, 3, 7);
  EXPECT_EQ(Complaint([] {
              kit::CheckSplit(Dims{2, 5}, 3, 7);
            }),
            "split [2,5] found for 3 outputs, as many sizes expected");
  EXPECT_EQ(Complaint([] {
              kit::CheckSplit(Dims{2, 4}, 2, 7);
            }),
            "split [2,4] found for a dimension of 7, that sum expected");
  EXPECT_EQ(Complaint([] { kit::CheckSplit(Dims{9, -2}, 2, 7); }), "split [9,-2] found, sizes of at least 0 expected");
  EXPECT_THAT(Complaint([] { kit::CheckSplit(Dims{INT64_MAX, INT64_MAX}, 2, 7); }), HasSubstr("a sum below 2^63"));
}

TEST(Split, EqualPartsMayLeaveLessForTheLast) {
  EXPECT_EQ(ShapeText(kit::SplitEvenly(7, 3, true)), "[3,3,1]");
  EXPECT_EQ(ShapeText(kit::SplitEvenly(2, 4, true)), "[1,1,0,0]");
  EXPECT_EQ(ShapeText(kit::SplitEvenly(6, 3, false)), "[2,2,2]");
  EXPECT_EQ(Complaint([] { kit::SplitEvenly(7, 3, false); }), "a dimension of 7 found, a multiple of 3 expected");
}

TEST(Gather, IndicesTakeThePlaceOfTheAxis) {
  EXPECT_EQ(ShapeText(kit::GatherDims(Dims{2, 3, 4}, Dims{5, 6}, 1)), "[2,5,6,4]");
  EXPECT_EQ(ShapeText(kit::GatherDims(Dims{2, 3, 4}, Dims{}, 0)), "[3,4]");
  EXPECT_THAT(Complaint([] { kit::GatherDims(Dims{2, 1 << 30}, Dims{1 << 30}, 0); }), HasSubstr("fewer than 2^57"));
}

TEST(Gather, ElementsLieInsideTheData) {
  kit::CheckGatherElements(Dims{2, 3}, Dims{2, 9}, 1);
  EXPECT_EQ(Complaint([] {
              kit::CheckGatherElements(Dims{2, 3}, Dims{3, 3}, 1);
            }),
            "indices of shape [3,3] found for data of shape [2,3], at most that apart from axis 1 expected");
  EXPECT_THAT(Complaint([] { kit::CheckGatherElements(Dims{2, 3}, Dims{3}, 1); }), HasSubstr("apart from axis 1"));
}

TEST(Gather, TuplesTakePartsBehindTheBatch) {
  const kit::GatherNdShape shape(Dims{2, 3, 4, 5}, Dims{2, 7, 2}, 1);
  EXPECT_EQ(shape.depth, 2u);
  EXPECT_EQ(shape.tuples, 14);
  EXPECT_EQ(shape.run, 5);
  EXPECT_EQ(ShapeText(shape.dims), "[2,7,5]");
  EXPECT_EQ(ShapeText(kit::GatherNdShape(Dims{3}, Dims{0}, 0).dims), "[3]");  // one index tuple without numbers
}

TEST(Gather, TuplesThatDoNotFitAreRefused) {
  EXPECT_EQ(Complaint([] {
              kit::GatherNdShape(Dims{2, 3}, Dims{2, 1}, 2);
            }),
            "batch_dims 2 found for data of shape [2,3] and indices of shape [2,1], less than both ranks expected");
  EXPECT_THAT(Complaint([] { kit::GatherNdShape(Dims{}, Dims{1}, 0); }), HasSubstr("less than both ranks"));
  EXPECT_EQ(Complaint([] {
              kit::GatherNdShape(Dims{2, 3}, Dims{2, 2}, 1);
            }),
            "indices of shape [2,2] found, tuples of at most 1 expected");
  EXPECT_EQ(Complaint([] {
              kit::GatherNdShape(Dims{2, 3}, Dims{4, 1}, 1);
            }),
            "data of shape [2,3] and indices of shape [4,1] found, 1 equal dimensions in front expected");
}

TEST(Reshape, ResolvesZeroAndMinusOne) {
  EXPECT_EQ(ShapeText(kit::ReshapeDims(Dims{2, 3, 4}, Dims{0, -1}, false)), "[2,12]");
  EXPECT_EQ(ShapeText(kit::ReshapeDims(Dims{0, 4}, Dims{0, -1}, false)), "[0,4]");
  EXPECT_EQ(ShapeText(kit::ReshapeDims(Dims{0, 4}, Dims{4, 0}, true)), "[4,0]");
  EXPECT_EQ(ShapeText(kit::ReshapeDims(Dims{1}, Dims{}, false)), "[]");
}

TEST(Reshape, RefusesAnotherNumberOfElements) {
  const auto complaint = [](Dims x, Dims wanted, bool zero = false) {
    return Complaint([&] { kit::ReshapeDims(x, wanted, zero); });
  };
  EXPECT_EQ(complaint({2, 3}, {4}), "input of shape [2,3] found, a count of elements that fits shape [4] expected");
  EXPECT_THAT(complaint({2, 3}, {4, -1}), HasSubstr("fits shape [4,-1]"));
  EXPECT_THAT(complaint({2, 0}, {0, -1}, true), HasSubstr("fits shape [0,-1]"));
  EXPECT_EQ(complaint({2, 3}, {-1, -1}), "shape [-1,-1] found, at most one -1 expected");
  EXPECT_EQ(complaint({2, 3}, {-2}), "shape [-2] found, dimensions of at least -1 expected");
  EXPECT_EQ(complaint({2}, {2, 0}), "shape [2,0] found for an input of rank 1: dimension 1 to copy expected");
  EXPECT_THAT(complaint({2}, {INT64_MAX, INT64_MAX}), HasSubstr("a product below 2^63"));
}

TEST(Reshape, RelativesKeepTheElements) {
  EXPECT_EQ(ShapeText(kit::FlattenDims(Dims{2, 3, 4}, -1)), "[6,4]");
  EXPECT_EQ(ShapeText(kit::FlattenDims(Dims{2, 3, 4}, 3)), "[24,1]");
  EXPECT_EQ(ShapeText(kit::FlattenDims(Dims{}, 0)), "[1,1]");
  EXPECT_EQ(ShapeText(kit::SqueezeDims(Dims{1, 3, 1})), "[3]");
  EXPECT_EQ(ShapeText(kit::SqueezeDims(Dims{1, 3, 1}, Dims{-1})), "[1,3]");
  EXPECT_EQ(ShapeText(kit::SqueezeDims(Dims{1, 3, 1}, Dims{})), "[1,3,1]");
  EXPECT_EQ(Complaint([] {
              kit::SqueezeDims(Dims{1, 3}, Dims{1});
            }),
            "axis 1 of shape [1,3] found, a dimension of 1 expected");
  EXPECT_EQ(ShapeText(kit::UnsqueezeDims(Dims{0, 3}, Dims{-1, 0})), "[1,0,3,1]");
  EXPECT_THAT(Complaint([] { kit::UnsqueezeDims(Dims{3}, Dims{0, 0}); }), HasSubstr("each axis once"));
}

TEST(Pad, AddsAndCutsOnBothSides) {
  EXPECT_EQ(ShapeText(kit::PaddedDims(Dims{4, 5}, Dims{1, -2}, Dims{0, 3})), "[5,6]");
  EXPECT_EQ(Complaint([] { kit::PaddedDims(Dims{4}, Dims{-3}, Dims{-2}); }),
            "pads -3 and -2 found for a dimension of 4, at least 0 left expected");
  EXPECT_THAT(Complaint([] { kit::PaddedDims(Dims{4}, Dims{INT64_MAX}, Dims{1}); }), HasSubstr("within 2^57"));
  EXPECT_THAT(kit::CenterPads(4, 7), Pair(1, 2));
  EXPECT_THAT(kit::CenterPads(7, 4), Pair(-1, -2));
}

TEST(Pad, MapsSayWhereElementsComeFrom) {
  using kit::PadMode;
  EXPECT_THAT(kit::PadMap(PadMode::kConstant, 3, 2, 1, 6), ElementsAre(-1, -1, 0, 1, 2, -1));
  EXPECT_THAT(kit::PadMap(PadMode::kEdge, 3, 2, 1, 6), ElementsAre(0, 0, 0, 1, 2, 2));
  EXPECT_THAT(kit::PadMap(PadMode::kReflect, 3, 5, 3, 11), ElementsAre(1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1));
  EXPECT_THAT(kit::PadMap(PadMode::kWrap, 3, 4, 1, 8), ElementsAre(2, 0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(kit::PadMap(PadMode::kReflect, 3, 5, 3, 11, 8, 11), ElementsAre(1, 0, 1));
  EXPECT_THAT(kit::PadMap(PadMode::kConstant, 3, 2, 1, 6, 1, 4), ElementsAre(-1, 0, 1));
  // Cropping comes first, so padding never reads cropped elements.
  EXPECT_THAT(kit::PadMap(PadMode::kEdge, 4, -1, 2, 5), ElementsAre(1, 2, 3, 3, 3));
  EXPECT_THAT(kit::PadMap(PadMode::kReflect, 1, 1, 1, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(Complaint([] { kit::PadMap(PadMode::kEdge, 0, 1, 0, 1); }), HasSubstr("an empty dimension found"));
  EXPECT_THAT(Complaint([] { kit::PadModeOf("mirror"); }), HasSubstr("mode 'mirror' found"));
}

TEST(Pad, ListsOfPadsNameAxesInAnyOrder) {
  const kit::Pads pads(3, Dims{1, 2, 3, 4}, Dims{-1, 0});
  EXPECT_EQ(ShapeText(pads.before), "[2,0,1]");
  EXPECT_EQ(ShapeText(pads.after), "[4,0,3]");
  EXPECT_EQ(ShapeText(kit::Pads(2, Dims{1, 2, 3, 4}).after), "[3,4]");
  EXPECT_EQ(Complaint([] { kit::Pads(2, Dims{1, 2, 3}); }), "3 pads found, two for each of 2 axes expected");
}

TEST(Scatter, TuplesNamePartsOfTheData) {
  const kit::ScatterNdShape shape(Dims{4, 5, 6}, Dims{2, 3, 2}, Dims{2, 3, 6});
  EXPECT_EQ(shape.depth, 2u);
  EXPECT_EQ(shape.tuples, 6);
  EXPECT_EQ(shape.run, 6);
  EXPECT_EQ(Complaint([] {
              kit::ScatterNdShape(Dims{4, 5}, Dims{3, 1}, Dims{3, 4});
            }),
            "updates of shape [3,4] found, [3,5] expected");
  EXPECT_THAT(Complaint([] { kit::ScatterNdShape(Dims{4}, Dims{3, 2}, Dims{3}); }), HasSubstr("tuples of at most 1"));
  EXPECT_EQ(Complaint([] { kit::CheckScatterElements(Dims{4, 5}, Dims{9, 5}, Dims{9, 5}, 0); }), "");
  EXPECT_THAT(Complaint([] {
                kit::CheckScatterElements(Dims{4, 5}, Dims{9, 5}, Dims{9, 5}, 1);
              }),
              HasSubstr("inside the first apart from axis 1"));
  EXPECT_THAT(Complaint([] { kit::ScatterReductionOf("sum"); }), HasSubstr("reduction 'sum' found"));
}

TEST(Range, CountsWithoutOverflow) {
  EXPECT_EQ(kit::RangeCount(int64_t{0}, int64_t{10}, int64_t{3}), 4);
  EXPECT_EQ(kit::RangeCount(int64_t{10}, int64_t{0}, int64_t{-5}), 2);
  EXPECT_EQ(kit::RangeCount(int64_t{0}, int64_t{10}, int64_t{-1}), 0);
  EXPECT_EQ(kit::RangeCount(INT64_MIN, INT64_MAX, INT64_MAX), 3);
  EXPECT_EQ(kit::RangeCount(uint64_t{5}, UINT64_MAX, UINT64_MAX - 6), 2);
  EXPECT_EQ(kit::RangeCount(0.0, 1.0, 0.3), 4);
  EXPECT_EQ(kit::RangeCount(1.0, 0.0, 0.5), 0);
  EXPECT_THAT(Complaint([] { kit::RangeCount(INT64_MIN, INT64_MAX, int64_t{1}); }), HasSubstr("fewer than 2^57"));
  EXPECT_THAT(Complaint([] { kit::RangeCount(0.0, 1e300, 1e-300); }), HasSubstr("fewer than 2^57"));
  EXPECT_THAT(Complaint([] { kit::RangeCount(0.0, 1.0, 0.0); }), HasSubstr("a delta of 0"));
}

TEST(DepthToSpace, IsATransposeThatTheOtherTakesBack) {
  for (const bool depth_first : {true, false}) {
    const kit::BlockMove forth = kit::DepthToSpaceMove(Dims{2, 12, 3, 5}, 2, depth_first);
    EXPECT_EQ(ShapeText(forth.dims), "[2,3,6,10]");
    EXPECT_EQ(forth.split.Count(), forth.dims.Count());
    EXPECT_EQ(ShapeText(kit::SpaceToDepthMove(forth.dims, 2).dims), "[2,12,3,5]");
  }
  EXPECT_EQ(ShapeText(kit::DepthToSpaceMove(Dims{1, 8, 1, 1}, 2, true).split), "[1,2,2,2,1,1]");
  EXPECT_EQ(Complaint([] {
              kit::DepthToSpaceMove(Dims{1, 8, 2, 3}, 3, true);
            }),
            "input of shape [1,8,2,3] found, rank 4 and a multiple of 9 channels expected");
  EXPECT_EQ(Complaint([] {
              kit::SpaceToDepthMove(Dims{1, 8, 2, 3}, 2);
            }),
            "input of shape [1,8,2,3] found, rank 4 and height and width that are multiples of 2 expected");
  EXPECT_EQ(Complaint([] { kit::SpaceToDepthMove(Dims{1, 8, 2, 3}, 0); }), "blocksize 0 found, at least 1 expected");
}

}  // namespace
}  // namespace epiphyte::test
