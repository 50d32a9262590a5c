// Integer products with results that are converted back to float.
#include "epiphyte/kit/fuse/integer_products.hpp"

#include <gmock/gmock.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

Recogniser Products(kit::fuse::IntegerProductOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseIntegerProducts(editor, options); };
}

const std::string kProduct = R"(
in a: uint8[3,4]
in az: uint8[]
in as: float[]
const b: int8[4,2] = [1, 2, 3, 4, 5, 6, 7, 8]
const bz: int8[] = [0]
const bs: float[2] = [0.5, 0.25]
const c: float[1,2] = [1, 2]
i = MatMulInteger@10(a, b, az, bz) : int32[3,2]
f = Cast@13<to=1>(i) : float[3,2]
s = Mul@14(as, bs) : float[2]
m = Mul@14(f, s) : float[3,2]
y = Add@14(m, c) : float[3,2]
out y
)";

const std::string kConv = R"(
in x: uint8[1,2,4,4]
in xs: float[1]
const w: uint8[3,2,1,1] = [1, 2, 3, 4, 5, 6]
const ws: float[3,1,1] = [0.5, 0.25, 0.125]
const c: float[1,3,1,1] = [1, 2, 3]
i = ConvInteger@10<strides=[1,1]>(x, w) : int32[1,3,4,4]
f = Cast@13<to=1>(i) : float[1,3,4,4]
s = Mul@14(ws, xs) : float[3,1,1]
m = Mul@14(s, f) : float[1,3,4,4]
y = Add@14(c, m) : float[1,3,4,4]
out y
)";

TEST(FuseIntegerProducts, TakeTheScalesAndTheBias) {
  EXPECT_EQ(Recognised(kProduct, Products()), "y = epiphyte.kit::MatMulIntegerToFloat(a, b, az, bz, as, bs, c)\n");
  EXPECT_EQ(Recognised(kConv, Products()),
            "y = epiphyte.kit::ConvIntegerToFloat<strides=[1,1]>(x, w, _, _, xs, ws, c)\n");
}

TEST(FuseIntegerProducts, OneScaleAndNoBias) {
  std::string text = With(kProduct, "m = Mul@14(f, s)", "m = Mul@14(f, as)");
  text = With(text, "out y", "out m");
  EXPECT_EQ(Recognised(text, Products()), "m = epiphyte.kit::MatMulIntegerToFloat(a, b, az, bz, as, _, _)\n");
}

TEST(FuseIntegerProducts, NodesWithAnotherReaderStay) {
  EXPECT_EQ(RecognisedOperators(kProduct + "out i\n", Products()), "MatMulInteger Cast Mul Mul Add");
  EXPECT_EQ(RecognisedOperators(kProduct + "out f\n", Products()), "MatMulInteger Cast Mul Mul Add");
  EXPECT_EQ(RecognisedOperators(kProduct + "out m\n", Products()), "MatMulIntegerToFloat Add");
}

TEST(FuseIntegerProducts, OtherTypesAndShapesStay) {
  EXPECT_EQ(RecognisedOperators(With(kProduct, "to=1>(i) : float", "to=11>(i) : double"), Products()),
            "MatMulInteger Cast Mul Mul Add");
  // A column of scales has one scale for each row.
  std::string rows = With(kProduct, "bs: float[2] = [0.5, 0.25]", "bs: float[3,1] = [0.5, 0.25, 1]");
  rows = With(rows, "s = Mul@14(as, bs) : float[2]", "s = Mul@14(as, bs) : float[3,1]");
  EXPECT_EQ(RecognisedOperators(rows, Products()), "MatMulInteger Cast Mul Mul Add");
  // This addend has one number for each row.
  const std::string addend = With(kProduct, "c: float[1,2] = [1, 2]", "c: float[3,1] = [1, 2, 3]");
  EXPECT_EQ(RecognisedOperators(addend, Products()), "MatMulIntegerToFloat Add");
  // This addend runs along the last dimension of a convolution's result.
  const std::string last = With(kConv, "c: float[1,3,1,1] = [1, 2, 3]", "c: float[4] = [1, 2, 3, 4]");
  EXPECT_EQ(RecognisedOperators(last, Products()), "ConvIntegerToFloat Add");
}

TEST(FuseIntegerProducts, WhatIsNotTakenStays) {
  kit::fuse::IntegerProductOptions none;
  none.takes = [](const kit::ir::Editor&, const kit::ir::Node&) { return false; };
  EXPECT_EQ(RecognisedOperators(kProduct, Products(none)), "MatMulInteger Cast Mul Mul Add");
}

}  // namespace
}  // namespace epiphyte::test
