// Chains that one node can replace, and similar chains that it can't.
#include <gtest/gtest.h>

#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;

// The numbers of Cast's types: 1 float, 6 int32, 7 int64, 9 bool, 10 float16, 11 double.
TEST(MergeCasts, MergesThroughATypeThatHoldsEveryValue) {
  EXPECT_EQ(Apply(MakeMergeCasts(), R"(
    in  x: float16[2]
    a:float[2] = Cast<to=1>(x)
    b:double[2] = Cast<to=11>(a)
    y:int64[2] = Cast<to=7>(b)
    out y
  )")
                .text,
            "y = Cast<to=7>(x)\n");
}

TEST(MergeCasts, StaysIfTheIntermediateTypeRounds) {
  for (const char* types :
       {"float[2]|10|float16", "int64[2]|1|float", "float[2]|6|int32", "int32[2]|9|bool", "int64[2]|6|int32"}) {
    const std::string text = types;
    const size_t first = text.find('|');
    const size_t second = text.find('|', first + 1);
    EXPECT_FALSE(Apply(MakeMergeCasts(), "in x: " + text.substr(0, first) + "\na:" + text.substr(second + 1) +
                                             "[2] = Cast<to=" + text.substr(first + 1, second - first - 1) +
                                             ">(x)\ny:double[2] = Cast<to=11>(a)\nout y")
                     .changed)
        << types;
  }
}

TEST(MergeCasts, StaysForRoundingOptions) {
  EXPECT_FALSE(Apply(MakeMergeCasts(), R"(
    in  x: float[2]
    a:double[2] = Cast<to=11>(x)
    y = Cast<to=17, saturate=0>(a)
    out y
  )")
                   .changed);
}

TEST(MergeTransposes, ComposesPermutations) {
  EXPECT_EQ(Apply(MakeMergeTransposes(), R"(
    in  x: float[2,3,4]
    a:float[3,4,2] = Transpose<perm=[1,2,0]>(x)
    y:float[2,4,3] = Transpose<perm=[2,1,0]>(a)
    out y
  )")
                .text,
            "y = Transpose<perm=[0,2,1]>(x)\n");
}

TEST(MergeTransposes, KnowsTheDefaultReversal) {
  EXPECT_EQ(Apply(MakeMergeTransposes(), R"(
    in  x: float[2,3]
    a:float[3,2] = Transpose(x)
    y:float[2,3] = Transpose(a)
    out y
  )")
                .text,
            "y = Transpose<perm=[0,1]>(x)\n");
}

TEST(MergeTransposes, StaysForUnknownRankAndBadPermutations) {
  EXPECT_FALSE(Apply(MakeMergeTransposes(), R"(
    in  x: float
    a = Transpose(x)
    b = Transpose(a)
    c = Transpose<perm=[0,7]>(x)
    d = Transpose<perm=[1,0]>(c)
    out b, d
  )")
                   .changed);
}

TEST(MergeReshapes, OnlyTheLastShapeMatters) {
  EXPECT_EQ(Apply(MakeMergeReshapes(), R"(
    in    x: float[2,3,n]
    const first: int64[2] = 6 -1
    const second: int64[3] = 3 2 -1
    a = Reshape(x, first)
    y = Reshape(a, second)
    out y
  )")
                .text,
            "y = Reshape(x, second)\n");
}

TEST(MergeReshapes, ReshapeAndItsInverseAreRemoved) {
  EXPECT_EQ(Apply(MakeMergeReshapes(), R"(
    in    x: float[2,3]
    const axes: int64[1] = 0
    a:float[1,2,3] = Unsqueeze(x, axes)
    b:float[2,3] = Squeeze(a, axes)
    y:float[2,3] = Relu(b)
    out y
  )")
                .text,
            "y = Relu(x)\n");
}

TEST(MergeReshapes, StaysWhenTheSecondCopiesADimension) {
  EXPECT_FALSE(Apply(MakeMergeReshapes(), R"(
    in    x: float[2,3]
    in    later: int64[2]
    const first: int64[2] = 3 2
    const second: int64[2] = 0 -1
    a:float[3,2] = Reshape(x, first)
    b:float[3,2] = Reshape(a, second)
    c:float[?,?] = Reshape(b, later)
    out c
  )")
                   .changed);
}

TEST(RemoveRequantization, TheSecondPairGoes) {
  EXPECT_EQ(Apply(MakeRemoveRequantization(), R"(
    in    x: float[2]
    const scale: float = 0.5
    const zero: uint8 = 3
    const same_scale: float = 0.5
    const same_zero: uint8 = 3
    q1:uint8[2] = QuantizeLinear(x, scale, zero)
    d1:float[2] = DequantizeLinear(q1, scale, zero)
    q2:uint8[2] = QuantizeLinear(d1, same_scale, same_zero)
    y:float[2] = DequantizeLinear(q2, same_scale, same_zero)
    out y
  )")
                .text,
            "q1 = QuantizeLinear(x, scale, zero)\ny = DequantizeLinear(q1, same_scale, same_zero)\n");
}

TEST(RemoveRequantization, StaysForOtherParameters) {
  EXPECT_FALSE(Apply(MakeRemoveRequantization(), R"(
    in    q: uint8[2]
    in    live: float
    const scale: float = 0.5
    const other: float = 0.25
    const zero: uint8 = 3
    a:float[2] = DequantizeLinear(q, scale, zero)
    b:uint8[2] = QuantizeLinear(a, other, zero)
    c:float[2] = DequantizeLinear(b, scale, zero)
    d:uint8[2] = QuantizeLinear(c, scale)
    e:float[2] = DequantizeLinear(d, scale, zero)
    f:int8[2] = QuantizeLinear(e, scale, zero)
    g:float[2] = DequantizeLinear(f, live, zero)
    h:uint8[2] = QuantizeLinear(g, live, zero)
    out h
  )")
                   .changed)
      << "another scale, no zero point, another type, a scale that isn't constant";
}

}  // namespace
}  // namespace epiphyte::test
