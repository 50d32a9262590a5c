// Sum of two tensors becomes Add, in every version of Sum.
#include "epiphyte/kit/fuse/sum.hpp"

#include <gtest/gtest.h>

#include "epiphyte/kit/fuse/products.hpp"
#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

TEST(SumsToAdditions, OfTwoInputsAlone) {
  const std::string head = "in a: float[2,3]\nin b: float[3]\nin c: float[2,3]\n";
  const auto sums = [](kit::ir::Editor& editor) { kit::fuse::SumsToAdditions(editor); };
  EXPECT_EQ(Recognised(head + "y = Sum@8(a, b) : float[2,3]\nout y", sums), "y = Add(a, b)\n");
  EXPECT_EQ(Recognised(head + "y = Sum@1(a, c) : float[2,3]\nout y", sums), "y = Add(a, c)\n");
  EXPECT_EQ(Recognised(head + "y = Sum@13(a, b, c) : float[2,3]\nout y", sums), "y = Sum(a, b, c)\n");
  EXPECT_EQ(Recognised(head + "y = Sum@13(a) : float[2,3]\nout y", sums), "y = Sum(a)\n");
}

TEST(SumsToAdditions, TheResidualJoinsTheConvolution) {
  EXPECT_EQ(RecognisedOperators("in x: float[1,2,4,4]\nin r: float[1,3,4,4]\nconst w: float[3,2,1,1] = [1,2,3,4,5,6]\n"
                                "c = Conv@11(x, w) : float[1,3,4,4]\ns = Sum@8(c, r) : float[1,3,4,4]\n"
                                "y = Relu@14(s) : float[1,3,4,4]\nout y",
                                [](kit::ir::Editor& editor) {
                                  kit::fuse::SumsToAdditions(editor);
                                  kit::fuse::FuseConvolutions(editor);
                                }),
            "Conv");
}

}  // namespace
}  // namespace epiphyte::test
