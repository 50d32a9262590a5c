// A Pad is merged into the padding of the following window if the result is the same.
#include "epiphyte/kit/fuse/pads.hpp"

#include <gtest/gtest.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

std::string Folded(const std::string& text) { return Recognised(text, kit::fuse::FoldPads); }

const std::string kConv =
    "in x: float[1,2,4,4]\nconst w: float[1,2,1,1] = [1,2]\nconst pads: int64[8] = [0,0,0,0,0,0,1,2]\n"
    "p = Pad@13(x, pads) : float[1,2,5,6]\n"
    "y = Conv@11<strides=[2,2]>(p, w) : float[1,1,3,3]\nout y";

TEST(FoldPads, IntoAConvolution) {
  EXPECT_EQ(Folded(kConv), "y = Conv<auto_pad=\"NOTSET\", pads=[0,0,1,2], strides=[2,2]>(x, w)\n");
  EXPECT_EQ(Folded(With(kConv, "strides=[2,2]", "pads=[1,1,1,1]")),
            "y = Conv<auto_pad=\"NOTSET\", pads=[1,1,2,3]>(x, w)\n");
  EXPECT_EQ(Folded(With(kConv, "strides=[2,2]", "auto_pad=\"VALID\"")),
            "y = Conv<auto_pad=\"NOTSET\", pads=[0,0,1,2]>(x, w)\n");
  std::string old = With(kConv, "Pad@13(x, pads)", "Pad@2<pads=[0,0,0,0,0,0,1,2]>(x)");
  EXPECT_EQ(Folded(old), "y = Conv<auto_pad=\"NOTSET\", pads=[0,0,1,2], strides=[2,2]>(x, w)\n");
}

TEST(FoldPads, NotWhatAConvolutionCannotPad) {
  const auto stays = [](std::string_view from, std::string_view to) {
    EXPECT_NE(Folded(With(kConv, from, to)).find("Pad"), std::string::npos) << to;
  };
  stays("[0,0,0,0,0,0,1,2]", "[0,1,0,0,0,0,1,2]");
  stays("[0,0,0,0,0,0,1,2]", "[0,0,0,-1,0,0,1,2]");
  stays("Pad@13(x, pads)", "Pad@13<mode=\"reflect\">(x, pads)");
  stays("strides=[2,2]", "auto_pad=\"SAME_UPPER\"");
  stays("strides=[2,2]", "pads=[1,1]");
  stays("p = Pad@13(x, pads)", "const one: float[] = [1]\np = Pad@13(x, pads, one)");
  stays("const pads: int64[8] = [0,0,0,0,0,0,1,2]", "in pads: int64[8]");
  stays("Pad@13(x, pads)", "Pad@2<value=1.0, pads=[0,0,0,0,0,0,1,2]>(x)");
}

TEST(FoldPads, IntoAnAverageThatCountsItsBorder) {
  const std::string text =
      "in x: float[1,2,4,4]\nconst pads: int64[8] = [0,0,1,1,0,0,1,1]\np = Pad@13(x, pads) : float[1,2,6,6]\n"
      "y = AveragePool@11<kernel_shape=[3,3]>(p) : float[1,2,4,4]\nout y";
  EXPECT_EQ(Folded(text),
            "y = AveragePool<auto_pad=\"NOTSET\", count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1]>(x)\n");
  for (const char* attributes : {"kernel_shape=[3,3], pads=[1,1,1,1]", "kernel_shape=[3,3], ceil_mode=1",
                                 "kernel_shape=[1,1]", "kernel_shape=[3]"}) {
    EXPECT_NE(Folded(With(text, "kernel_shape=[3,3]", attributes)).find("Pad("), std::string::npos) << attributes;
  }
}

TEST(FoldPads, IntoAMaximumThatNothingOfItChanges) {
  const std::string text =
      "in x: float[1,2,4,4]\nr = Relu@14(x) : float[1,2,4,4]\nconst pads: int64[8] = [0,0,1,1,0,0,1,1]\n"
      "p = Pad@13(r, pads) : float[1,2,6,6]\ny = MaxPool@11<kernel_shape=[3,3]>(p) : float[1,2,4,4]\nout y";
  EXPECT_EQ(Folded(text), "r = Relu(x)\ny = MaxPool<auto_pad=\"NOTSET\", kernel_shape=[3,3], pads=[1,1,1,1]>(r)\n");
  EXPECT_NE(Folded(With(text, "Relu@14", "Tanh@13")).find("Pad("), std::string::npos);
  const std::string lowest = With(
      With(text, "p = Pad@13(r, pads)", "const low: float[] = [-inf]\np = Pad@13(r, pads, low)"), "Relu@14", "Tanh@13");
  EXPECT_EQ(Folded(lowest).find("Pad("), std::string::npos);
}

}  // namespace
}  // namespace epiphyte::test
