// Softmax and LogSoftmax as exporters write them.
#include "epiphyte/kit/fuse/softmax.hpp"

#include <gtest/gtest.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

std::string Soft(const std::string& body) {
  return Recognised("in x: float[2,3,4]\nconst axis: int64[1] = [1]\n" + body + "\nout y",
                    [](kit::ir::Editor& editor) { kit::fuse::FuseSoftmax(editor); });
}

const std::string kShifted = "m = ReduceMax@13<axes=[1]>(x)\nz = Sub@14(x, m) : float[2,3,4]\n";
const std::string kSoftmax = "y = Softmax<axis=1>(x)\n";
const std::string kLogSoftmax = "y = LogSoftmax<axis=1>(x)\n";

TEST(FuseSoftmax, WithTheMaximumTakenOff) {
  const std::string exp = kShifted + "e = Exp@13(z) : float[2,3,4]\n";
  EXPECT_EQ(Soft(exp + "s = ReduceSum@11<axes=[-2]>(e)\ny = Div@14(e, s) : float[2,3,4]"), kSoftmax);
  EXPECT_EQ(Soft(exp + "s = ReduceSum@13(e, axis)\ny = Div@14(e, s) : float[2,3,4]"), kSoftmax) << "axes as an input";
  EXPECT_EQ(Soft(exp + "s = ReduceSum@13(e, axis)\nr = Reciprocal@13(s)\ny = Mul@14(r, e) : float[2,3,4]"), kSoftmax);
}

TEST(FuseSoftmax, WithoutIt) {
  EXPECT_EQ(Soft("e = Exp@13(x) : float[2,3,4]\ns = ReduceSum@13(e, axis)\ny = Div@14(e, s) : float[2,3,4]"), kSoftmax);
}

TEST(FuseSoftmax, StaysOverOtherOrSeveralAxes) {
  const std::string exp = kShifted + "e = Exp@13(z) : float[2,3,4]\n";
  EXPECT_EQ(Soft(exp + "s = ReduceSum@11<axes=[1,2]>(e)\ny = Div@14(e, s) : float[2,3,4]").find("Softmax"),
            std::string::npos);
  EXPECT_EQ(Soft(exp + "s = ReduceSum@11<axes=[1], keepdims=0>(e)\ny = Div@14(e, s) : float[2,3,4]").find("Softmax"),
            std::string::npos);
  EXPECT_NE(Soft(exp + "s = ReduceSum@11<axes=[2]>(e)\ny = Div@14(e, s) : float[2,3,4]").find("y = Softmax<axis=2>(z)"),
            std::string::npos)
      << "another axis than the maximum's: any number may be taken off, so what it is taken off of stays";
}

TEST(FuseSoftmax, OfTheLogarithmInEverySpelling) {
  const std::string tail = "y = Sub@14(z, l) : float[2,3,4]";
  EXPECT_EQ(Soft(kShifted + "e = Exp@13(z) : float[2,3,4]\ns = ReduceSum@13(e, axis)\nl = Log@13(s)\n" + tail),
            kLogSoftmax);
  EXPECT_EQ(Soft(kShifted + "e = Exp@13(z) : float[2,3,4]\nl = ReduceLogSum@13<axes=[1]>(e)\n" + tail), kLogSoftmax);
  EXPECT_EQ(Soft("l = ReduceLogSumExp@13<axes=[1]>(x)\ny = Sub@14(x, l) : float[2,3,4]"), kLogSoftmax);
  EXPECT_EQ(Soft("s = Softmax@13<axis=1>(x)\ny = Log@13(s) : float[2,3,4]"), kLogSoftmax);
}

TEST(FuseSoftmax, OfTheDifferenceToTheLogarithm) {
  EXPECT_EQ(Soft("l = ReduceLogSumExp@13<axes=[1]>(x)\nd = Sub@14(x, l) : float[2,3,4]\ny = Exp@13(d) : float[2,3,4]"),
            kSoftmax);
}

}  // namespace
}  // namespace epiphyte::test
