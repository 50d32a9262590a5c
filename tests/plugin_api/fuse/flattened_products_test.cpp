// A matrix product between two Reshapes becomes a product of rows without them.
#include "epiphyte/kit/fuse/flattened_products.hpp"

#include <gtest/gtest.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

std::string Whole(const std::string& text) { return Recognised(text, kit::fuse::UnflattenProducts); }

const std::string kHead =
    "in x: float[-1,4,2]\nconst w: float[2,3] = [1,2,3,4,5,6]\nconst b: float[3] = [1,2,3]\n"
    "const flat: int64[2] = [-1,2]\nconst back: int64[3] = [-1,4,3]\n";
const std::string kText = kHead +
                          "f = Reshape@13(x, flat) : float[-1,2]\nm = MatMul@13(f, w) : float[-1,3]\n"
                          "y = Reshape@13(m, back) : float[-1,4,3]\nout y";
const std::string kBias = kHead +
                          "f = Reshape@13(x, flat) : float[-1,2]\nm = MatMul@13(f, w) : float[-1,3]\n"
                          "s = Add@14(b, m) : float[-1,3]\ny = Reshape@13(s, back) : float[-1,4,3]\nout y";

TEST(UnflattenProducts, OfRows) { EXPECT_EQ(Whole(kText), "y = MatMul(x, w)\n"); }

TEST(UnflattenProducts, ABiasComesBehindThem) {
  const std::string made = Whole(kBias);
  EXPECT_NE(made.find(" = MatMul(x, w)\n"), std::string::npos) << made;
  EXPECT_NE(made.find("y = Add(b, "), std::string::npos) << made;
  EXPECT_EQ(made.find("Reshape"), std::string::npos) << made;
}

TEST(UnflattenProducts, NotWhatIsReadInBetween) {
  EXPECT_NE(Whole(With(kText, "out y", "out y\nout m")).find("Reshape"), std::string::npos);
  EXPECT_NE(Whole(With(kText, "out y", "out y\nout f")).find("Reshape"), std::string::npos);
  EXPECT_NE(Whole(With(kBias, "out y", "out y\nout s")).find("Reshape"), std::string::npos);
}

TEST(UnflattenProducts, NotOtherShapes) {
  EXPECT_NE(Whole(With(With(kText, "[-1,4,3]", "[-1,2,3]"), ": float[-1,4,3]", ": float[-1,2,3]")).find("Reshape"),
            std::string::npos)
      << "rows are cut elsewhere";
  EXPECT_NE(Whole(With(With(kText, "x: float[-1,4,2]", "x: float[-1,-1,2]"), "y = Reshape@13(m, back) : float[-1,4,3]",
                       "y = Reshape@13(m, back) : float[-1,-1,3]"))
                .find("Reshape"),
            std::string::npos)
      << "two dimensions aren't known";
  EXPECT_NE(Whole(With(With(kText, "x: float[-1,4,2]", "x: float[-1,2,4]"), ": float[-1,4,3]", ": float[-1,2,3]"))
                .find("Reshape"),
            std::string::npos)
      << "rows of another length";
}

}  // namespace
}  // namespace epiphyte::test
