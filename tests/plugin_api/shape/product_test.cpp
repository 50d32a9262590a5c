// Shapes of matrix products, as numpy.matmul defines them.
#include <gmock/gmock.h>

#include "epiphyte/kit/shape/product.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::Dims;
using kit::ProductShape;
using kit::ShapeText;
using ::testing::HasSubstr;

TEST(ProductShape, VectorsStandForMatrices) {
  EXPECT_EQ(ShapeText(ProductShape(Dims{2, 3}, Dims{3, 4}).y), "[2,4]");
  EXPECT_EQ(ShapeText(ProductShape(Dims{3}, Dims{3, 4}).y), "[4]");
  EXPECT_EQ(ShapeText(ProductShape(Dims{2, 3}, Dims{3}).y), "[2]");
  EXPECT_EQ(ShapeText(ProductShape(Dims{3}, Dims{3}).y), "[]");
  EXPECT_EQ(ShapeText(ProductShape(Dims{7, 2, 3}, Dims{3}).y), "[7,2]");
}

TEST(ProductShape, BatchesBroadcast) {
  const ProductShape shape(Dims{5, 1, 2, 3}, Dims{6, 3, 4});
  EXPECT_EQ(ShapeText(shape.y), "[5,6,2,4]");
  EXPECT_EQ(ShapeText(shape.a_batch) + ShapeText(shape.b_batch), "[5,1][1,6]");
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(shape.OffsetA(i), i / 6);
    EXPECT_EQ(shape.OffsetB(i), i % 6);
  }
}

TEST(ProductShape, ShapesThatCannotBeMultipliedAreRefused) {
  const auto complaint = [](Dims a, Dims b) { return Complaint([&] { ProductShape(a, b); }); };
  EXPECT_EQ(complaint({2, 3}, {4, 5}), "shapes [2,3] and [4,5] can't be multiplied: 3 and 4");
  EXPECT_EQ(complaint({}, {4, 5}), "shapes [] and [4,5] can't be multiplied");
  EXPECT_THAT(complaint({2, 2, 3}, {5, 3, 4}), HasSubstr("[2] and [5] do not broadcast"));
  EXPECT_THAT(complaint({1 << 30, 1}, {1, 1 << 30}), HasSubstr("fewer than 2^57"));
}

TEST(GemmShape, EitherMatrixMayBeTransposed) {
  const kit::GemmShape shape(Dims{3, 2}, Dims{4, 3}, true, true);
  EXPECT_EQ(shape.m, 2);
  EXPECT_EQ(shape.k, 3);
  EXPECT_EQ(shape.n, 4);
  EXPECT_EQ(Complaint([] { kit::GemmShape(Dims{3, 2}, Dims{4, 3}, false, true); }), "inner dimensions 2 and 3 differ");
  EXPECT_EQ(Complaint([] {
              kit::GemmShape(Dims{3}, Dims{4, 3}, false, true);
            }),
            "operands of rank 1 and 2; matrices expected");
}

TEST(GemmShape, TheAddendBroadcasts) {
  const kit::GemmShape shape(Dims{2, 3}, Dims{3, 4}, false, false);
  EXPECT_EQ(kit::GemmAddend(Dims{2, 4}, shape).Offset(1, 3), 7);
  EXPECT_EQ(kit::GemmAddend(Dims{4}, shape).Offset(1, 3), 3);
  EXPECT_EQ(kit::GemmAddend(Dims{2, 1}, shape).Offset(1, 3), 1);
  EXPECT_EQ(kit::GemmAddend(Dims{}, shape).Offset(1, 3), 0);
  EXPECT_EQ(Complaint([&] { kit::GemmAddend(Dims{3, 4}, shape); }), "C of 3 x 4 does not broadcast to 2 x 4");
  EXPECT_EQ(Complaint([&] { kit::GemmAddend(Dims{1, 2, 4}, shape); }), "C has rank 3; at most 2 expected");
}

}  // namespace
}  // namespace epiphyte::test
