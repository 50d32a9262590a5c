// Max and Min with constant numbers become Clip.
#include "epiphyte/kit/fuse/bounds.hpp"

#include <gtest/gtest.h>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

kit::ir::Graph Bounded(const std::string& text) { return RecognisedGraph(text, kit::fuse::FuseBounds); }
std::string Operators(const std::string& text) { return RecognisedOperators(text, kit::fuse::FuseBounds); }

const std::string kText =
    "in x: float[2,3]\nconst low: float[] = [-1]\nconst high: float[1] = [6]\nm = Max@13(x, low) : float[2,3]\n"
    "y = Min@13(m, high) : float[2,3]\nout y";

TEST(FuseBounds, OfEitherOrder) {
  const kit::ir::Graph graph = Bounded(kText);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op_type, "Clip");
  kit::ir::Graph copy = graph;
  const kit::ir::Editor editor(copy);
  float low = 0, high = 0;
  ASSERT_TRUE(editor.Scalar(graph.nodes[0].inputs[1], &low) && editor.Scalar(graph.nodes[0].inputs[2], &high));
  EXPECT_EQ(low, -1);
  EXPECT_EQ(high, 6);
  EXPECT_EQ(Operators(With(With(kText, "Max@13(x, low)", "Min@13(high, x)"), "Min@13(m, high)", "Max@13(low, m)")),
            "Clip");
}

TEST(FuseBounds, OfARelu) {
  EXPECT_EQ(Operators(With(kText, "Max@13(x, low)", "Relu@14(x)")), "Clip");
  EXPECT_EQ(Operators("in x: float[2]\nconst zero: float[] = [0]\ny = Max@13(zero, x) : float[2]\nout y"), "Relu");
}

TEST(FuseBounds, NotWhatComputesSomethingElse) {
  EXPECT_EQ(Operators(With(kText, "= [-1]", "= [7]")), "Max Min") << "bounds that cross";
  EXPECT_EQ(Operators(With(kText, "out y", "out y\nout m")), "Max Min") << "something else reads the first";
  EXPECT_EQ(Operators(With(kText, "float[1] = [6]", "float[1,1,1] = [6]")), "Max Min")
      << "the result has more dimensions";
  EXPECT_EQ(Operators(With(kText, "const low: float[] = [-1]", "in low: float[]")), "Max Min");
  EXPECT_EQ(Operators(With(kText, "Max@13(x, low)", "Max@13(x, low, x)")), "Max Min");
}

}  // namespace
}  // namespace epiphyte::test
