// Shapes of matrix products, as numpy.matmul has them.
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

}  // namespace
}  // namespace epiphyte::test
