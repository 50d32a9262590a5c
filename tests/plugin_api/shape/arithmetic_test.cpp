// Numbers from files: a result that does not fit is an error, never another number.
#include <gmock/gmock.h>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::Dims;
using kit::ShapeText;

TEST(Arithmetic, ProductsAndSumsThatFitAreGiven) {
  EXPECT_EQ(kit::CheckedMultiply(-3, 5), -15);
  EXPECT_EQ(kit::CheckedMultiply(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(kit::CheckedAdd(INT64_MAX - 1, 1), INT64_MAX);
}

TEST(Arithmetic, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(Complaint([] { kit::CheckedMultiply(int64_t{1} << 40, int64_t{1} << 40); }),
            "1099511627776 times 1099511627776 found, a product below 2^63 expected");
  EXPECT_EQ(Complaint([] { kit::CheckedAdd(INT64_MAX, 1); }),
            "9223372036854775807 plus 1 found, a sum below 2^63 expected");
}

TEST(CheckedCount, AnEmptyTensorIsCountedHoweverLargeTheOtherDimensionsAre) {
  EXPECT_EQ(kit::CheckedCount(Dims{}), 1);
  EXPECT_EQ(kit::CheckedCount(Dims{2, 3, 4}), 24);
  EXPECT_EQ(kit::CheckedCount(Dims{0, int64_t{1} << 40}), 0);
  // The product is 0, but a partial product does not fit.
  EXPECT_EQ(Complaint([] {
              kit::CheckedCount(Dims{0, int64_t{1} << 40, int64_t{1} << 40});
            }),
            "shape [0,1099511627776,1099511627776] found, fewer than 2^57 elements expected");
}

TEST(CheckedCount, NegativeAndHugeShapesAreRefused) {
  EXPECT_EQ(Complaint([] { kit::CheckedCount(Dims{2, -1}); }), "shape [2,-1] found, dimensions of at least 0 expected");
  EXPECT_EQ(kit::CheckedCount(Dims{INT64_MAX / 64}), INT64_MAX / 64);
  EXPECT_EQ(Complaint([] { kit::CheckedCount(Dims{INT64_MAX / 64 + 1}); }),
            "shape [144115188075855872] found, fewer than 2^57 elements expected");
}

TEST(Axes, AreCountedFromEitherEnd) {
  EXPECT_EQ(kit::NormalizeAxis(2, 3), 2u);
  EXPECT_EQ(kit::NormalizeAxis(-3, 3), 0u);
  EXPECT_EQ(ShapeText(kit::NormalizeAxes(Dims{-1, 0}, 3)), "[2,0]");
}

TEST(Axes, OutsideTheRankAreRefusedByName) {
  EXPECT_EQ(Complaint([] { kit::NormalizeAxis(3, 3); }), "axis 3 found, a value in [-3, 2] expected");
  EXPECT_EQ(Complaint([] { kit::NormalizeAxis(INT64_MIN, 3, "batch_axis"); }),
            "batch_axis -9223372036854775808 found, a value in [-3, 2] expected");
  EXPECT_EQ(Complaint([] { kit::NormalizeAxis(0, 0); }), "axis 0 found, a value in [0, -1] expected");
}

TEST(Axes, MayNotRepeatThemselvesWhereEachCounts) {
  EXPECT_EQ(Complaint([] { kit::NormalizeAxes(Dims{1, -2}, 3); }), "axes [1,-2] found, each axis once expected");
  EXPECT_EQ(kit::AxesMask(Dims{1, -2}, 3), (std::vector<bool>{false, true, false}));
}

TEST(Axes, APermutationHasEachOfATensorsAxes) {
  EXPECT_EQ(ShapeText(kit::NormalizePermutation(Dims{2, 0, -2}, Dims{5, 6, 7})), "[2,0,1]");
  EXPECT_EQ(Complaint([] {
              kit::NormalizePermutation(Dims{0, 1}, Dims{5, 6, 7});
            }),
            "perm [0,1] found for an input of shape [5,6,7], 3 axes expected");
  EXPECT_EQ(Complaint([] {
              kit::NormalizePermutation(Dims{0, 1, 1}, Dims{5, 6, 7});
            }),
            "perm [0,1,1] found, each axis once expected");
}

TEST(Axes, ReducedOnesAreGoneOrOne) {
  EXPECT_EQ(ShapeText(kit::ReducedDims(Dims{2, 3, 4}, {false, true, false}, false)), "[2,4]");
  EXPECT_EQ(ShapeText(kit::ReducedDims(Dims{2, 3, 4}, {false, true, true}, true)), "[2,1,1]");
}

TEST(Axes, AViewCutsATensorAtOneOfThem) {
  const kit::AxisView view(Dims{2, 3, 4, 5}, 2);
  EXPECT_EQ(view.outer, 6);
  EXPECT_EQ(view.size, 4);
  EXPECT_EQ(view.inner, 5);
}

}  // namespace
}  // namespace epiphyte::test
